//! Tests `pombo install` and the compiler wrappers with mock libraries: which files are installed and what is printed.
//! The tests of the library show that compiled programs run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Outcome, directory, finish, finish_with, pombo};

/// A library is recognised as ours by the name of a variable that it reads.
const SHARED: &str = "shared: POMBO_RANK";
const ARCHIVE: &str = "archive: POMBO_RANK";

/// Creates a directory with mock files of the library.
fn library(name: &str) -> PathBuf {
    let place = directory(name);
    fs::write(place.join("libmpi_abi.so"), SHARED).unwrap();
    fs::write(place.join("libmpi_abi.a"), ARCHIVE).unwrap();
    place
}

fn install(library: &Path, prefix: &Path) -> Outcome {
    let mut command = pombo(["install", "--prefix"]);
    finish(command.arg(prefix).env("POMBO_LIB", library))
}

/// Runs a program of an installed prefix, without variables that help to find it.
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
    // The second installation replaces the files of the first.
    for _ in 0..2 {
        let outcome = install(&library("prefix-lib"), &prefix);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    }
    for name in [
        "mpirun", "mpiexec", "mpicc", "mpicxx", "mpic++", "mpifort", "mpif90", "mpif77",
    ] {
        let target = fs::read_link(prefix.join("bin").join(name)).unwrap();
        assert_eq!(target, Path::new("pombo"));
    }
    let lib = prefix.join("lib");
    assert_eq!(
        fs::read_to_string(lib.join("libmpi_abi.so.1")).unwrap(),
        SHARED
    );
    assert_eq!(
        fs::read_to_string(lib.join("libmpi_abi.a")).unwrap(),
        ARCHIVE
    );
    let link = fs::read_link(lib.join("libmpi_abi.so")).unwrap();
    assert_eq!(link, Path::new("libmpi_abi.so.1"));
    let header = fs::read_to_string(prefix.join("include/mpi.h")).unwrap();
    assert!(header.contains("MPI_Init"));
    for name in ["pombo", "mpi", "mpi-c", "mpi-cxx"] {
        let settings = fs::read_to_string(lib.join(format!("pkgconfig/{name}.pc"))).unwrap();
        assert!(settings.contains("-lmpi_abi") && settings.contains(&format!("Name: {name}\n")));
    }
    let names = |place: &str| fs::read_dir(prefix.join(place)).unwrap().count();
    assert_eq!(
        (names("bin"), names("lib"), names("include")),
        (10, 4, 2),
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
    assert_eq!(shown("mpicc", &["-showme"]), format!("{include} {link}"));
    let printed = |arguments: &[&str]| {
        let outcome = installed(&prefix, "mpicc", arguments);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
        outcome.out.trim_end().to_owned()
    };
    assert_eq!(printed(&["-showme:compile"]), include);
    assert_eq!(printed(&["-showme:link"]), link);
    assert_eq!(printed(&["-showme:incdirs"]), format!("'{at}/include'"));
    assert_eq!(printed(&["-showme:libdirs"]), format!("'{at}/lib'"));
    assert_eq!(printed(&["-showme:libs"]), "mpi_abi");
    assert_eq!(printed(&["-showme:command", "-cc=tcc"]), "tcc");
    assert!(printed(&["-showme:version"]).starts_with("mpicc: (Pombo) "));
    let line = shown("mpicc", &["-show", "-c", "a b.c"]);
    assert_eq!(line, format!("-c 'a b.c' {include}"));
    let line = shown("mpicc", &["-static-mpi", "-show", "a.o", "-lm"]);
    let archive = format!("'{at}/lib/libmpi_abi.a'");
    assert_eq!(
        line,
        format!("a.o -lm {include} -Wl,--gc-sections {archive}")
    );
}

/// Build systems try these names; whoever has Fortran learns how it goes.
#[test]
fn fortran_is_explained() {
    let prefix = directory("fortran-prefix");
    assert_eq!(install(&library("fortran-lib"), &prefix).code, 0);
    for name in ["mpifort", "mpif90", "mpif77"] {
        let outcome = installed(&prefix, name, &["-show"]);
        assert_eq!((outcome.code, outcome.out.as_str()), (1, ""));
        assert!(outcome.err.contains("no Fortran binding"), "{outcome:?}");
        assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
    }
}

#[test]
fn a_library_named_by_hand() {
    let place = library("named-lib");
    let (place, there) = (place.as_path(), place.parent().unwrap());
    // A relative path works too.
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
    // The wrapper executes the compiler, so output and exit code are the compiler's.
    assert!(first(&["hello"], ("POMBO_CC", "echo")).starts_with("hello"));
    let mut mpicc = Command::new(prefix.join("bin/mpicc"));
    let outcome = finish(mpicc.arg("a.c").env("POMBO_CC", "false"));
    assert_eq!((outcome.code, outcome.err.as_str()), (1, ""));
}

#[test]
fn another_library_is_not_replaced_without_being_asked() {
    let (library, prefix) = (library("foreign-lib"), directory("foreign-prefix"));
    for place in ["bin", "include", "lib/pkgconfig"] {
        fs::create_dir_all(prefix.join(place)).unwrap();
    }
    // A path that contains our name does not make a file ours.
    let theirs = [
        "bin/mpicc",
        "bin/mpif90",
        "include/mpi.h",
        "lib/libmpi_abi.so.1",
        "lib/pkgconfig/mpi.pc",
    ]
    .map(|name| prefix.join(name));
    for file in &theirs {
        fs::write(file, "/home/me/pombo").unwrap();
    }
    let link = prefix.join("bin/mpiexec");
    std::os::unix::fs::symlink("mpiexec.hydra", &link).unwrap();
    let outcome = install(&library, &prefix);
    assert_eq!((outcome.code, outcome.out.as_str()), (1, ""), "{outcome:?}");
    for file in theirs.iter().chain([&link]) {
        assert!(outcome.err.contains(file.to_str().unwrap()), "{outcome:?}");
    }
    assert!(
        outcome.err.contains("--force") && !outcome.err.contains("mpicxx"),
        "{outcome:?}"
    );
    assert!(
        theirs
            .iter()
            .all(|file| fs::read(file).unwrap() == b"/home/me/pombo")
    );
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("mpiexec.hydra"));
    assert!(!prefix.join("bin/pombo").exists(), "nothing is laid down");
    let mut command = pombo(["install", "--force", "--prefix"]);
    let outcome = finish(command.arg(&prefix).env("POMBO_LIB", &library));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("pombo"));
    // The installed files are now ours.
    assert_eq!(install(&library, &prefix).code, 0);
}

/// The capability for raw Ethernet belongs to a file, not to its name.
#[test]
fn an_installed_helper_stays_the_same_file() {
    use std::os::unix::fs::MetadataExt;
    let (library, prefix) = (library("kept-lib"), directory("kept-prefix"));
    let helper = prefix.join("bin/pombo-ethernet");
    let file = || fs::metadata(&helper).unwrap().ino();
    assert_eq!(install(&library, &prefix).code, 0);
    let first = file();
    let outcome = install(&library, &prefix);
    assert_eq!((outcome.code, file()), (0, first), "{outcome:?}");
    assert!(!outcome.out.contains("pombo setup"), "{outcome:?}");
    fs::write(&helper, "of an older version").unwrap();
    let outcome = install(&library, &prefix);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.out.contains("run `pombo setup`"), "{outcome:?}");
    assert_ne!(fs::read(&helper).unwrap(), b"of an older version");
}

/// `cargo run` builds the launcher without the helper, and tells the launcher where cargo is.
#[test]
fn a_launcher_that_cargo_runs_has_the_helper_built() {
    let (library, place) = (library("cargo-lib"), directory("cargo"));
    let built = place.join("target/release");
    fs::create_dir_all(&built).unwrap();
    let launcher = built.join("pombo");
    let mut copy = Command::new("cp");
    assert_eq!(
        finish(copy.arg(env!("CARGO_BIN_EXE_pombo")).arg(&launcher)).code,
        0
    );
    let cargo = place.join("cargo");
    // Another process writes the file: a process that writes a file itself cannot execute it while it forks.
    let text = "#!/bin/sh\necho \"$@\" >'LOG'\necho helper >'HELPER'\n"
        .replace("LOG", place.join("log").to_str().unwrap())
        .replace("HELPER", built.join("pombo-ethernet").to_str().unwrap());
    let mut write = Command::new("sh");
    write
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
        .arg(&cargo);
    assert_eq!(finish_with(&mut write, text.as_bytes()).code, 0);
    let install = |prefix: &Path, by_cargo: bool| {
        let mut command = Command::new(&launcher);
        command
            .args(["install", "--prefix"])
            .arg(prefix)
            .env("POMBO_LIB", &library);
        command.env_remove("CARGO");
        if by_cargo {
            command.env("CARGO", &cargo).env("CARGO_PKG_NAME", "pombo");
            command.env("CARGO_MANIFEST_DIR", "/package");
        }
        finish(&mut command)
    };
    let without = place.join("without");
    let outcome = install(&without, false);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(
        outcome.out.contains("without pombo-ethernet"),
        "{outcome:?}"
    );
    assert!(!without.join("bin/pombo-ethernet").exists());
    let with = place.join("with");
    let outcome = install(&with, true);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(
        fs::read(with.join("bin/pombo-ethernet")).unwrap(),
        b"helper\n"
    );
    let log = fs::read_to_string(place.join("log")).unwrap();
    for word in [
        "--bin pombo-ethernet",
        "--profile release",
        "/package/Cargo.toml",
    ] {
        assert!(log.contains(word), "{log}");
    }
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
