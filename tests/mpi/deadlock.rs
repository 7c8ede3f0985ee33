//! Tests what the launcher and `pombo explain` tell of ranks that wait.

use crate::programs::program;
use crate::support::{Job, finish, pombo, until};
use nix::sys::signal::Signal;
use std::io::{BufRead, BufReader};
use std::process::Command;

/// A job of that many ranks that does not go on in this way.
fn stuck(ranks: &str, how: &str, network: &str, options: &[&str]) -> Command {
    let mut command = pombo(["run", "-n", ranks]);
    command
        .args(options)
        .arg(program("deadlock"))
        .arg(how)
        .env("POMBO_NET", network);
    command
}

/// Expects a job that is ended for its deadlock. Its ranks sleep, so it runs beside other jobs.
fn says(command: &mut Command, parts: &[&str]) {
    let outcome = finish(command);
    assert_eq!(outcome.code, 1, "{command:?}: {}", outcome.err);
    for part in parts {
        assert!(outcome.err.contains(part), "{part}: {}", outcome.err);
    }
}

const ABORT: &[&str] = &["--on-deadlock", "abort"];

#[test]
fn receives_that_wait_for_each_other_are_named() {
    let said =
        "deadlock: rank 0 waits in MPI_Recv(source 1, tag 5), rank 1 in MPI_Recv(source 0, tag 5)";
    for network in ["shm", "udp"] {
        says(&mut stuck("2", "recv", network, ABORT), &[said]);
    }
}

#[test]
fn collective_calls_that_differ_are_named() {
    let said = [
        "deadlock: 3 of 4 ranks are in MPI_Barrier",
        "rank 2 in MPI_Allreduce",
    ];
    for network in ["shm", "udp"] {
        says(&mut stuck("4", "collective", network, ABORT), &said);
    }
}

#[test]
fn a_rank_in_finalize_is_named() {
    let said = [
        "rank 0 waits in MPI_Recv(source 1, tag 5)",
        "rank 1 in MPI_Finalize",
    ];
    says(&mut stuck("2", "finalize", "shm", ABORT), &said);
}

/// In `slow` the others wait for long, but not for each other; in `alive` each waits often, for a moment.
#[test]
fn ranks_that_compute_are_no_deadlock() {
    for (how, network) in [("slow", "shm"), ("slow", "udp"), ("alive", "udp")] {
        let outcome = finish(&mut stuck("3", how, network, ABORT));
        assert_eq!(
            (outcome.code, outcome.out.as_str()),
            (0, "ok deadlock\n"),
            "{how} {network}: {}",
            outcome.err
        );
        assert!(!outcome.err.contains("deadlock"), "{}", outcome.err);
    }
}

/// Hydra starts the ranks, and `fork` keeps them here; over UDP each has memory of its own.
#[test]
fn ranks_that_another_launcher_started_for_this_one_are_named() {
    let said = "deadlock: rank 0 waits in MPI_Recv(source 1, tag 5), rank 1 in MPI_Recv(source 2, tag 5), rank 2 in \
                MPI_Recv(source 0, tag 5); ending 3 ranks";
    let hosts = ["-launcher", "fork", "-H", "one:1,two:2"];
    for network in ["shm", "udp"] {
        let mut command = stuck("3", "recv", network, &[ABORT, &hosts].concat());
        let outcome = finish(&mut command);
        if outcome.err.contains("are started by Hydra") {
            return eprintln!("SKIPPED: there is no Hydra");
        }
        assert_eq!(outcome.code, 1, "{network}: {}", outcome.err);
        assert!(outcome.err.contains(said), "{network}: {}", outcome.err);
    }
}

#[test]
fn explain_tells_what_ranks_wait_for_as_text_and_as_json() {
    let mut running = Job::start(&mut stuck("2", "recv", "shm", &[]));
    let process = running.pid().to_string();
    let waits = "rank 0 waits in MPI_Recv, called at deadlock+0x";
    let parts = [
        waits,
        "rank 1 waits in MPI_Recv",
        "receive (source 1, tag 5), MPI_COMM_WORLD",
        "posted receives: 1",
        "message (source 1, tag 6), 4 bytes, MPI_COMM_WORLD",
        "message (source 0, tag 6), 4 bytes, MPI_COMM_WORLD",
    ];
    until("the text is whole", || {
        let said = finish(&mut pombo(["explain", &process]));
        said.code == 0 && parts.iter().all(|part| said.out.contains(part))
    });
    until("the JSON is whole", || {
        let rank = &explained(&process)["ranks"][1];
        rank["state"] == "waiting"
            && rank["waits_for"][0]["tag"] == 5
            && rank["unexpected_total"] == 1
    });
    assert_eq!(finish(&mut pombo(["explain", "1"])).code, 1);
    let errors = BufReader::new(running.child.stderr.take().unwrap());
    let mut lines = errors.lines().map(|line| line.unwrap());
    for signal in [Signal::SIGQUIT, Signal::SIGUSR1] {
        until("rank 0 is explained", || {
            running.signal(signal);
            let heading = "pombo: what the ranks wait for:";
            lines.find(|line| line == heading).expect("a report");
            let said = lines.next().expect("what rank 0 waits for");
            assert!(said.starts_with("rank 0 "), "{said}");
            said.contains(waits)
        });
    }
}

/// Returns what `pombo explain --json` says of a job; a rank of a busy machine may answer too late to be in it.
fn explained(process: &str) -> serde_json::Value {
    let said = finish(&mut pombo(["explain", "--json", process])).out;
    serde_json::from_str(&said).unwrap_or_default()
}

/// The lists of a rank's answer become shorter, not invalid.
#[test]
fn long_names_of_communicators_leave_the_report_whole() {
    let running = Job::start(&mut stuck("2", "names", "shm", &[]));
    let process = running.pid().to_string();
    until("all messages are counted", || {
        let rank = &explained(&process)["ranks"][1];
        if rank["state"] != "waiting" || rank["unexpected_total"] != 20 {
            return false;
        }
        let shown = rank["waits_for"].as_array().map_or(0, Vec::len);
        assert!((1..8).contains(&shown), "{rank}");
        assert_eq!(rank["more"], 20 - shown);
        assert_eq!(rank["posted_total"], 20);
        true
    });
}
