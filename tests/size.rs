//! What a program carries of the smallest C library, and of the one that was built for one host and point-to-point
//! messages: no more than its budget, nothing that belongs elsewhere; and it passes the same tests under the same launcher as
//! with the whole library.

#[path = "launcher/support.rs"]
#[allow(dead_code, reason = "tests of the launcher use the rest")]
mod support;

#[path = "launcher/message_counts.rs"]
mod message_counts;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use message_counts::messages_between_hosts;
use support::{Outcome, finish, pombo};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs `pombo size` once and returns its directory, with the library, and what it printed.
fn measured() -> &'static (PathBuf, Outcome) {
    static DONE: OnceLock<(PathBuf, Outcome)> = OnceLock::new();
    DONE.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("size");
        let mut size = pombo(["size", "basic", "point-to-point", "everything", "--source"]);
        size.arg(root()).arg("--directory").arg(&directory);
        size.arg("--budgets").arg(root().join(".ci/sizes"));
        let outcome = finish(&mut size);
        (directory, outcome)
    })
}

/// Links a program of `tests/c` against the library of a composition; each call makes a file of its own, as tests that
/// run beside others link the same.
fn link(name: &str, composition: &str) -> PathBuf {
    static LINKED: AtomicUsize = AtomicUsize::new(0);
    let (directory, outcome) = measured();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let number = LINKED.fetch_add(1, Ordering::Relaxed);
    let file = format!("{}-{composition}-{number}", name.replace('/', "-"));
    let program = directory.join(file);
    let source = root().join("tests/c").join(name).with_extension("c");
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-O1", "-no-pie", "-Wl,--gc-sections", "-I"]);
    cc.arg(directory).arg("-o").arg(&program).arg(source);
    cc.arg(directory.join(format!("{composition}.a")));
    let compiled = finish(cc.args(["-lm", "-lpthread"]));
    assert_eq!(compiled.code, 0, "{compiled:?}");
    program
}

#[test]
fn a_ping_pong_carries_what_it_needs() {
    let (directory, outcome) = measured();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.out.contains("| program, stripped |"), "{outcome:?}");
    assert!(
        !outcome.out.contains("| slot of an operation | 0 |"),
        "{outcome:?}"
    );
    for composition in ["basic", "point-to-point", "everything"] {
        let run = finish(pombo(["run", "-n", "2"]).arg(directory.join(composition)));
        assert_eq!(run.code, 0, "{run:?}");
    }
}

/// Short messages pass, however many.
#[test]
fn short_messages_pass_with_little_room() {
    let program = link("short", "point-to-point");
    for ranks in [2, 3, 4] {
        for credit in ["1", "128"] {
            let mut command = pombo(["run", "-n", &ranks.to_string()]);
            command.env("POMBO_UNEXPECTED_CREDIT", credit);
            let run = finish(command.arg(&program));
            assert_eq!((run.code, &*run.out), (0, "ok short\n"), "{run:?}");
        }
    }
}

/// `pombo configure` decides by the list of the smallest library's functions.
#[test]
fn the_list_of_the_smallest_library_is_complete() {
    let (directory, outcome) = measured();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let symbols = finish(
        Command::new("nm")
            .args(["--defined-only", "--format=just-symbols"])
            .arg(directory.join("basic.a")),
    );
    let of = |prefix: &str| {
        let names = symbols.out.lines().filter(|name| name.starts_with(prefix));
        let mut names: Vec<&str> = names.map(|name| &name[prefix.len()..]).collect();
        names.sort_unstable();
        names
    };
    let listed = include_str!("../mpi-facade/basic-abi/exports.txt").lines();
    let listed: Vec<&str> = listed.map(|name| &name["MPI_".len()..]).collect();
    assert_eq!(of("MPI_"), listed);
    assert_eq!(of("PMPI_"), listed);
}

/// The smallest library keeps messages in order and gets collective data right, alone and among many; programs that were
/// not written for it come through too.
#[test]
fn the_smallest_library_serves_what_it_has() {
    let program = link("basic", "basic");
    for ranks in [1, 2, 3, 16] {
        let run = finish(pombo(["run", "-n", &ranks.to_string()]).arg(&program));
        assert_eq!((run.code, &*run.out), (0, "ok basic\n"), "{run:?}");
    }
    // Without a launcher it is a world of one.
    let alone = finish(&mut Command::new(&program));
    assert_eq!((alone.code, &*alone.out), (0, "ok basic\n"), "{alone:?}");
    for (name, ranks) in [("profiled", 4), ("miniapps/workers", 4)] {
        let run = finish(pombo(["run", "-n", &ranks.to_string()]).arg(link(name, "basic")));
        assert_eq!(run.code, 0, "{run:?}");
    }
}

/// What the smallest library cannot do, and what it is not to do, is an error with a name that ends the job.
#[test]
fn errors_of_the_smallest_library() {
    let program = link("basic", "basic");
    for (call, told) in [
        ("truncation", "MPI_Recv: class 15"),
        ("too-long", "messages of at most 8192 bytes"),
        ("rank", "MPI_Send: class 6"),
        ("tag", "MPI_Send: class 4"),
        ("count", "MPI_Send: class 2"),
        ("datatype", "MPI_Send: class 3"),
        ("gaps", "MPI_Send: class 3"),
        ("communicator", "MPI_Send: class 5"),
        ("buffer", "MPI_Send: class 1"),
        ("null", "MPI_Comm_rank: class 13"),
        ("root", "MPI_Bcast: class 8"),
        ("operation", "MPI_Allreduce: class 10"),
        ("request", "MPI_Wait: class 7"),
        ("requests", "at most 256 requests"),
        ("twice", "MPI_Init: class 16"),
        ("abort", "rank 0 called MPI_Abort with code 5"),
        ("dies", "was killed by signal 9"),
        ("alone", "rank 1"),
    ] {
        let run = finish(pombo(["run", "-n", "2"]).arg(&program).arg(call));
        assert!(run.code != 0 && run.err.contains(told), "{call}: {run:?}");
        assert!(!run.out.contains("survived"), "{call}: {run:?}");
    }
    let crowd = finish(pombo(["run", "-n", "65"]).arg(&program));
    assert!(crowd.err.contains("at most 64 ranks"), "{crowd:?}");
    // Ranks of two compositions do not start together.
    let other = link("short", "point-to-point");
    let mut both = pombo(["run", "-n", "1"]);
    let both = finish(both.arg(&program).args([":", "-n", "1"]).arg(other));
    let told = "another job, version or composition";
    assert!(both.code != 0 && both.err.contains(told), "{both:?}");
}

/// Runs `entered` with all of the library but its groups at the start, each rank on a host of its own, and returns the
/// number of messages of all ranks.
fn messages(what: &str, broadcasts: &str) -> u64 {
    let program = link("entered", "everything");
    messages_between_hosts(&program, &[what, broadcasts])
}

/// Ranks enter the network's groups at the first call in which all wait for each other: a broadcast before it goes by
/// messages and waits for nobody, and ranks of which one makes no such call do without groups.
#[test]
fn everything_enters_groups_when_all_wait() {
    assert_eq!(messages("copy", "1"), messages("copy", "60"));
    assert_eq!(messages("world", "60") - messages("world", "10"), 50 * 3);
    assert_eq!(messages("some", "60") - messages("some", "10"), 50 * 2);
}

/// A program that uses more of the library carries it, and the same library serves it.
#[test]
fn parts_come_by_use() {
    for (name, ranks) in [
        ("p2p", 3),
        ("ordering", 4),
        ("probe", 3),
        ("matched", 2),
        ("outstanding", 2),
        ("several", 4),
        ("many", 4),
        ("random", 4),
        ("comms", 4),
        ("lengths", 2),
        ("errors", 3),
    ] {
        let program = link(name, "point-to-point");
        let run = finish(pombo(["run", "-n", &ranks.to_string()]).arg(&program));
        assert_eq!(
            (run.code, &*run.out),
            (0, &*format!("ok {name}\n")),
            "{run:?}"
        );
    }
}

#[test]
fn what_it_was_not_linked_for_is_refused_by_name() {
    let (directory, outcome) = measured();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    for (variables, because) in [
        (
            &[("PMI_FD", "9"), ("PMI_SIZE", "2")][..],
            "its launcher speaks PMI-1",
        ),
        (&[("PMI_PORT", "host:1")], "its launcher speaks PMI-1"),
        (&[("POMBO_NET", "udp")], "POMBO_NET names a network"),
        (
            &[("POMBO_FAKE_HOST", "other")],
            "POMBO_FAKE_HOST names a host",
        ),
        (
            &[("POMBO_JOB", "x"), ("POMBO_RANK", "0"), ("POMBO_SIZE", "2")],
            "POMBO_JOB names ranks",
        ),
        (
            &[("POMBO_RANK", "0"), ("POMBO_SIZE", "2")],
            "POMBO_SIZE is above 1 without POMBO_SHM_FD",
        ),
        (
            &[("SLURM_STEP_NUM_TASKS", "2")],
            "a launcher of other software started it",
        ),
        (&[("POMBO_RANK", "first")], "is no number"),
        (
            &[
                ("POMBO_RANK", "0"),
                ("POMBO_SIZE", "2"),
                ("POMBO_SHM_FD", "77"),
            ],
            "the launcher's descriptor is closed",
        ),
        (
            &[("PMIX_RANK", "0")],
            "a launcher of other software started it",
        ),
    ] {
        for composition in ["basic", "point-to-point"] {
            let mut command = Command::new(directory.join(composition));
            let run = finish(command.envs(variables.iter().copied()));
            let told = run.err.contains("cannot join its job") && run.err.contains(because);
            assert!(
                run.code != 0 && told,
                "{composition} {variables:?}: {run:?}"
            );
        }
    }
    for composition in ["basic", "point-to-point"] {
        // Alone it is a world of one, as no launcher says otherwise: the program itself wants two ranks.
        let alone = finish(&mut Command::new(directory.join(composition)));
        assert_eq!(alone.code, 2, "{alone:?}");
        let told = "rank 0 called MPI_Abort with code 2";
        assert!(alone.err.contains(told), "{alone:?}");
    }
    let mut command = Command::new(directory.join("point-to-point"));
    let run = finish(command.env("POMBO_EAGER_LIMIT", "9000"));
    assert!(run.err.contains("POMBO_EAGER_LIMIT must be"), "{run:?}");
}

/// A datatype that the library was built without is refused as such.
#[test]
fn datatypes_with_gaps_are_left_out_by_name() {
    let run = finish(pombo(["run", "-n", "2"]).arg(link("bcast", "point-to-point")));
    let told = "not in this program is a datatype of MPI_Type_* or with gaps";
    assert!(run.code != 0 && run.err.contains(told), "{run:?}");
}

/// An error names rank, function and class, although no sentence is in the program.
#[test]
fn errors_are_short_and_end_the_job() {
    let program = link("fatal", "point-to-point");
    for (call, class) in [
        ("wrong-rank", "MPI_Send: class 6"),
        ("negative-count", "MPI_Send: class 2"),
        ("truncation", "MPI_Recv: class 15"),
        ("truncation-large", "MPI_Recv: class 15"),
        ("null-communicator", "class 5"),
        ("unknown-datatype", "class 3"),
    ] {
        let run = finish(pombo(["run", "-n", "2"]).arg(&program).arg(call));
        let told = run.err.contains("fatal error in ") && run.err.contains(class);
        assert!(run.code != 0 && told, "{call}: {run:?}");
        assert!(!run.out.contains("survived"), "{call}: {run:?}");
    }
}
