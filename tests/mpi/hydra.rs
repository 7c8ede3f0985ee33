//! Tests programs started by Hydra, to which the library speaks PMI-1. Where Hydra is not installed the tests report
//! so.

use crate::programs::{job, program};
use crate::support::{Outcome, finish, pombo, with_suite_settings};
use std::process::{Command, Stdio};

/// Returns Hydra with these arguments and the suite's settings.
fn hydra(arguments: &[&str]) -> Option<Command> {
    let is_hydra = |name: &&&str| {
        let said = Command::new(**name)
            .arg("--version")
            .stdin(Stdio::null())
            .output();
        said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("HYDRA"))
    };
    let Some(name) = ["mpiexec.hydra", "mpiexec.mpich", "mpiexec"]
        .iter()
        .find(is_hydra)
    else {
        eprintln!("SKIPPED: there is no Hydra on this machine; Debian's package mpich has it");
        return None;
    };
    // Hydra passes its own environment on, so it must be clean too.
    let mut command = Command::new(name);
    with_suite_settings(&mut command);
    command.args(arguments);
    Some(command)
}

fn expect_ok(outcome: &Outcome, name: &str) {
    let expected = (0, format!("ok {name}\n"));
    assert_eq!(
        (outcome.code, outcome.out.clone()),
        expected,
        "{}",
        outcome.err
    );
}

#[test]
fn in_memory_and_over_udp_by_descriptor_and_by_port() {
    for form in [&["-n", "4"][..], &["-pmi-port", "-n", "4"]] {
        for net in ["auto", "shm", "udp"] {
            let Some(mut command) = hydra(form) else {
                return;
            };
            command.arg(program("collectives")).arg("few");
            command.env("POMBO_NET", net);
            expect_ok(&job(&mut command), "collectives");
        }
    }
}

#[test]
fn hosts_of_several_ranks() {
    let Some(mut command) = hydra(&["-n", "3", "-env", "POMBO_FAKE_HOST", "a"]) else {
        return;
    };
    command
        .arg(program("many"))
        .args([":", "-n", "1", "-env", "POMBO_FAKE_HOST", "b"]);
    command
        .arg(program("many"))
        .args([":", "-n", "2", "-env", "POMBO_FAKE_HOST", "a"]);
    expect_ok(&job(command.arg(program("many"))), "many");
}

#[test]
fn an_abort_ends_the_job_with_its_code() {
    for net in ["shm", "udp"] {
        let Some(mut command) = hydra(&["-n", "3"]) else {
            return;
        };
        let outcome = job(command.arg(program("abort")).arg("2").env("POMBO_NET", net));
        assert_eq!(outcome.code, 17, "{}", outcome.err);
        assert!(
            outcome.err.contains("rank 2 called MPI_Abort with code 17"),
            "{}",
            outcome.err
        );
    }
}

/// Hydra kills the other ranks itself: nothing hangs, and the exit code is a failure.
#[test]
fn a_killed_rank_ends_the_job() {
    for net in ["shm", "udp"] {
        let Some(mut command) = hydra(&["-n", "4"]) else {
            return;
        };
        command.arg(program("die")).args(["1", "receive"]);
        let outcome = job(command.env("POMBO_NET", net));
        assert_ne!(outcome.code, 0, "{net}: {}", outcome.err);
        assert!(!outcome.out.contains("survived"), "{net}: {}", outcome.out);
    }
}

/// Hydra waits for the other ranks if one has not joined, and they wait for it: so that rank has to end the job.
#[test]
fn a_rank_that_cannot_join_ends_the_job() {
    for form in [&["-n", "2"][..], &["-pmi-port", "-n", "2"]] {
        let Some(mut command) = hydra(form) else {
            return;
        };
        command
            .arg(program("p2p"))
            .args([":", "-n", "1", "-env", "POMBO_NET", "nowhere"]);
        let outcome = job(command.arg(program("p2p")));
        assert_ne!(outcome.code, 0, "{}", outcome.err);
        let said = "rank 2 cannot join its job: POMBO_NET must be";
        assert!(outcome.err.contains(said), "{}", outcome.err);
    }
}

#[test]
fn pombo_run_hands_over() {
    if hydra(&[]).is_none() {
        return;
    }
    // Hydra takes this address for another host; its launcher starts the ranks here all the same.
    let mut command = pombo([
        "run",
        "--host",
        "127.0.0.2",
        "-launcher",
        "fork",
        "-net",
        "udp",
        "--stats",
        "-n",
        "3",
    ]);
    let outcome = job(command.arg(program("p2p")));
    expect_ok(&outcome, "p2p");
    assert!(outcome.err.contains("handing over to"), "{}", outcome.err);
    assert!(outcome.err.contains("resent"), "{}", outcome.err);
    let mut command = pombo(["run", "--host", "127.0.0.2", "-n", "2", "p2p"]);
    let outcome = finish(command.env("PATH", "/nowhere"));
    assert_eq!(outcome.code, 1, "{}", outcome.err);
    assert!(outcome.err.contains("mpich"), "{}", outcome.err);
}
