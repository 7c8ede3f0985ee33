//! Tests erroneous programs: the right class with MPI_ERRORS_RETURN, a clear end otherwise.

use crate::programs::{ok, program, run};
use crate::support::{finish, pombo, with_suite_settings};
use pombo_mpi::collective::TABLE;
use std::process::{Command, Stdio};

#[test]
fn errors_that_return() {
    for ranks in [1, 2, 4] {
        ok(ranks, "errors", &[], &[]);
    }
}

/// Ranks that do not agree on a length get errors, and are synchronised again in the next call: over boards, by
/// messages in memory and over the network.
#[test]
fn lengths_that_differ() {
    for ranks in [2, 3, 4, 7] {
        ok(ranks, "lengths", &["boards"], &[]);
    }
    ok(4, "lengths", &[], &[("POMBO_NET", "udp")]);
    let linear = TABLE.iter().map(|choice| (choice.variable(), "linear"));
    let allowed = linear.filter(|(variable, _)| {
        let choice = TABLE.iter().find(|choice| choice.variable() == *variable);
        choice.is_some_and(|choice| choice.allows("linear"))
    });
    ok(4, "lengths", &[], &allowed.collect::<Vec<_>>());
}

/// No collective call accepts one buffer for two, or a null buffer.
#[test]
fn buffers_that_cannot_be() {
    for ranks in [1, 2, 4] {
        ok(ranks, "aliased", &[], &[]);
    }
    ok(4, "aliased", &[], &[("POMBO_NET", "udp")]);
}

/// Every message names the call, the class and the invalid argument; the exit code is the class.
#[test]
fn errors_that_are_fatal() {
    let cases = [
        (
            "wrong-rank",
            6,
            "MPI_Send: MPI_ERR_RANK: invalid rank 2: the communicator has 2 ranks (0 to 1); communicator MPI_COMM_WORLD\n",
        ),
        (
            "negative-count",
            2,
            "MPI_Send: MPI_ERR_COUNT: invalid count -1",
        ),
        ("negative-tag", 4, "MPI_Send: MPI_ERR_TAG: invalid tag"),
        (
            "truncation",
            15,
            "MPI_Recv: MPI_ERR_TRUNCATE: the message from rank 1, tag 0 has 8 bytes, the buffer 4; communicator MPI_COMM_WORLD\n",
        ),
        (
            "truncation-of-another",
            15,
            "MPI_Recv: MPI_ERR_TRUNCATE: the message from rank 0, tag 5 has 800 bytes, the buffer 400; communicator MPI_COMM_WORLD\n",
        ),
        ("truncation-large", 15, "MPI_Recv: MPI_ERR_TRUNCATE"),
        ("unknown-datatype", 3, "MPI_Send: MPI_ERR_TYPE"),
        ("unknown-operation", 10, "MPI_Allreduce: MPI_ERR_OP"),
        ("wrong-root", 8, "MPI_Bcast: MPI_ERR_ROOT: invalid root 2"),
        (
            "null-communicator",
            5,
            "MPI_Send: MPI_ERR_COMM: MPI_COMM_NULL",
        ),
        (
            "after-finalize",
            16,
            "MPI_Send: MPI_ERR_OTHER: MPI is finalised",
        ),
        (
            "before-init",
            16,
            "MPI_Send: MPI_ERR_OTHER: MPI is not initialised",
        ),
    ];
    for (call, code, message) in cases {
        let outcome = run(2, "fatal", &[call], &[]);
        assert_eq!(outcome.code, code, "{call}: {}", outcome.err);
        assert!(outcome.err.contains(message), "{call}: {}", outcome.err);
        assert!(!outcome.out.contains("survived"), "{call}");
    }
}

/// A collective call that goes by messages knows the rank whose length differs.
#[test]
fn a_rank_that_sends_too_much_is_named() {
    let variables = [("POMBO_NET", "udp"), ("POMBO_COLL_GATHER", "linear")];
    let outcome = run(2, "fatal", &["truncation-in-a-gather"], &variables);
    assert_eq!(outcome.code, 15, "{}", outcome.err);
    let message = "MPI_Gather: MPI_ERR_TRUNCATE: rank 0 sends 8 bytes, the buffer has 4; pass the same counts on all \
                   ranks; communicator MPI_COMM_WORLD\n";
    assert!(outcome.err.contains(message), "{}", outcome.err);
}

#[test]
fn abort_ends_the_job_with_its_code() {
    for who in ["0", "2"] {
        let outcome = run(3, "abort", &[who], &[]);
        assert_eq!(outcome.code, 17, "{}", outcome.err);
        let message = format!("rank {who} called MPI_Abort with code 17");
        assert!(outcome.err.contains(&message), "{}", outcome.err);
    }
}

/// Whatever the other ranks wait in, they end, and the message names rank and signal.
#[test]
fn a_killed_rank_ends_the_job() {
    for way in ["collective", "receive", "send", "spin"] {
        let outcome = run(4, "die", &["1", way], &[]);
        assert_eq!(outcome.code, 137, "{way}: {}", outcome.err);
        assert!(
            outcome.err.contains("rank 1 (pid "),
            "{way}: {}",
            outcome.err
        );
        assert!(outcome.err.contains("SIGKILL"), "{way}: {}", outcome.err);
    }
}

/// Runs ranks of a job without a launcher that wait for rank 1 in that way; returns exit code and output of each.
fn unwatched(ranks: usize, words: &[&str], variables: &[(&str, &str)]) -> Vec<(i32, String)> {
    let job = format!("test-{}-{}", words.join("-"), std::process::id());
    let start = |rank: usize| {
        // `timeout` ends a hang; the test takes a second on an idle machine.
        let mut command = Command::new("timeout");
        command.arg("600").arg(program(words[0])).args(&words[1..]);
        with_suite_settings(&mut command);
        command
            .env("POMBO_JOB", &job)
            .env("POMBO_SIZE", ranks.to_string());
        command.env("POMBO_RANK", rank.to_string());
        command.envs(variables.iter().copied());
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let piped = piped.stderr(Stdio::piped()).spawn();
        piped.expect("coreutils are everywhere")
    };
    let ranks: Vec<_> = (0..ranks).map(start).collect();
    let end = ranks.into_iter().map(|child| {
        let output = child.wait_with_output().expect("a child");
        let [out, err] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
        (output.status.code().unwrap_or(-1), out + &err)
    });
    end.collect()
}

/// No call names the dead rank, and no launcher ends the other ranks: each of them names it.
#[test]
fn who_waits_for_anybody_hears_of_a_death() {
    for (way, call) in [
        ("any", "MPI_Recv"),
        ("probe", "MPI_Probe"),
        ("anyspin", "MPI_Test"),
        ("waitall", "MPI_Waitall"),
        ("partitions", "MPI_Wait"),
    ] {
        for variables in [&[][..], &[("POMBO_NET", "udp")]] {
            let ends = unwatched(3, &["die", "1", way], variables);
            let named = format!("{call}: MPI_ERR_PROC_ABORTED: rank 1 of MPI_COMM_WORLD has ended");
            for rank in [0, 2] {
                let (code, said) = &ends[rank];
                assert_eq!(*code, 58, "{way}, rank {rank}: {said}");
                assert!(said.contains(&named), "{way}, rank {rank}: {said}");
                assert!(!said.contains("IN_STATUS"), "{way}, rank {rank}: {said}");
            }
        }
    }
}

/// A call that fails leaves no receive behind that could be written to later.
#[test]
fn a_failed_exchange_leaves_nothing_posted() {
    for variables in [&[][..], &[("POMBO_NET", "udp")]] {
        let ends = unwatched(3, &["left_posted"], variables);
        assert_eq!(ends[0], (0, "ok left_posted\n".into()), "{ends:?}");
        assert_eq!(ends[2], (0, String::new()), "{ends:?}");
    }
}

/// A program that handles errors continues without a rank as long as there are others.
#[test]
fn who_is_left_goes_on() {
    for variables in [&[][..], &[("POMBO_NET", "udp")]] {
        let ends = unwatched(4, &["left"], variables);
        assert_eq!(ends[0], (0, "left\n".into()), "{ends:?}");
    }
}

/// In a collective operation a rank may wait for one that has ended because of the first. All ranks name the first.
#[test]
fn the_first_that_died_is_named() {
    for variables in [&[][..], &[("POMBO_NET", "udp")]] {
        let ends = unwatched(5, &["die", "3", "collective"], variables);
        for (rank, (_, said)) in ends.iter().enumerate().filter(|(rank, _)| *rank != 3) {
            let named = "MPI_ERR_PROC_ABORTED: rank 3 of MPI_COMM_WORLD has ended";
            assert!(said.contains(named), "rank {rank}: {said}");
        }
    }
}

/// The launcher names the bad variable once, before any rank starts, with any network.
#[test]
fn a_bad_setting_is_named_by_the_launcher() {
    for (name, value) in [
        ("POMBO_UNEXPECTED_CREDIT", "many"),
        ("POMBO_UNEXPECTED_CREDIT", "0"),
        ("POMBO_UNEXPECTED_CREDIT", "9999"),
        ("POMBO_VERBOSE", "x"),
        ("POMBO_AUTH", "yes"),
        ("POMBO_FAULT_LOSS", "100"),
        ("POMBO_COLL_BCAST", "fastest"),
    ] {
        let outcome = run(3, "env", &[], &[(name, value)]);
        assert_eq!(
            (outcome.code, outcome.out.as_str()),
            (1, ""),
            "{}",
            outcome.err
        );
        assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
        let said = format!("{name} is '{value}'; give ");
        assert!(outcome.err.contains(&said), "{}", outcome.err);
    }
}

/// A rank that something else started names the bad variable itself, in one line.
#[test]
fn a_bad_setting_is_named_by_the_rank() {
    for (name, value) in [
        ("POMBO_UNEXPECTED_CREDIT", "0"),
        ("POMBO_AUTH", "yes"),
        ("POMBO_FAULT_LOSS", "100"),
    ] {
        let ends = unwatched(1, &["env"], &[(name, value)]);
        let (code, said) = &ends[0];
        assert_eq!((*code, said.lines().count()), (16, 1), "{said}");
        assert!(said.contains(&format!("{name} must be ")), "{said}");
        assert!(said.contains(&format!("not '{value}'")), "{said}");
    }
}

#[test]
fn an_unknown_setting_is_no_error() {
    let ends = unwatched(1, &["env"], &[("POMBO_VERBOS", "1")]);
    let (code, said) = &ends[0];
    assert_eq!(*code, 0, "{said}");
    let warning = "pombo: there is no variable POMBO_VERBOS; `pombo info` lists all";
    assert_eq!(said.matches(warning).count(), 1, "{said}");
    // The launcher knows all variables, so it suggests the right name.
    let warning = "pombo: there is no variable POMBO_VERBOS; did you mean POMBO_VERBOSE?";
    let outcome = run(3, "env", &[], &[("POMBO_VERBOS", "1")]);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert_eq!(outcome.err, format!("{warning}\n"));
}

#[test]
fn a_file_of_hosts_is_looked_at_first() {
    let directory = crate::support::directory("hostfiles");
    let empty = directory.join("empty");
    std::fs::write(&empty, "# nobody\n\n").unwrap();
    let wrong = directory.join("wrong");
    std::fs::write(&wrong, "localhost:many\n").unwrap();
    for (file, said) in [
        (directory.join("none"), "cannot read hostfile"),
        (empty, "names no host"),
        (wrong, "has the line 'localhost:many'"),
    ] {
        let mut command = pombo(["run", "-n", "2", "--hostfile"]);
        let outcome = finish(command.arg(&file).arg("true"));
        assert_eq!(outcome.code, 1, "{}", outcome.err);
        assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
        assert!(outcome.err.contains(said), "{}", outcome.err);
        assert!(
            outcome.err.contains(file.to_str().unwrap()),
            "{}",
            outcome.err
        );
    }
}

#[test]
fn a_list_of_hosts_is_looked_at_first() {
    for list in ["", ",", "a,,b", "localhost:0"] {
        let outcome = finish(&mut pombo(["run", "--host", list, "true"]));
        assert_eq!(outcome.code, 1, "{}", outcome.err);
        let said = format!("--host is '{list}'; give names");
        assert!(outcome.err.contains(&said), "{}", outcome.err);
    }
}

/// A script between launcher and program may close descriptors that it does not know.
#[test]
fn a_descriptor_that_was_closed_is_named() {
    let ends = unwatched(1, &["env"], &[("POMBO_SHM_FD", "977")]);
    let (code, said) = &ends[0];
    assert_eq!((*code, said.lines().count()), (16, 1), "{said}");
    assert!(
        said.contains("POMBO_SHM_FD must be the launcher's descriptor"),
        "{said}"
    );
}
