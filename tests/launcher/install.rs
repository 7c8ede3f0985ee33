//! `pombo install` and the compiler wrappers, with made-up libraries: what is laid down and what
//! is printed. That programs compiled so run is shown where the library is tested.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Outcome, directory, finish, pombo};

/// A directory with files that pass for the library.
fn library(name: &str) -> PathBuf {
    let place = directory(name);
    fs::write(place.join("libmpi_abi.so"), "shared").unwrap();
    fs::write(place.join("libmpi_abi.a"), "archive").unwrap();
    place
}

fn install(library: &Path, prefix: &Path) -> Outcome {
    let mut command = pombo(["install", "--prefix"]);
    finish(command.arg(prefix).env("POMBO_LIB", library))
}

/// A program of an installed prefix, with nothing in the environment to find it by.
fn installed(prefix: &Path, name: &str, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(prefix.join("bin").join(name));
    for (name, _) in std::env::vars() {
        if name.starts_with("POMBO_") || name.starts_with("MPICH_") {
            command.env_remove(name);
        }
    }
    finish(command.args(arguments))
}

#[test]
fn everything_has_its_place() {
    let prefix = directory("prefix").join("not/there/yet");
    // Twice: what is there is replaced.
    for _ in 0..2 {
        let outcome = install(&library("prefix-lib"), &prefix);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    }
    for name in ["mpirun", "mpiexec", "mpicc", "mpicxx", "mpic++"] {
        let target = fs::read_link(prefix.join("bin").join(name)).unwrap();
        assert_eq!(target, Path::new("pombo"));
    }
    let lib = prefix.join("lib");
    assert_eq!(
        fs::read_to_string(lib.join("libmpi_abi.so.1")).unwrap(),
        "shared"
    );
    assert_eq!(
        fs::read_to_string(lib.join("libmpi_abi.a")).unwrap(),
        "archive"
    );
    let link = fs::read_link(lib.join("libmpi_abi.so")).unwrap();
    assert_eq!(link, Path::new("libmpi_abi.so.1"));
    let header = fs::read_to_string(prefix.join("include/mpi.h")).unwrap();
    assert!(header.contains("MPI_Init"));
    let settings = fs::read_to_string(lib.join("pkgconfig/pombo.pc")).unwrap();
    assert!(settings.contains("-lmpi_abi"));
    let names = |place: &str| fs::read_dir(prefix.join(place)).unwrap().count();
    assert_eq!(
        (names("bin"), names("lib"), names("include")),
        (7, 4, 1),
        "nothing else"
    );
    let outcome = installed(
        &prefix,
        "mpirun",
        &["-n", "2", "sh", "-c", "echo $POMBO_SIZE"],
    );
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "2\n2\n"));
}

#[test]
fn the_wrapper_prints_the_plain_line() {
    let prefix = directory("show prefix");
    assert_eq!(install(&library("show-lib"), &prefix).code, 0);
    let prefix = prefix.canonicalize().unwrap();
    let at = prefix.display();
    let (include, link) = (
        format!("'-I{at}/include'"),
        format!("'-L{at}/lib' '-Wl,-rpath,{at}/lib' -lmpi_abi"),
    );
    let shown = |name: &str, arguments: &[&str]| {
        let outcome = installed(&prefix, name, arguments);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
        let (_, rest) = outcome.out.trim_end().split_once(' ').unwrap();
        rest.to_owned()
    };
    assert_eq!(shown("mpicc", &["-show"]), format!("{include} {link}"));
    assert_eq!(shown("mpicxx", &["--show"]), format!("{include} {link}"));
    assert_eq!(shown("mpicc", &["-compile_info"]), include);
    assert_eq!(shown("mpicc", &["-link_info"]), link);
    let line = shown("mpicc", &["-show", "-c", "a b.c"]);
    assert_eq!(line, format!("-c 'a b.c' {include}"));
    let line = shown("mpicc", &["-static-mpi", "-show", "a.o", "-lm"]);
    let archive = format!("'{at}/lib/libmpi_abi.a'");
    assert_eq!(
        line,
        format!("a.o -lm {include} -Wl,--gc-sections {archive}")
    );
}

#[test]
fn a_library_named_by_hand() {
    let place = library("named-lib");
    let (place, there) = (place.as_path(), place.parent().unwrap());
    // A relative path too.
    for (named, from) in [(place, there), (Path::new("launcher-named-lib"), there)] {
        let mut command = pombo(["mpicc", "-link_info"]);
        let outcome = finish(command.env("POMBO_LIB", named).current_dir(from));
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let (_, lib) = outcome.out.split_once("-L").unwrap();
        let lib = Path::new(lib.split_whitespace().next().unwrap());
        assert_ne!(lib.parent().unwrap().file_name().unwrap(), "pombo-prefix");
        let loaded = lib.join("libmpi_abi.so.1").canonicalize().unwrap();
        assert_eq!(loaded, place.join("libmpi_abi.so").canonicalize().unwrap());
    }
}

#[test]
fn another_compiler() {
    let prefix = directory("cc-prefix");
    assert_eq!(install(&library("cc-lib"), &prefix).code, 0);
    let first = |arguments: &[&str], variable: (&str, &str)| {
        let mut command = Command::new(prefix.join("bin/mpicc"));
        let outcome = finish(command.args(arguments).env(variable.0, variable.1));
        outcome
            .out
            .split(" '")
            .next()
            .unwrap()
            .split(" -I")
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        first(&["-show"], ("POMBO_CC", "ccache gcc -m64")),
        "ccache gcc -m64"
    );
    assert_eq!(first(&["-show"], ("MPICH_CC", "clang")), "clang");
    assert_eq!(first(&["-show", "-cc=tcc"], ("POMBO_CC", "gcc")), "tcc");
    // The wrapper becomes the compiler: its output and exit code are the compiler's.
    assert!(first(&["hello"], ("POMBO_CC", "echo")).starts_with("hello"));
    let mut mpicc = Command::new(prefix.join("bin/mpicc"));
    let outcome = finish(mpicc.arg("a.c").env("POMBO_CC", "false"));
    assert_eq!((outcome.code, outcome.err.as_str()), (1, ""));
}

#[test]
fn what_is_missing_is_named() {
    let empty = directory("empty-lib");
    let outcome = install(&empty, &directory("no-prefix"));
    assert_eq!(outcome.code, 1);
    assert!(outcome.err.contains("POMBO_LIB") && outcome.err.contains("launcher-empty-lib"));
    let outcome = install(&library("bad-prefix-lib"), Path::new("/dev/null/prefix"));
    assert_eq!(outcome.code, 1);
    assert!(outcome.err.contains("/dev/null/prefix"), "{outcome:?}");
    let outcome = finish(&mut pombo(["install"]));
    assert_eq!(outcome.code, 1);
    assert!(outcome.err.contains("--prefix"));
    let library = library("no-compiler-lib");
    let mut command = pombo(["mpicc", "a.c"]);
    let outcome = finish(command.env("POMBO_LIB", &library).env("PATH", "/no/such"));
    assert_eq!(outcome.code, 1);
    assert!(outcome.err.contains("no compiler found"), "{outcome:?}");
    let mut command = pombo(["mpicc", "a.c"]);
    let outcome = finish(
        command
            .env("POMBO_LIB", &library)
            .env("POMBO_CC", "/no/such/cc"),
    );
    assert!(outcome.err.contains("/no/such/cc"), "{outcome:?}");
}
