//! Compiles and runs the programs of `tests/c`; tests the self-checking ones of them.

use crate::support::{Outcome, finish, pombo, with_suite_settings};
use pombo_mpi::collective::{Selection, TABLE};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Returns a source file of this repository.
pub(crate) fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Compiles a program of `tests/c` once and returns its path.
pub(crate) fn program(name: &str) -> PathBuf {
    program_in("", name)
}

/// Compiles a program of a folder there once and returns its path.
pub(crate) fn program_in(folder: &str, name: &str) -> PathBuf {
    // Compilations exclude each other, because tests share the programs.
    static COMPILING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut compiled = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("mpi")
        .join(folder);
    std::fs::create_dir_all(&place).unwrap();
    let program = place.join(name);
    if !compiled.contains(&program) {
        let file = Path::new("tests/c").join(folder).join(name);
        let file = file.with_extension("c");
        compile(&source(file.to_str().unwrap()), &program, &[]);
        compiled.push(program.clone());
    }
    program
}

/// Compiles with warnings as errors, and with the words of `POMBO_TEST_MPICC`, such as `--minimal`.
pub(crate) fn compile(source: &Path, program: &Path, options: &[&str]) {
    let mut command = pombo(["mpicc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror"]);
    let words = std::env::var("POMBO_TEST_MPICC").unwrap_or_default();
    command
        .args(words.split_whitespace())
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(program)
        .args(["-lm", "-lpthread"]);
    let outcome = finish(&mut command);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
}

/// Runs a job to its end. Jobs exclude each other: ranks without a processor wait for each other, and two such jobs at
/// once take far longer than one after the other.
pub(crate) fn job(command: &mut Command) -> Outcome {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    finish(command)
}

/// Runs a program on some ranks, with variables for the library.
pub(crate) fn run(
    ranks: usize,
    name: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Outcome {
    let mut command = pombo(["run", "-n", &ranks.to_string()]);
    command
        .arg(program(name))
        .args(arguments)
        .envs(variables.iter().copied());
    job(&mut command)
}

/// Runs a self-checking program, which prints "ok" once.
pub(crate) fn ok(ranks: usize, name: &str, arguments: &[&str], variables: &[(&str, &str)]) {
    let outcome = run(ranks, name, arguments, variables);
    let expected = (0, format!("ok {name}\n"));
    assert_eq!(
        (outcome.code, outcome.out),
        expected,
        "{ranks} ranks: {}",
        outcome.err
    );
}

/// Settings for the smallest pool, and announcements for all but the shortest messages.
pub(crate) const SMALLEST: [(&str, &str); 2] = [
    ("POMBO_UNEXPECTED_CREDIT", "1"),
    ("POMBO_EAGER_LIMIT", "16"),
];

/// Settings by which long messages are read from the sender's memory.
pub(crate) const SINGLE_COPY: [(&str, &str); 1] = [("POMBO_SHM_SINGLE_COPY", "always")];

fn on_all_worlds(name: &str) {
    for ranks in [1, 2, 3, 4, 7] {
        ok(ranks, name, &[], &[]);
    }
    ok(4, name, &[], &SMALLEST);
    ok(4, name, &[], &SINGLE_COPY);
}

#[test]
fn point_to_point() {
    on_all_worlds("p2p");
}

/// The ranks include those that are hosts by name, on this machine.
#[test]
fn ranks_begin_on_processors_of_their_own() {
    for ranks in [1, 2, 3, 4] {
        ok(ranks, "processors", &[], &[]);
        ok(ranks, "processors", &[], &[("POMBO_NET", "udp")]);
    }
    let mut bound = pombo(["run", "-bind-to", "core", "-n", "2"]);
    let outcome = job(bound.arg(program("processors")));
    assert_eq!(outcome.out, "ok processors\n", "{}", outcome.err);
}

/// A copy that a rank made of its last message leaves before the rank does. One of a hundred jobs lost it.
#[test]
fn no_rank_ends_before_its_last_message_has_left() {
    for _ in 0..100 {
        ok(4, "processors", &[], &[("POMBO_EAGER_LIMIT", "0")]);
    }
}

#[test]
fn short_messages() {
    for ranks in [2, 4, 7] {
        ok(ranks, "short", &[], &[]);
    }
    ok(3, "short", &[], &SMALLEST);
}

#[test]
fn ordering() {
    on_all_worlds("ordering");
}

#[test]
fn probing() {
    on_all_worlds("probe");
}

#[test]
fn matched_probing() {
    on_all_worlds("matched");
}

/// The figures are for readers; that all of it works, and that no memory is lost, is checked.
#[test]
fn many_at_once() {
    for ranks in [1, 2] {
        let outcome = run(ranks, "flat", &["100"], &[]);
        let is_ok = outcome.code == 0 && outcome.out.ends_with("\nok flat\n");
        assert!(is_ok, "{ranks} ranks: {}{}", outcome.out, outcome.err);
    }
}

#[test]
fn several() {
    on_all_worlds("several");
}

#[test]
fn collectives() {
    on_all_worlds("collectives");
}

#[test]
fn many_collectives() {
    on_all_worlds("many");
}

/// Each poll handles only a few of the operations, and all complete.
#[test]
fn thousands_of_collectives_at_once() {
    for ranks in [1, 2, 4] {
        ok(ranks, "outstanding", &[], &[]);
    }
    ok(2, "outstanding", &[], &[("POMBO_NET", "udp")]);
}

#[test]
fn thousands_of_communicators() {
    ok(1, "duplicates", &["200000"], &[]);
    ok(2, "duplicates", &["20000"], &[]);
    ok(3, "duplicates", &["500"], &[("POMBO_NET", "udp")]);
}

/// The selection depends on size and ranks; here every algorithm runs, for small messages too.
#[test]
fn every_algorithm() {
    let longest = TABLE.iter().map(|choice| choice.allowed.len()).max();
    for turn in 0..longest.unwrap_or(0) {
        let one = |choice: &Selection| choice.allowed[turn % choice.allowed.len()].name();
        let wanted: Vec<_> = TABLE
            .iter()
            .map(|choice| (choice.variable(), one(choice)))
            .collect();
        ok(4, "many", &[], &wanted);
        ok(7, "many", &[], &wanted);
        ok(5, "collectives", &["few"], &wanted);
    }
}

/// Ranks that wait take no processor time from others, in memory or at a socket.
#[test]
fn beside_others_that_compute() {
    ok(8, "beside", &[], &[]);
    ok(4, "beside", &[], &[("POMBO_NET", "udp")]);
}

#[test]
fn communicators() {
    on_all_worlds("comms");
}

#[test]
fn environment() {
    on_all_worlds("env");
}

#[test]
fn threads() {
    for level in ["single", "funneled", "serialized", "multiple"] {
        ok(2, "threads", &[level], &[]);
    }
}

/// Ranks without our launcher find each other by the name of their job.
#[test]
fn ranks_that_something_else_started() {
    let program = program("collectives");
    let job = format!("test-{}", std::process::id());
    let started: Vec<_> = (0..3)
        .map(|rank: usize| {
            let mut command = Command::new(&program);
            with_suite_settings(&mut command);
            command
                .env("POMBO_JOB", &job)
                .env("POMBO_RANK", rank.to_string())
                .env("POMBO_SIZE", "3")
                .stdout(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for (rank, child) in started.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            (output.status.code(), said.as_str()),
            (Some(0), if rank == 0 { "ok collectives\n" } else { "" })
        );
    }
}

/// A program without a launcher is a world of one.
#[test]
fn a_world_of_one() {
    let mut command = Command::new(program("p2p"));
    with_suite_settings(&mut command);
    let outcome = finish(&mut command);
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "ok p2p\n"));
}
