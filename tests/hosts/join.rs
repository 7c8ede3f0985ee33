//! Tests `pombo join` from another host: what joins is a process of the job, and what must not is refused by name.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use pombo_job::{Joined, WorldChannel};
use pombo_kernel::aspect::Rendezvous;
use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event};
use pombo_kernel::matching::Linear;
use pombo_kernel::prelude::*;
use pombo_kernel::{Capacities, Composition, Part};
use pombo_netdrivers::HeapStorage;

use crate::common::{Hosts, on_hosts};
use crate::jobs::alone;
use crate::support::{Job, assert_ends_with_launcher, example, finish, until};

fn pombo(hosts: &Hosts, host: usize) -> Command {
    let mut command = hosts.command(host, env!("CARGO_BIN_EXE_pombo"));
    command.env("POMBO_HOST_TIMEOUT", "2");
    command
}

/// Starts a job on host 0, and waits until its file is there.
fn start(hosts: &Hosts, ranks: &str, spare: &str, program: &str, words: &[&str]) -> (Job, PathBuf) {
    start_file(hosts, ranks, spare, &example(program), words, &[])
}

fn start_file(
    hosts: &Hosts,
    ranks: &str,
    spare: &str,
    program: &Path,
    words: &[&str],
    variables: &[(&str, &Path)],
) -> (Job, PathBuf) {
    let file = hosts.home().join("job");
    let mut command = pombo(hosts, 0);
    command.envs(variables.iter().copied());
    command.args(["run", "-n", ranks, "--spare", spare, "--job-file"]);
    let job = Job::start(command.arg(&file).arg(program).args(words));
    until("the job has its file", || file.exists());
    (job, file)
}

/// Joins from host 1.
fn join(hosts: &Hosts, file: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = pombo(hosts, 1);
    command.arg("join").arg(file).arg(program);
    command
}

#[test]
fn a_process_of_another_host_joins_with_the_key() {
    let test = here!(a_process_of_another_host_joins_with_the_key);
    on_hosts(test, 2, |hosts| {
        let (job, file) = start(hosts, "1", "2", "join", &[]);
        let guest = |file: &Path| finish(join(hosts, file, example("join")).arg("Ada"));
        let text = fs::read_to_string(&file).expect("the job's file");
        let other = file.with_file_name("other");
        let refused = |why: &str| {
            let refused = guest(&other);
            assert_eq!((refused.code, refused.out.as_str()), (1, ""), "{refused:?}");
            assert!(refused.err.contains(why), "{refused:?}");
        };
        let (head, key) = text.split_once("key = \"").expect("it has the key");
        let flipped = if key.starts_with('0') { "1" } else { "0" };
        fs::write(&other, format!("{head}key = \"{flipped}{}", &key[1..])).expect("room");
        refused("is not the job's");
        fs::write(&other, &text).expect("room");
        hosts.unplug(1);
        refused("does not answer at 10.77.0.1");
        hosts.plug(1);
        for _ in 0..2 {
            guest(&file).assert_prints("welcome, Ada\n");
        }
        let job = job.finish();
        job.assert_quiet();
        assert!(job.out.ends_with("rank 2: Ada\n"), "{job:?}");
        refused("launcher does not answer");
    });
}

#[test]
fn a_place_is_given_once_and_its_death_is_seen() {
    let test = here!(a_place_is_given_once_and_its_death_is_seen);
    on_hosts(test, 2, |hosts| {
        let ends: [&dyn Fn(&Job); 2] =
            [&|guest| guest.signal(Signal::SIGKILL), &|_| hosts.unplug(1)];
        for end in ends {
            let (job, file) = start(hosts, "1", "1", "join", &[]);
            let mut sleeper = join(hosts, &file, "sh");
            let mut guest = Job::start(sleeper.args(["-c", "echo here; exec sleep 1000"]));
            assert_eq!(guest.lines(1), ["here"]);
            let full = finish(&mut join(hosts, &file, example("join")));
            assert!(
                full.code == 1 && full.err.contains("larger --spare"),
                "{full:?}"
            );
            end(&guest);
            let job = job.finish();
            assert_eq!(job.code, 0, "{job:?}");
            assert!(job.out.ends_with("rank 1 has died\n"), "{job:?}");
            assert!(job.err.contains("rank 1, which had joined"), "{job:?}");
            let code = guest.finish().code;
            assert!(code == 137 || code == 143, "{code}");
            hosts.plug(1);
        }
    });
}

#[test]
fn a_process_of_another_host_ends_with_the_launcher() {
    let test = here!(a_process_of_another_host_ends_with_the_launcher);
    on_hosts(test, 2, |hosts| {
        let (job, file) = start(hosts, "1", "1", "join", &[]);
        let mut sleeper = join(hosts, &file, "sh");
        let mut guest = Job::start(sleeper.args(["-c", "echo here; exec sleep 1000"]));
        assert_eq!(guest.lines(1), ["here"]);
        assert_ends_with_launcher(job, guest);
    });
}

#[test]
fn groups_and_mailboxes_reach_other_hosts() {
    let _alone = alone();
    let test = here!(groups_and_mailboxes_reach_other_hosts);
    on_hosts(test, 2, |hosts| {
        let (mut job, file) = start(hosts, "1", "3", "pool", &["2000", "3"]);
        let mut workers = [(); 3].map(|()| Job::start(&mut join(hosts, &file, example("pool"))));
        for worker in &mut workers {
            assert!(worker.lines(1)[0].contains(" is worker "));
        }
        // Else it would wait for a third one after the first has died.
        assert_eq!(job.lines(1), ["begins with 3 workers or more"]);
        let [killed, rest @ ..] = workers;
        killed.signal(Signal::SIGKILL);
        let _ = killed.finish();
        for worker in rest {
            let worker = worker.finish();
            assert!(
                worker.code == 0 && worker.out.ends_with(" squares\n"),
                "{worker:?}"
            );
        }
        let job = job.finish();
        let sum = "the sum of 2000 squares is 2668667000\n";
        assert_eq!((job.code, &*job.out), (0, sum), "{job:?}");

        let (job, file) = start(hosts, "2", "2", "mailboxes", &[]);
        let guests = [(); 2].map(|()| Job::start(&mut join(hosts, &file, example("mailboxes"))));
        expect_pi(job, guests);
    });
}

header! {
    struct Nothing { kind: u8 }
}

/// Frames that wait for a guest that does not take them: 16 MiB, which no buffers of the system hold. A communicator would
/// send few of them before it hears from the guest.
const FRAMES: u32 = 1 << 14;

/// Names a file that tells rank 0 to send.
const GATE: &str = "POMBO_TEST_GATE";

/// Returns the content of a frame.
fn content(number: u32) -> Vec<u8> {
    let rest = (4..1024).map(|at| (number * 7 + at) as u8);
    number.to_le_bytes().into_iter().chain(rest).collect()
}

/// No test by itself, but both programs of the job of the next one: rank 0 sends, and the guest computes before it takes
/// anything.
#[test]
fn many_frames_for_one_that_computes() {
    if std::env::var_os("POMBO_RANK").is_none() {
        return;
    }
    type Many =
        Composition<U32, Rendezvous<1024>, Linear, HeapStorage, Capacities<64, 64, 1024, 2>>;
    let joined = pombo_job::enter::<Nothing, Many, 2>().expect("a job");
    let Joined {
        channel,
        hosts,
        launcher,
    } = joined;
    let comm = Communicator::<Nothing, _, Lent<'_>, Many>::new(channel);
    let mut comm = comm.expect("a channel");
    let channel = comm.channel_mut();
    let (mut next, mut idle) = (0, 0);
    if channel.me() == Peer(0) {
        if let Some(gate) = std::env::var_os(GATE) {
            until("a guest is there", || {
                channel.poll(|_| ()).expect("a channel");
                channel.has_started(&hosts, Peer(1))
            });
            println!("has a guest");
            until("it may send", || Path::new(&gate).exists());
        }
        while next < FRAMES {
            match channel.try_send(Peer(1), Cookie::COPY, &[Part::Bytes(&content(next))]) {
                Ok(_) => (next, idle) = (next + 1, 0),
                Err(ChannelError::Full) => {
                    channel.poll(|_| ()).expect("a channel");
                    channel.wait(idle).expect("a channel");
                    idle += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
    } else {
        println!("computes");
        // Three times as long as the other machine may be silent.
        thread::sleep(Duration::from_secs(6));
        while next < FRAMES {
            let polled = channel.poll(|event| {
                if let Event::Arrival(frame) = event {
                    let mut bytes: Vec<u8> = Vec::new();
                    frame.for_each_chunk(0, frame.len(), |piece| bytes.extend(piece));
                    assert!(bytes == content(next), "frame {next} is another");
                    next += 1;
                }
            });
            idle = if polled.expect("a channel") {
                0
            } else {
                idle + 1
            };
            channel.wait(idle).expect("a channel");
        }
        println!("has taken all");
    }
    pombo_job::leave(comm, launcher).expect("all has arrived");
}

/// Starts a job of these programs, and its guest, which computes from here on. The job sends once `gate` is there, if there is
/// to be one.
fn start_many(hosts: &Hosts, gate: Option<&Path>) -> [Job; 2] {
    let (_, both) = here!(many_frames_for_one_that_computes)
        .split_once("::")
        .expect("the path of a test");
    let words = ["--exact", both, "--nocapture", "--test-threads=1"];
    let program = std::env::current_exe().expect("this program's path");
    let gate: Vec<_> = gate.into_iter().map(|gate| (GATE, gate)).collect();
    let (job, file) = start_file(hosts, "1", "1", &program, &words, &gate);
    let mut guest = Job::start(join(hosts, &file, &program).args(words));
    while !guest.lines(1)[0].ends_with("computes") {}
    [job, guest]
}

#[test]
fn a_guest_that_computes_long_is_not_taken_for_dead() {
    let test = here!(a_guest_that_computes_long_is_not_taken_for_dead);
    on_hosts(test, 2, |hosts| {
        let [job, guest] = start_many(hosts, None);
        expect_many(job, guest);
    });
}

#[test]
fn a_guest_that_computes_ends_with_the_launcher() {
    let test = here!(a_guest_that_computes_ends_with_the_launcher);
    on_hosts(test, 2, |hosts| {
        let [job, guest] = start_many(hosts, None);
        // Time for as many frames as can wait.
        thread::sleep(Duration::from_secs(1));
        assert_ends_with_launcher(job, guest);
    });
}

/// A stopped process is not given up though others send more to it than its system holds.
#[test]
fn who_is_stopped_goes_on_later() {
    on_hosts(here!(who_is_stopped_goes_on_later), 2, |hosts| {
        let gate = hosts.home().join("gate");
        let [mut job, guest] = start_many(hosts, Some(&gate));
        while !job.lines(1)[0].ends_with("has a guest") {}
        guest.signal(Signal::SIGTSTP);
        until("it is stopped", || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", guest.pid()));
            stat.expect("it is there").contains(") T ")
        });
        fs::write(gate, "").expect("room");
        // Three times as long as the other machine may be silent.
        thread::sleep(Duration::from_secs(6));
        guest.signal(Signal::SIGCONT);
        expect_many(job, guest);
    });
}

fn expect_many(job: Job, guest: Job) {
    let guest = guest.finish();
    assert!(
        guest.code == 0 && guest.out.contains("has taken all\n"),
        "{guest:?}"
    );
    job.finish().assert_quiet();
}

/// Returns where a job's file says that others get a place.
pub(crate) fn addresses(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).expect("the job's file");
    let (_, rest) = text.split_once("addresses = [").expect("a job's file");
    let (all, _) = rest.split_once(']').expect("a job's file");
    all.split(", ")
        .map(|one| one.trim_matches('"').into())
        .collect()
}

/// Opens connections from host 1 to these addresses which say nothing, or nonsense, until it is dropped.
pub(crate) fn flood(hosts: &Hosts, addresses: &[String]) -> Job {
    const SCRIPT: &str = "for round in $(seq 60); do for at in \"$@\"; do \
        exec {new}<>\"/dev/tcp/${at%:*}/${at##*:}\"; \
        [ $((round % 3)) != 0 ] || echo nonsense-for-$(printf '%64s' $round) >&$new; done; done; \
        echo open; exec sleep 1000";
    let mut command = hosts.command(1, "bash");
    let mut flood = Job::start(command.args(["-c", SCRIPT, "flood"]).args(addresses));
    assert_eq!(flood.lines(1), ["open"]);
    flood
}

#[test]
fn connections_that_say_nothing_keep_nobody_out() {
    let test = here!(connections_that_say_nothing_keep_nobody_out);
    on_hosts(test, 2, |hosts| {
        let (job, file) = start(hosts, "1", "1", "join", &[]);
        let _flood = flood(hosts, &addresses(&file));
        finish(join(hosts, &file, example("join")).arg("Ada")).assert_prints("welcome, Ada\n");
        job.finish().assert_quiet();
    });
}

#[test]
fn what_cannot_take_part_is_refused_by_name() {
    let test = here!(what_cannot_take_part_is_refused_by_name);
    on_hosts(test, 2, |hosts| {
        // The program has another composition than the job's.
        let (job, file) = start(hosts, "1", "1", "join", &[]);
        let refused = finish(&mut join(hosts, &file, example("pool")));
        assert!(
            refused.code != 0 && refused.err.contains("Fingerprint"),
            "{refused:?}"
        );
        let job = job.finish();
        assert!(job.out.ends_with("rank 1 has died\n"), "{job:?}");

        // The job has more places than a process of another machine can serve.
        let file = hosts.home().join("job");
        let mut command = pombo(hosts, 0);
        command.args(["run", "-n", "1", "--spare", "256", "--job-file"]);
        let job = Job::start(command.arg(&file).args(["sleep", "1000"]));
        until("the job has its file", || file.exists());
        let refused = finish(&mut join(hosts, &file, "true"));
        assert!(
            refused.code == 1 && refused.err.contains("more than 256 places"),
            "{refused:?}"
        );
        job.signal(Signal::SIGTERM);
        let _ = job.finish();
    });
}

/// Waits for a job of the example of mailboxes, and for those who have joined it.
pub(crate) fn expect_pi(job: Job, guests: [Job; 2]) {
    for guest in guests {
        let guest = guest.finish();
        assert_eq!((guest.code, &*guest.out), (0, ""), "{guest:?}");
    }
    let job = job.finish();
    assert!(
        job.code == 0 && job.out.starts_with("pi is 3.14159"),
        "{job:?}"
    );
}
