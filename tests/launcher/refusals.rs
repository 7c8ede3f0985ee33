//! Tests wrong usage: one clear message, the right exit code, and nothing is started.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{directory, finish, finish_with, pombo};

/// Messages are our own: the parser's guesses at what was meant are wrong for arguments of programs.
#[test]
fn no_advice_of_a_parser() {
    for arguments in [
        &["run", "-bogus", "true"][..],
        &["run", "--hostfil", "x", "true"],
        &["run", "-bind-to", "moon", "true"],
        &["run", "-n"],
        &["install"],
        &["nonsense"],
    ] {
        let outcome = finish(&mut pombo(arguments));
        assert_eq!(
            (outcome.code, outcome.err.lines().count()),
            (1, 1),
            "{outcome:?}"
        );
        assert!(
            !outcome.err.contains("tip:") && !outcome.err.contains("Usage"),
            "{outcome:?}"
        );
        assert!(outcome.err.contains("-h lists"), "{outcome:?}");
    }
}

fn assert_refused(arguments: &[&str], code: i32, words: &[&str]) {
    let outcome = finish(&mut pombo(arguments));
    assert_eq!(outcome.code, code, "{arguments:?}: {outcome:?}");
    assert_eq!(outcome.out, "", "{arguments:?}");
    assert!(
        outcome.err.starts_with("pombo: "),
        "{arguments:?}: {outcome:?}"
    );
    for word in words {
        assert!(
            outcome.err.contains(word),
            "{arguments:?} lacks {word}: {outcome:?}"
        );
    }
}

/// Creates an executable file by another process: children that concurrent tests start would inherit a descriptor that
/// this process has open for writing, and no system executes a file that is open for writing.
fn executable(file: &Path, text: &str) {
    let mut command = Command::new("sh");
    command
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
        .arg(file);
    assert_eq!(finish_with(&mut command, text.as_bytes()).code, 0);
}

#[test]
fn numbers_of_ranks() {
    assert_refused(&["run", "-n", "0", "true"], 1, &["'0'", "at least 1 rank"]);
    assert_refused(&["run", "-np", "x", "true"], 1, &["'x'", "whole number"]);
    assert_refused(&["run", "-n", "-2", "true"], 1, &["'-2'"]);
    assert_refused(&["run", "-n", "1.5", "true"], 1, &["'1.5'"]);
    assert_refused(&["run", "-n", "4000000000", "true"], 1, &["4000000000"]);
    assert_refused(
        &["run", "-n", "5000", "true"],
        1,
        &["5000 ranks", "1024", "smaller -n"],
    );
    assert_refused(
        &["run", "-n", "99999999999999999999", "true"],
        1,
        &["99999"],
    );
    assert_refused(&["run", "-n"], 1, &["value is required"]);
}

#[test]
fn options() {
    assert_refused(&["run", "-bogus", "true"], 1, &["bogus"]);
    assert_refused(&["run", "--bogus=1", "true"], 1, &["--bogus"]);
    assert_refused(&["run", "-bind-to", "moon", "true"], 1, &["moon", "core"]);
    assert_refused(&["run", "-env", "A"], 1, &["--env"]);
    assert_refused(&["run", "-x", "=1", "true"], 1, &["-x", "name"]);
    assert_refused(&["nonsense"], 1, &["nonsense"]);
    assert_refused(&["-n", "2", "./program"], 1, &["'-n'", "pombo run -n 4"]);
    assert_refused(&["./program"], 1, &["'./program'", "pombo run"]);
    assert_refused(&["install", "--bogus"], 1, &["--bogus"]);
}

#[test]
fn programs() {
    assert_refused(&["run"], 1, &["no program"]);
    assert_refused(&["run", "-n", "2"], 1, &["no program"]);
    assert_refused(&["run", "true", ":", "-n", "2"], 1, &["part 2"]);
    assert_refused(
        &["run", "-n", "2", "no-such-program"],
        127,
        &[
            "no-such-program",
            "PATH (",
            "/bin",
            env!("CARGO_MANIFEST_DIR"),
        ],
    );
    let here = env!("CARGO_MANIFEST_DIR");
    let missing = format!("{here}/no is not there");
    assert_refused(&["run", "./no/such"], 127, &["'./no/such'", &missing]);
    let place = format!("{here} has no such file");
    assert_refused(&["run", "./no-such"], 127, &["'./no-such'", &place]);
    assert_refused(&["run", ""], 127, &["''"]);
    assert_refused(&["run", "/"], 126, &["directory"]);
    let place = directory("programs");
    let plain = place.join("plain");
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    assert_refused(&["run", plain.to_str().unwrap()], 126, &["plain", "chmod"]);
    let outcome = finish(pombo(["run", "./plain"]).current_dir(&place));
    assert_eq!(outcome.code, 126);
    assert!(outcome.err.contains("cannot run './plain'"), "{outcome:?}");
    let source = place.join("mix.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    assert_refused(&["run", source.to_str().unwrap()], 126, &["mix.c", "mpicc"]);
    assert_refused(&["mpicc"], 1, &["no file", "mpicc -O2"]);
    let outcome = finish(pombo(["run", "mix.c"]).current_dir(&place));
    assert_eq!(outcome.code, 126);
    assert!(
        outcome.err.contains("./mix.c") && outcome.err.contains("mpicc"),
        "{outcome:?}"
    );
}

#[test]
fn a_program_of_this_directory_needs_a_slash() {
    let place = directory("here");
    let program = place.join("here-only");
    executable(&program, "#!/bin/sh\necho fine\n");
    let outcome = finish(pombo(["run", "here-only"]).current_dir(&place));
    assert_eq!(outcome.code, 127);
    assert!(outcome.err.contains("write ./here-only"), "{outcome:?}");
    let outcome = finish(pombo(["run", "./here-only"]).current_dir(&place));
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "fine\n"));
}

#[test]
fn a_script_for_a_missing_interpreter() {
    let place = directory("interpreter");
    let program = place.join("script");
    executable(&program, "#!/no/such/interpreter\n");
    let outcome = finish(pombo(["run"]).arg(&program));
    assert_eq!(outcome.code, 127);
    assert!(outcome.err.contains("script"), "{outcome:?}");
}

#[test]
fn directories_and_grace() {
    assert_refused(
        &["run", "-wdir", "/no/such", "true"],
        1,
        &["/no/such", "-wdir"],
    );
    assert_refused(&["run", "-wdir", "/dev/null", "true"], 1, &["/dev/null"]);
    for timeout in ["x", "-1", "inf", "1e9"] {
        let outcome = finish(pombo(["run", "true"]).env("POMBO_KILL_TIMEOUT", timeout));
        assert_eq!(outcome.code, 1);
        assert!(outcome.err.contains("POMBO_KILL_TIMEOUT") && outcome.err.contains(timeout));
    }
}

/// What a variable names is looked at before a rank starts, also where the job would need it late or never.
#[test]
fn files_that_variables_name() {
    for (name, value, words) in [
        ("POMBO_LIB", "/no/such", ["/no/such", "holds no libmpi_abi"]),
        (
            "POMBO_STATS_FILE",
            "/no/such/file",
            ["/no/such/file", "a directory that is there"],
        ),
        (
            "POMBO_AUTH_KEY_FILE",
            "/no/such/key",
            ["/no/such/key", "No such file"],
        ),
    ] {
        let outcome = finish(pombo(["run", "echo"]).env(name, value));
        assert_eq!((outcome.code, outcome.out.as_str()), (1, ""), "{outcome:?}");
        for word in words.into_iter().chain([name]) {
            assert!(outcome.err.contains(word), "{name}: {outcome:?}");
        }
    }
    // A name is relative to the directory of the program.
    let place = directory("stats-relative");
    fs::create_dir(place.join("there")).unwrap();
    let mut command = pombo(["run", "-wdir", place.to_str().unwrap(), "true"]);
    let outcome = finish(command.env("POMBO_STATS_FILE", "there/file"));
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
}

#[test]
fn ranks_that_could_not_be_watched() {
    let mut command = Command::new("env");
    command.args(["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_pombo")]);
    let outcome = finish(command.args(["run", "-n", "2", "true"]));
    // An `env` without that feature exits with 125.
    if outcome.code != 125 {
        assert_eq!(outcome.code, 1, "{outcome:?}");
        assert!(outcome.err.contains("SIGCHLD"), "{outcome:?}");
    }
}

#[test]
fn help_and_version_are_no_errors() {
    for arguments in [
        &["--help"][..],
        &["run", "-h"],
        &["run", "-help"],
        &["run", "--help"],
        &["help", "run"],
        &["--version"],
        &["run", "-version"],
        &["info"],
    ] {
        let outcome = finish(&mut pombo(arguments));
        assert_eq!(
            (outcome.code, outcome.err.as_str()),
            (0, ""),
            "{arguments:?}"
        );
        assert!(!outcome.out.is_empty());
    }
}

#[test]
fn info_lists_every_variable() {
    let outcome = finish(pombo(["info"]).env("POMBO_KILL_TIMEOUT", "7.25"));
    for name in [
        "RANK",
        "SIZE",
        "LOCAL_RANK",
        "LOCAL_SIZE",
        "SHM_FD",
        "LIB",
        "CC",
        "CXX",
        "KILL_TIMEOUT",
    ] {
        assert!(outcome.out.contains(&format!("  POMBO_{name} ")), "{name}");
    }
    assert!(outcome.out.contains("7.25"));
}
