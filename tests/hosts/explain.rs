//! Tests what the launcher of a job on two hosts, and `pombo explain` of it, tell of the ranks on both.

use crate::common::{Hosts, on_hosts};
use crate::jobs::{compile, pombo_run};
use crate::support::{Job, finish, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{metadata, read, read_dir};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

const HOSTS: usize = 2;

/// `pombo run` on host 0 of two ranks on each host, in a directory of that name; `None` without Hydra. Nearly all ranks
/// sleep, so these tests run beside others.
fn run(hosts: &Hosts, name: &str, options: &[&str], program: &[&str]) -> Option<Command> {
    let mut command = pombo_run(hosts, "h0:2,h1:2")?;
    command.args(options);
    command.arg(compile(name, "tests/c/deadlock.c"));
    command.args(program);
    Some(command)
}

/// Returns what `pombo explain` says on host 0 of the launcher.
fn explain(hosts: &Hosts, launcher: &Job) -> String {
    let mut command = hosts.command(0, env!("CARGO_BIN_EXE_pombo"));
    command.args(["explain", &launcher.pid().to_string()]);
    finish(&mut command).out
}

/// Returns the processes that report of a host.
fn reporters(host: usize) -> Vec<Pid> {
    let network = |path: PathBuf| metadata(path).ok().map(|it| it.ino());
    let here = network(format!("/run/netns/h{host}").into());
    let entries = read_dir("/proc").expect("processes").flatten();
    let is_reporter = |process: &i32| {
        let line = read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("\0__reporter\0")
            && network(format!("/proc/{process}/ns/net").into()) == here
    };
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(is_reporter).map(Pid::from_raw).collect()
}

#[test]
fn a_deadlock_names_the_ranks_of_both_hosts() {
    let test = here!(a_deadlock_names_the_ranks_of_both_hosts);
    on_hosts(test, HOSTS, |hosts| {
        for net in ["udp", "ethernet:eth0"] {
            let options = ["--net", net, "--on-deadlock", "abort"];
            let Some(mut command) = run(hosts, "hosts-deadlock", &options, &["recv"]) else {
                return;
            };
            let outcome = finish(&mut command);
            assert_eq!(outcome.code, 1, "{outcome:?}");
            let named = "deadlock: rank 0 waits in MPI_Recv(source 1, tag 5), rank 1 in MPI_Recv(source 2, tag 5), rank \
                         2 in MPI_Recv(source 3, tag 5), rank 3 in MPI_Recv(source 0, tag 5); ending 4 ranks";
            assert!(outcome.err.contains(named), "{}", outcome.err);
            until("no reporter is left", || {
                (0..HOSTS).all(|host| reporters(host).is_empty())
            });
        }
    });
}

#[test]
fn a_job_that_is_slow_on_two_hosts_is_no_deadlock() {
    let test = here!(a_job_that_is_slow_on_two_hosts_is_no_deadlock);
    on_hosts(test, HOSTS, |hosts| {
        for how in ["slow", "alive"] {
            let Some(mut command) = run(hosts, "hosts-slow", &["--on-deadlock", "abort"], &[how])
            else {
                return;
            };
            let outcome = finish(&mut command);
            assert_eq!(outcome.code, 0, "{outcome:?}");
            assert_eq!(outcome.out, "ok deadlock\n");
            assert!(!outcome.err.contains("deadlock:"), "{}", outcome.err);
        }
    });
}

/// All ranks wait, but a message of rank 0 has not reached rank 3: the network of the ranks is out, that of the launcher
/// is not.
#[test]
fn a_message_under_way_between_hosts_is_no_deadlock() {
    let test = here!(a_message_under_way_between_hosts_is_no_deadlock);
    on_hosts(test, HOSTS, |hosts| {
        crate::begin::second_network(hosts);
        let file = hosts.home().join("now");
        let options = ["--net", "udp:eth1", "--on-deadlock", "abort"];
        let program = ["late", file.to_str().expect("a name")];
        let Some(mut command) = run(hosts, "hosts-late", &options, &program) else {
            return;
        };
        let mut running = Job::start(command.env("POMBO_HOST_TIMEOUT", "600"));
        assert_eq!(running.lines(1), ["ready"]);
        hosts.set("ip link set w1 down");
        std::fs::write(&file, "").expect("a file system of its own");
        let calls = ["rank 0 waits in MPI_Recv", "rank 3 waits in MPI_Recv"];
        until("both wait", || {
            let said = explain(hosts, &running);
            calls.iter().all(|call| said.contains(call))
        });
        // Several looks of the launcher, of which two would be enough.
        std::thread::sleep(std::time::Duration::from_secs(12));
        hosts.set("ip link set w1 up");
        let outcome = running.finish();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(!outcome.err.contains("deadlock:"), "{}", outcome.err);
    });
}

#[test]
fn a_host_that_does_not_answer_is_named() {
    let test = here!(a_host_that_does_not_answer_is_named);
    on_hosts(test, HOSTS, |hosts| {
        let Some(mut command) = run(hosts, "hosts-silent", &["--timeout", "600"], &["recv"]) else {
            return;
        };
        let running = Job::start(&mut command);
        let waits = |said: &str| said.matches("waits in MPI_Recv").count();
        let names_all_of = |said: &str| waits(said) >= 4;
        until("all ranks are known", || {
            names_all_of(&explain(hosts, &running))
        });
        let [reporter] = reporters(1)[..] else {
            panic!("one reporter on each host: {:?}", reporters(1));
        };
        kill(reporter, Signal::SIGSTOP).expect("it runs");
        let parts = [
            "rank 2 has not been heard of",
            "host h1 did not answer within 2 s",
        ];
        until("the host is named", || {
            let said = explain(hosts, &running);
            waits(&said) == 2 && parts.iter().all(|part| said.contains(part))
        });
        kill(reporter, Signal::SIGCONT).expect("it is stopped");
        until("it answers again", || {
            names_all_of(&explain(hosts, &running))
        });
        running.signal(Signal::SIGQUIT);
        running.signal(Signal::SIGUSR1);
        until("it is asked", || names_all_of(&explain(hosts, &running)));
        kill(reporter, Signal::SIGKILL).expect("it runs");
        until("its end is told", || {
            explain(hosts, &running).contains("host h1 has closed its connection")
        });
        running.signal(Signal::SIGTERM);
        let outcome = running.finish();
        assert_eq!(outcome.code, 128 + 15, "{outcome:?}");
        let parts = outcome.err.split("what the ranks wait for:\n");
        assert!(parts.skip(1).any(names_all_of), "{}", outcome.err);
    });
}
