//! Tests `pombo join` of jobs that begin on two hosts, from those and from a third one.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pombo_job::group::{
    GroupComposition, GroupEndpoint, GroupError, GroupHeader, GroupPorts, Groups,
};

use crate::common::{Hosts, on_hosts};
use crate::jobs::{alone, pombo_run};
use crate::join::{addresses, expect_pi, flood};
use crate::support::{Job, assert_ends_with_launcher, assert_gone, example, finish, pombo, until};

const HOSTS: usize = 3;
/// The directory where members write what they see; set in their processes alone.
const MEMBER: &str = "POMBO_TEST_MEMBER";

const LONG: Duration = Duration::from_secs(60);
/// What fits into a frame, and what needs many.
const LENGTHS: [usize; 2] = [1000, 50_000];
/// How often members look at who the others are, and how long they wait for a long message that is to come: one that is not
/// whole by then is dropped.
const MOMENT: Duration = Duration::from_millis(200);
const TRANSFER: Duration = Duration::from_secs(5);

/// No test by itself, but the program of the jobs: joins a group, greets new members, and writes down the members whenever
/// they change, and whom it has heard. Rank 2 tells all others more than a frame holds when it has heard four, and rank 0
/// does when that has come.
#[test]
fn member() {
    let Ok(home) = std::env::var(MEMBER) else {
        return;
    };
    let joined = pombo_job::enter::<GroupHeader, GroupComposition<64, 1024>, 64>().expect("a job");
    let mut comm =
        GroupEndpoint::<_, GroupComposition<64, 1024>>::two(joined.channel).expect("a channel");
    let mut groups = Groups::new(&comm).expect("groups");
    let me = comm.me().0;
    let mut file = OpenOptions::new();
    let file = file.append(true).create(true);
    let mut file = file.open(format!("{home}/{me}")).expect("room");
    writeln!(file, "pid {}", std::process::id()).expect("room");
    let ended = serve(&mut groups, &mut comm, me, &mut file);
    writeln!(file, "{ended:?}").expect("room");
}

fn serve(
    groups: &mut Groups,
    comm: &mut impl GroupPorts,
    me: u16,
    file: &mut fs::File,
) -> Result<(), GroupError> {
    groups.join(comm, "all", LONG)?;
    let (mut known, mut heard, mut bytes) = (Vec::new(), Vec::new(), vec![0; LENGTHS[1]]);
    // Those that ranks 0 and 2 send.
    let mut missing = if me == 0 || me == 2 { 1 } else { 2 };
    loop {
        let is_awaited = known.len() == 5 && missing > 0;
        let moment = if is_awaited { TRANSFER } else { MOMENT };
        match groups.recv(comm, "all", &mut bytes, moment) {
            Ok(message) => {
                let from = message.from.0;
                let bytes = &bytes[..message.len];
                assert!(LENGTHS.contains(&bytes.len()));
                assert!(bytes.iter().all(|byte| *byte == from as u8));
                let is_long = bytes.len() == LENGTHS[1];
                if is_long {
                    missing -= 1;
                    writeln!(file, "long from {from}").expect("room");
                } else {
                    heard.push(from);
                    heard.sort_unstable();
                    writeln!(file, "heard {heard:?}").expect("room");
                }
                // Only one does so at a time: such a message ends when all have taken it.
                if (me, is_long, heard.len()) == (2, false, 4)
                    || (me, is_long, from) == (0, true, 2)
                {
                    groups.broadcast(comm, "all", &[me as u8; LENGTHS[1]], LONG)?;
                }
            }
            Err(GroupError::TimedOut) => {}
            Err(error) => return Err(error),
        }
        let members: Vec<u16> = groups.members("all")?.iter().map(|it| it.peer.0).collect();
        if members != known {
            let mut sorted = members.clone();
            sorted.sort_unstable();
            writeln!(file, "members {sorted:?}").expect("room");
            let new = groups.members("all")?;
            let new: Vec<_> = new
                .into_iter()
                .filter(|it| !known.contains(&it.peer.0))
                .collect();
            groups.multicast(comm, "all", &new, &[me as u8; LENGTHS[0]], LONG)?;
            known = members;
        }
        // Nobody is cut off from an operation that it does not begin.
        groups.synchronize(comm, LONG)?;
    }
}

/// A job on host 0 with a rank on each of these hosts.
struct Members<'a> {
    hosts: &'a Hosts,
    job: Job,
    file: PathBuf,
}

impl Members<'_> {
    /// Starts it, and waits until its file is there; `None` without Hydra.
    fn start<'a>(hosts: &'a Hosts, options: &[&str], on: &str, spare: &str) -> Option<Members<'a>> {
        let mut command = run(hosts, on, spare)?;
        let file = hosts.home().join("job");
        let program = std::env::current_exe().expect("this program's path");
        let job = Job::start(command.args(options).arg(program).args(words()));
        until("the job has its file", || file.exists());
        Some(Members { hosts, job, file })
    }

    fn join(&self, host: usize) -> Job {
        let program = std::env::current_exe().expect("this program's path");
        let mut command = on(self.hosts, host);
        command.arg("join").arg(&self.file).arg(program);
        Job::start(command.args(words()))
    }

    fn said(&self, rank: u16) -> String {
        fs::read_to_string(self.hosts.home().join(rank.to_string())).unwrap_or_default()
    }

    /// Waits until the last that these have written of the members are these.
    fn until_members(&self, ranks: &[u16], of: &[u16]) {
        let expected = format!("members {of:?}");
        for rank in ranks {
            until(&format!("rank {rank} has {expected}"), || {
                let said = self.said(*rank);
                let mut lines = said.lines().filter(|line| line.starts_with("members"));
                lines.next_back() == Some(&expected)
            });
        }
    }

    fn pid(&self, rank: u16) -> i32 {
        let said = self.said(rank);
        let pid = said
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("pid "));
        pid.and_then(|pid| pid.parse().ok()).expect("its process")
    }

    /// Ends the job.
    fn end(self) {
        self.job.signal(Signal::SIGTERM);
        let _ = self.job.finish();
        until("the file is gone", || !self.file.exists());
        for rank in 0..8_u16 {
            let _ = fs::remove_file(self.hosts.home().join(rank.to_string()));
        }
    }
}

fn words() -> [String; 4] {
    let (_, member) = here!(member).split_once("::").expect("the path of a test");
    ["--exact", member, "--nocapture", "--test-threads=1"].map(Into::into)
}

fn on(hosts: &Hosts, host: usize) -> Command {
    let mut command = hosts.command(host, env!("CARGO_BIN_EXE_pombo"));
    set_variables(&mut command, hosts);
    command
}

fn set_variables(command: &mut Command, hosts: &Hosts) {
    command.env("POMBO_HOST_TIMEOUT", "2");
    command.env(MEMBER, hosts.home());
}

/// `pombo run` on host 0, of ranks on these hosts; `None` without Hydra.
fn run(hosts: &Hosts, named: &str, spare: &str) -> Option<Command> {
    let mut command = pombo_run(hosts, named)?;
    set_variables(&mut command, hosts);
    command.args(["--enable-recovery", "--spare", spare, "--job-file"]);
    command.arg(hosts.home().join("job"));
    Some(command)
}

#[test]
fn newcomers_of_three_hosts_reach_all() {
    let test = here!(newcomers_of_three_hosts_reach_all);
    on_hosts(test, HOSTS, |hosts| {
        for net in ["udp", "ethernet:eth0"] {
            let Some(members) = Members::start(hosts, &["-net", net], "h0:1,h1:1", "3") else {
                return;
            };
            let guests = [2, 1, 0].map(|host| members.join(host));
            let all = [0, 1, 2, 3, 4];
            members.until_members(&all, &all);
            for rank in all {
                let others: Vec<u16> = all.into_iter().filter(|it| *it != rank).collect();
                until("all have been heard", || {
                    members.said(rank).contains(&format!("heard {others:?}\n"))
                });
            }
            for (rank, from) in [
                (0, 2),
                (1, 2),
                (3, 2),
                (4, 2),
                (1, 0),
                (2, 0),
                (3, 0),
                (4, 0),
            ] {
                until("long ones have come", || {
                    members.said(rank).contains(&format!("long from {from}\n"))
                });
            }
            let full = finish(on(hosts, 2).arg("join").arg(&members.file).arg("true"));
            assert!(full.err.contains("larger --spare"), "{full:?}");
            members.end();
            for guest in guests {
                assert!(guest.finish().err.contains("the job has ended"));
            }
        }
    });
}

#[test]
fn deaths_are_seen_on_all_hosts() {
    let test = here!(deaths_are_seen_on_all_hosts);
    on_hosts(test, HOSTS, |hosts| {
        let Some(members) = Members::start(hosts, &[], "h0:2,h1:1", "2") else {
            return;
        };
        let guests = [members.join(2), members.join(1)];
        members.until_members(&[0, 1, 2, 3, 4], &[0, 1, 2, 3, 4]);
        let first = guests[0].pid();
        kill(first, Signal::SIGKILL).expect("it runs");
        let mut gone = None;
        until("one of the newcomers has gone", || {
            let said = members.said(0);
            let last = said.lines().rfind(|line| line.starts_with("members"));
            let without = [(3, "members [0, 1, 2, 4]"), (4, "members [0, 1, 2, 3]")];
            gone = without.into_iter().find(|(_, line)| last == Some(*line));
            gone.is_some()
        });
        let gone = gone.map(|(rank, _)| rank).expect("it has gone");
        let rest: Vec<u16> = (0..5).filter(|rank| *rank != gone).collect();
        members.until_members(&rest, &rest);
        kill(Pid::from_raw(members.pid(2)), Signal::SIGKILL).expect("it runs");
        let rest: Vec<u16> = rest.into_iter().filter(|rank| *rank != 2).collect();
        members.until_members(&rest, &rest);
        members.end();
    });
}

#[test]
fn a_partition_leaves_the_side_of_the_newcomer_or_the_other() {
    let test = here!(a_partition_leaves_the_side_of_the_newcomer_or_the_other);
    on_hosts(test, HOSTS, |hosts| {
        // The place is on the first host again.
        for (named, lost) in [("h0:1,h1:1", 1), ("h1:1,h0:1", 1)] {
            let Some(members) = Members::start(hosts, &[], named, "1") else {
                return;
            };
            let host = usize::from(named.starts_with("h1"));
            let _guest = members.join(host);
            members.until_members(&[0, 1, 2], &[0, 1, 2]);
            hosts.unplug(1);
            members.until_members(&[0, 2], &[0, 2]);
            until("the other side is told", || {
                members.said(lost).contains("Err(Minority)")
            });
            hosts.plug(1);
            members.end();
        }
    });
}

#[test]
fn all_end_with_the_launcher() {
    let test = here!(all_end_with_the_launcher);
    on_hosts(test, HOSTS, |hosts| {
        let Some(members) = Members::start(hosts, &[], "h0:1,h1:1", "1") else {
            return;
        };
        let guest = members.join(2);
        members.until_members(&[0, 1, 2], &[0, 1, 2]);
        let ranks = [0, 1, 2].map(|rank| members.pid(rank));
        assert_ends_with_launcher(members.job, guest);
        assert_gone(&ranks);
    });
}

#[test]
fn mailboxes_and_pools_reach_newcomers() {
    let _alone = alone();
    let test = here!(mailboxes_and_pools_reach_newcomers);
    on_hosts(test, HOSTS, |hosts| {
        let file = hosts.home().join("job");
        let Some(mut command) = run(hosts, "h0:1,h1:1", "2") else {
            return;
        };
        let job = Job::start(command.arg(example("mailboxes")));
        until("the job has its file", || file.exists());
        let guests = [2, 0].map(|host| {
            Job::start(
                on(hosts, host)
                    .arg("join")
                    .arg(&file)
                    .arg(example("mailboxes")),
            )
        });
        expect_pi(job, guests);

        // A place that nobody takes keeps nobody from ending.
        let mut command = run(hosts, "h0:1,h1:1", "2").expect("as before");
        let job = Job::start(command.arg(example("pool")).args(["2000", "2"]));
        until("the job has its file", || file.exists());
        let guest = finish(on(hosts, 2).arg("join").arg(&file).arg(example("pool")));
        assert!(
            guest.code == 0 && guest.out.ends_with(" squares\n"),
            "{guest:?}"
        );
        let job = job.finish();
        assert!(
            job.code == 0 && job.out.contains("the sum of 2000 squares is 2668667000\n"),
            "{job:?}"
        );
        let late = finish(pombo(["join"]).arg(&file).arg("true"));
        assert_eq!(late.code, 1, "{late:?}");
    });
}

/// Places are given though others open connections and say nothing, and a program of another composition gets none.
#[test]
fn places_are_for_those_who_can_take_them() {
    let test = here!(places_are_for_those_who_can_take_them);
    on_hosts(test, HOSTS, |hosts| {
        let Some(members) = Members::start(hosts, &[], "h0:1,h1:1", "2") else {
            return;
        };
        let _flood = flood(hosts, &addresses(&members.file));
        let mut command = on(hosts, 2);
        let other = finish(command.arg("join").arg(&members.file).arg(example("join")));
        assert!(
            other.code != 0 && other.err.contains("Fingerprint"),
            "{other:?}"
        );
        let _guest = members.join(2);
        until("a newcomer is there", || {
            members.said(0).contains(", 3]\n") || members.said(0).contains(", 2]\n")
        });
        members.end();

        let mut command = run(hosts, "h0:1,h1:1", "300").expect("as before");
        let refused = finish(command.arg("true"));
        assert!(
            refused.code == 1 && refused.err.contains("256"),
            "{refused:?}"
        );
    });
}

/// A job whose programs never take part ends, though places wait for its beginning; so does one of which a place cannot
/// listen, or whose file cannot be written.
#[test]
fn a_job_that_cannot_begin_ends() {
    on_hosts(here!(a_job_that_cannot_begin_ends), HOSTS, |hosts| {
        let Some(mut command) = run(hosts, "h0:1,h1:1", "2") else {
            return;
        };
        let never = finish(command.arg("true"));
        assert_eq!(never.code, 0, "{never:?}");

        // The first host gets two places, and has one port for them.
        let mut command = run(hosts, "h0:1,h1:1", "3").expect("as before");
        let refused = finish(command.args(["--join-ports", "5777"]).arg(example("pool")));
        assert!(
            refused.code != 0 && refused.err.contains("cannot listen for who joins"),
            "{refused:?}"
        );

        let mut command = run(hosts, "h0:1,h1:1", "1").expect("as before");
        let file = hosts.home().join("job");
        fs::create_dir(&file).expect("room");
        let refused = finish(command.arg(example("pool")));
        fs::remove_dir(&file).expect("a directory");
        assert!(
            refused.code == 1 && refused.err.contains("cannot write"),
            "{refused:?}"
        );
    });
}
