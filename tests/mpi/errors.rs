//! Wrong programs: the right class through MPI_ERRORS_RETURN, a clear end otherwise.

use crate::programs::{ok, run};

#[test]
fn errors_that_return() {
    for ranks in [1, 2, 4] {
        ok(ranks, "errors", &[], &[]);
    }
}

/// Every message names the call, the class and the wrong thing; the exit code is the class.
#[test]
fn errors_that_are_fatal() {
    let cases = [
        (
            "wrong-rank",
            6,
            "MPI_Send: MPI_ERR_RANK: invalid rank 2: the communicator has 2 ranks (0 to 1)",
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
            "MPI_Recv: MPI_ERR_TRUNCATE: message truncated: it has 8 bytes, the receive buffer 4",
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

#[test]
fn abort_ends_the_job_with_its_code() {
    for who in ["0", "2"] {
        let outcome = run(3, "abort", &[who], &[]);
        assert_eq!(outcome.code, 17, "{}", outcome.err);
        let message = format!("rank {who} called MPI_Abort with code 17");
        assert!(outcome.err.contains(&message), "{}", outcome.err);
    }
}

/// Whatever the others wait in, they end, and the message names rank and signal.
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

#[test]
fn a_bad_setting_is_named() {
    let outcome = run(1, "env", &[], &[("POMBO_CREDIT", "many")]);
    assert_eq!(outcome.code, 16, "{}", outcome.err);
    assert!(outcome.err.contains("POMBO_CREDIT"), "{}", outcome.err);
}
