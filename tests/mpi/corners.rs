//! Tests corner cases of the standard, and programs that violate it: an error class or a clear end, never a crash or a
//! hang.

use crate::peer;
use crate::programs::{SMALLEST, ok, program, run};
use crate::support::with_suite_settings;
use std::process::Command;

#[test]
fn null_pointers_for_results() {
    for ranks in [1, 2, 3] {
        ok(ranks, "nulls", &[], &[]);
    }
}

#[test]
fn at_the_edges() {
    for ranks in [1, 2, 4] {
        ok(ranks, "corners", &[], &[]);
    }
    ok(2, "corners", &[], &SMALLEST);
    ok(2, "corners", &[], &[("POMBO_NET", "udp")]);
}

/// MPICH gives the same results, except where the programs say otherwise.
#[test]
fn mpich_agrees() {
    let Some(mpich) = peer::mpich() else { return };
    // One of two ranks of MPICH that cancel sends to themselves may wait for ever.
    for (ranks, name) in [(2, "nulls"), (1, "corners")] {
        let outcome = mpich.finish(ranks, &mpich.compile(&format!("tests/c/{name}.c")));
        let expected = (0, format!("ok {name}\n"));
        assert_eq!((outcome.code, outcome.out), expected, "{}", outcome.err);
    }
}

#[test]
fn what_any_thread_may_ask_at_any_time() {
    ok(2, "misuse", &["ask"], &[]);
}

#[test]
fn calls_at_once_are_named() {
    let outcome = run(2, "misuse", &["overlap"], &[]);
    assert_eq!(
        (outcome.code, outcome.out.as_str()),
        (16, ""),
        "{}",
        outcome.err
    );
    let said = "MPI_Send: MPI_ERR_OTHER: two threads, or a thread and a handler of signals, are inside MPI at once, \
                but MPI_Init_thread gave MPI_THREAD_SERIALIZED";
    assert!(outcome.err.contains(said), "{}", outcome.err);
}

#[test]
fn an_abort_in_a_handler_of_signals() {
    for variables in [&[][..], &[("POMBO_PROGRESS_THREAD", "1")]] {
        let outcome = run(2, "misuse", &["handler"], variables);
        assert_eq!(
            (outcome.code, outcome.out.as_str()),
            (21, ""),
            "{}",
            outcome.err
        );
        let said = "rank 0 called MPI_Abort with code 21";
        assert!(outcome.err.contains(said), "{}", outcome.err);
    }
}

/// A child that a rank forks is not that rank, whatever it calls, and the job continues without it.
#[test]
fn forked_children() {
    for variables in [&[][..], &[("POMBO_NET", "udp")]] {
        ok(2, "misuse", &["forked", "nothing"], variables);
        for (word, call) in [("finalize", "Finalize"), ("send", "Send"), ("init", "Init")] {
            let outcome = run(2, "misuse", &["forked", word], variables);
            let expected = (0, "ok misuse\n");
            assert_eq!(
                (outcome.code, outcome.out.as_str()),
                expected,
                "{}",
                outcome.err
            );
            let said = format!(
                "pombo: fatal error in MPI_{call}: MPI_ERR_OTHER: this process was forked from rank 0; only rank 0 \
                 may call MPI"
            );
            assert_eq!(outcome.err.matches(&said).count(), 3, "{}", outcome.err);
        }
    }
}

/// Descriptors that a child inherits do not hide the end of its parent from other ranks.
#[test]
fn a_rank_that_has_forked_and_ends() {
    let program = program("misuse");
    for net in ["shm", "udp"] {
        let job = format!("test-orphan-{net}-{}", std::process::id());
        let start = |rank: usize| {
            let mut command = Command::new("timeout");
            command.arg("600").arg(&program).arg("orphan");
            with_suite_settings(&mut command);
            let command = command
                .env("POMBO_JOB", &job)
                .env("POMBO_SIZE", "2")
                .env("POMBO_RANK", rank.to_string())
                .env("POMBO_NET", net);
            let piped = command.stdout(std::process::Stdio::piped());
            piped.stderr(std::process::Stdio::piped()).spawn().unwrap()
        };
        let [first, second] = [0, 1].map(start);
        let output = second.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let named = "MPI_Recv: MPI_ERR_PROC_ABORTED: rank 0 of MPI_COMM_WORLD has ended";
        assert!(said.contains(named), "{net}: {said}");
        let ended = first.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(9), "{net}");
        let child = String::from_utf8(ended.stdout).unwrap();
        let killed = Command::new("kill").arg(child.trim()).status();
        // The child lived until the end.
        assert!(killed.unwrap().success(), "{net}: {child}");
    }
}
