//! Tests `pombo join` from another host: what joins is a process of the job, and what must not is refused by name.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;

use crate::common::{Hosts, on_hosts};
use crate::jobs::alone;
use crate::support::{Job, example, finish, until};

fn pombo(hosts: &Hosts, host: usize) -> Command {
    let mut command = hosts.command(host, env!("CARGO_BIN_EXE_pombo"));
    command.env("POMBO_HOST_TIMEOUT", "2");
    command
}

/// Starts a job on host 0, and waits until its file is there.
fn start(hosts: &Hosts, ranks: &str, spare: &str, program: &str, words: &[&str]) -> (Job, PathBuf) {
    let file = hosts.home().join("job");
    let mut command = pombo(hosts, 0);
    command.args(["run", "-n", ranks, "--spare", spare, "--job-file"]);
    let job = Job::start(command.arg(&file).arg(example(program)).args(words));
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
    let _alone = alone();
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
            let guest = guest(&file);
            assert_eq!(
                (guest.code, &*guest.out),
                (0, "welcome, Ada\n"),
                "{guest:?}"
            );
        }
        let job = job.finish();
        assert_eq!((job.code, &*job.err), (0, ""), "{job:?}");
        assert!(job.out.ends_with("rank 2: Ada\n"), "{job:?}");
        refused("launcher does not answer");
    });
}

#[test]
fn a_place_is_given_once_and_its_death_is_seen() {
    let _alone = alone();
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
    let _alone = alone();
    let test = here!(a_process_of_another_host_ends_with_the_launcher);
    on_hosts(test, 2, |hosts| {
        let (job, file) = start(hosts, "1", "1", "join", &[]);
        let mut sleeper = join(hosts, &file, "sh");
        let mut guest = Job::start(sleeper.args(["-c", "echo here; exec sleep 1000"]));
        assert_eq!(guest.lines(1), ["here"]);
        job.signal(Signal::SIGKILL);
        let guest = guest.finish();
        assert_eq!(guest.code, 128 + Signal::SIGTERM as i32, "{guest:?}");
        assert!(guest.err.contains("the job has ended"), "{guest:?}");
        let _ = job.finish();
    });
}

#[test]
fn groups_and_mailboxes_reach_other_hosts() {
    let _alone = alone();
    let test = here!(groups_and_mailboxes_reach_other_hosts);
    on_hosts(test, 2, |hosts| {
        let (job, file) = start(hosts, "1", "3", "pool", &["2000", "3"]);
        let mut workers = [(); 3].map(|()| Job::start(&mut join(hosts, &file, example("pool"))));
        for worker in &mut workers {
            assert!(worker.lines(1)[0].contains(" is worker "));
        }
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
        for guest in guests {
            let guest = guest.finish();
            assert_eq!((guest.code, &*guest.out), (0, ""), "{guest:?}");
        }
        let job = job.finish();
        assert!(
            job.code == 0 && job.out.starts_with("pi is 3.14159"),
            "{job:?}"
        );
    });
}
