//! Tests how programs are linked: statically, or against another library of the standard ABI.

use crate::programs::{compile, job, source};
use crate::support::{directory, pombo};
use std::path::Path;
use std::process::Command;

#[test]
fn a_static_library() {
    let program = directory("static").join("collectives");
    compile(&source("tests/c/collectives.c"), &program, &["-static-mpi"]);
    let mut command = pombo(["run", "-n", "3"]);
    let outcome = job(command.arg(&program));
    assert_eq!(
        (outcome.code, outcome.out.as_str()),
        (0, "ok collectives\n"),
        "{}",
        outcome.err
    );
}

/// A profiling layer replaces functions and calls those with `PMPI_`, in both libraries.
#[test]
fn functions_that_the_program_replaces() {
    for (name, options) in [("shared", &[][..]), ("static", &["-static-mpi"])] {
        let program = directory(&format!("profiled-{name}")).join("profiled");
        compile(&source("tests/c/profiled.c"), &program, options);
        let mut command = pombo(["run", "-n", "3"]);
        let outcome = job(command.arg(&program));
        assert_eq!(
            (outcome.code, outcome.out.as_str()),
            (0, "ok profiled\n"),
            "{name}: {}",
            outcome.err
        );
    }
}

/// `MPICC_ABI` names a compiler wrapper of another library of the standard ABI, such as PyPI's `mpich`. Programs that
/// it compiled and linked run here by the library path alone.
#[test]
fn a_program_of_another_library() {
    let Some(foreign) = std::env::var_os("MPICC_ABI") else {
        println!(
            "SKIPPED: MPICC_ABI does not name a compiler wrapper of another library (PyPI: mpich)"
        );
        return;
    };
    let place = directory("foreign");
    let library = Path::new(env!("CARGO_BIN_EXE_pombo"))
        .with_file_name("deps")
        .join("libmpi_abi.so");
    let link = place.join("libmpi_abi.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(library, link).unwrap();
    for name in ["p2p", "collectives", "errors"] {
        let program = place.join(name);
        let status = Command::new(&foreign)
            .args(["-std=c99", "-O1"])
            .arg(source(&format!("tests/c/{name}.c")))
            .arg("-o")
            .arg(&program)
            .arg("-lm")
            .status();
        assert!(status.unwrap().success(), "{name}");
        // The launcher names its library, unless the user names one of Pombo's.
        for named in [true, false] {
            let mut command = pombo(["run", "-n", "4"]);
            command.arg(&program).env_remove("LD_LIBRARY_PATH");
            if named {
                command.env("LD_LIBRARY_PATH", &place);
            }
            let outcome = job(&mut command);
            assert_eq!(
                (outcome.code, outcome.out),
                (0, format!("ok {name}\n")),
                "{}",
                outcome.err
            );
        }
    }
}
