//! Tests programs of other MPI libraries, with mock libraries: they are detected by what their files need, or after the
//! job.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Outcome, directory, finish, pombo};

/// Builds a shared library of that name with `MPI_Init`, with further options of the compiler.
fn library(place: &Path, name: &str, words: &[&str]) {
    let source = place.join("library.c");
    fs::write(
        &source,
        "int MPI_Init(int *argc, char ***argv) { return argc == 0 && argv == 0; }\n",
    )
    .unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-nostdlib", "-o"])
        .arg(place.join(name))
        .arg(source);
    cc.arg(format!("-Wl,-soname,{name}"))
        .args(words)
        .arg("-L")
        .arg(place);
    let outcome = finish(&mut cc);
    assert_eq!(outcome.code, 0, "{outcome:?}");
}

/// Builds a program that calls `MPI_Init` of that library and prints that it ran.
fn program(place: &Path, library: &str) -> PathBuf {
    let (source, program) = (place.join("program.c"), place.join("program"));
    let text = "#include <stdio.h>\nint MPI_Init(int *, char ***);\nint main(void) { MPI_Init(0, 0); puts(\"ran\"); return 0; }\n";
    fs::write(&source, text).unwrap();
    let mut cc = Command::new("cc");
    cc.arg(&source)
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(place)
        .arg(format!("-l:{library}"));
    cc.args([
        "-Wl,--disable-new-dtags,-rpath,$ORIGIN",
        "-Wl,--allow-shlib-undefined",
    ]);
    let outcome = finish(&mut cc);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    program
}

fn run(ranks: &str, program: &Path) -> Outcome {
    finish(pombo(["run", "-n", ranks]).arg(program))
}

#[test]
fn a_program_of_another_library_does_not_start() {
    for name in ["libmpich.so.12", "libmpi.so.40", "libmpi_mpifh.so.40"] {
        let place = directory(&format!("foreign-{name}"));
        library(&place, name, &[]);
        let program = program(&place, name);
        let outcome = run("2", &program);
        assert_eq!((outcome.code, outcome.out.as_str()), (1, ""), "{outcome:?}");
        for word in [
            name,
            "another MPI library",
            "mpicc",
            "mpiexec of that library",
        ] {
            assert!(outcome.err.contains(word), "{word}: {outcome:?}");
        }
        assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
        // A single rank is a world of one with any library.
        let outcome = run("1", &program);
        assert_eq!(
            (outcome.code, outcome.out.as_str(), outcome.err.as_str()),
            (0, "ran\n", "")
        );
    }
}

/// The libraries behave as those that translate between the binary interfaces of MPI libraries.
#[test]
fn another_library_over_ours_is_none() {
    let place = directory("foreign-over");
    library(&place, "libmpi_abi.so.1", &[]);
    library(
        &place,
        "libmpi.so.40",
        &["-Wl,--no-as-needed", "-l:libmpi_abi.so.1"],
    );
    let outcome = run("2", &program(&place, "libmpi.so.40"));
    assert_eq!(
        (outcome.code, outcome.out.as_str()),
        (0, "ran\nran\n"),
        "{outcome:?}"
    );
}

#[test]
fn a_library_of_the_program_that_needs_another_is_named() {
    let place = directory("foreign-beyond");
    library(&place, "libmpich.so.12", &[]);
    library(
        &place,
        "libsolver.so.3",
        &["-Wl,--no-as-needed", "-l:libmpich.so.12"],
    );
    let outcome = run("2", &program(&place, "libsolver.so.3"));
    assert_eq!(
        (outcome.code, outcome.out.as_str()),
        (0, "ran\nran\n"),
        "{outcome:?}"
    );
    assert!(
        outcome
            .err
            .contains("libsolver.so.3, which needs libmpich.so.12"),
        "{outcome:?}"
    );
    assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
}

#[test]
fn a_job_that_should_have_called_mpi_init_is_told_of() {
    let place = directory("foreign-nobody");
    // Another library has the name of the standard ABI's, which a wrong LD_LIBRARY_PATH finds.
    library(&place, "libmpi_abi.so.1", &[]);
    let program = program(&place, "libmpi_abi.so.1");
    // The second case is an interpreter.
    let python = place.join("python3");
    symlink("/bin/true", &python).unwrap();
    for program in [&program, &python] {
        let outcome = run("2", program);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(
            outcome.err.contains("no rank called MPI_Init"),
            "{outcome:?}"
        );
        assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
        assert_eq!(run("1", program).err, "");
    }
    // Programs without any relation to MPI run as before.
    for program in ["true", "hostname", "sh"] {
        let outcome = finish(&mut pombo(["run", "-n", "2", program]));
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{program}");
    }
}
