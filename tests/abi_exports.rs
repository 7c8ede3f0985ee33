//! Tests the C library from outside: what it exports, what its header declares, and that both agree with each other and
//! with the Rust side. Needs the C compiler (`CC`, or `cc`) and the tools that come with it.

#[path = "abi_exports/functions_page.rs"]
mod functions_page;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const EXPORTS: &str = include_str!("../mpi-facade/abi/exports.txt");
const HEADER: &str = include_str!("../mpi-facade/abi/include/mpi.h");
const CONSTANTS: &str = include_str!("../mpi-facade/core/src/constants.rs");
const CLASSES: &str = include_str!("../mpi-facade/core/src/error/class.rs");

/// Returns cargo's directory of this test and of the library, on which the launcher depends.
fn build_directory() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    test.parent().expect("it lies in a directory").to_owned()
}

fn library() -> PathBuf {
    build_directory().join("libmpi_abi.so")
}

fn abi(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../abi")
        .join(path)
}

/// Runs a command that must succeed and returns what it printed.
fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}{errors}");
    text
}

fn compiler(variable: &str, default: &str) -> String {
    std::env::var(variable).unwrap_or(default.to_owned())
}

fn strict(compiler: &str, standard: &str) -> Command {
    let mut command = Command::new(compiler);
    command
        .arg(format!("-std={standard}"))
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(abi("include"));
    command
}

#[test]
fn every_function_is_exported_under_both_names_and_nothing_else() {
    let table = run(Command::new("nm")
        .args(["--dynamic", "--defined-only", "--portability"])
        .arg(library()));
    let exported: BTreeSet<(&str, &str)> = table
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .collect();
    let profiling: Vec<String> = EXPORTS.lines().map(|name| format!("P{name}")).collect();
    let wanted: BTreeSet<(&str, &str)> = EXPORTS
        .lines()
        .chain(profiling.iter().map(String::as_str))
        .map(|name| (name, "T"))
        .collect();
    assert_eq!(wanted.len(), 2 * 664);
    let missing: Vec<_> = wanted.difference(&exported).collect();
    let surplus: Vec<_> = exported.difference(&wanted).collect();
    assert!(missing.is_empty(), "not exported as functions: {missing:?}");
    assert!(surplus.is_empty(), "exported in excess: {surplus:?}");
}

#[test]
fn the_library_bears_the_name_of_the_standard() {
    let dynamic = run(Command::new("readelf").arg("--dynamic").arg(library()));
    assert!(
        dynamic.contains("Library soname: [libmpi_abi.so.1]"),
        "{dynamic}"
    );
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let declared: Vec<&str> = HEADER
        .lines()
        .filter_map(|line| line.strip_prefix("MPI_ABI_FN("))
        .map(|rest| rest.split(", ").nth(1).expect("a name behind the type"))
        .collect();
    let exports: BTreeSet<&str> = EXPORTS.lines().collect();
    assert_eq!(declared.len(), exports.len());
    assert_eq!(declared.into_iter().collect::<BTreeSet<_>>(), exports);
}

/// Returns the number in a value as the header or the Rust side writes it, whatever the casts around it.
fn number(text: &str) -> Option<i64> {
    let token = text
        .rsplit(['(', ')', ' '])
        .find(|token| token.starts_with(|c: char| c.is_ascii_digit() || c == '-'))?;
    match token.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => token.parse().ok(),
    }
}

#[test]
fn the_header_and_the_rust_constants_agree() {
    let header: BTreeMap<&str, i64> = HEADER
        .lines()
        .filter_map(|line| line.strip_prefix("#define MPI_")?.split_once(' '))
        .filter_map(|(name, value)| Some((name, number(value)?)))
        .collect();
    let constants = CONSTANTS.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("pub const MPI_")?.split_once(':')?;
        let value = rest.split_once("= ")?.1.trim_end_matches(';');
        Some((
            name,
            if value == "null_mut()" {
                0
            } else {
                number(value)?
            },
        ))
    });
    let classes = CLASSES.lines().filter_map(|line| {
        let (value, rest) = line.split_once(" = ")?.1.split_once(", \"MPI_")?;
        Some((rest.split_once('"')?.0, number(value)?))
    });
    let mut compared = 0;
    for (name, value) in constants.chain(classes) {
        assert_eq!(header.get(name), Some(&value), "MPI_{name}");
        compared += 1;
    }
    assert!(compared > 290, "only {compared} constants were found");
}

#[test]
fn the_header_is_clean_c_and_cxx() {
    let user = abi("include/mpi.h");
    let cc = compiler("CC", "cc");
    for standard in ["c99", "c11"] {
        run(strict(&cc, standard)
            .args(["-pedantic", "-fsyntax-only", "-x", "c"])
            .arg(&user));
    }
    // C++ is tested only where a C++ compiler is installed, because the project does not require one.
    let cxx = compiler("CXX", "c++");
    if Command::new(&cxx).arg("--version").output().is_ok() {
        for standard in ["c++11", "c++17"] {
            run(strict(&cxx, standard)
                .args(["-pedantic", "-fsyntax-only", "-x", "c++"])
                .arg(abi("tests/values.c")));
        }
    }
}

#[test]
fn values_and_layouts_are_the_standards() {
    let program = build_directory().join("abi_values");
    run(strict(&compiler("CC", "cc"), "c11")
        .arg(abi("tests/values.c"))
        .arg("-o")
        .arg(&program));
    run(&mut Command::new(&program));
}

#[test]
fn what_needs_no_world_works_from_c() {
    let program = build_directory().join("abi_local");
    run(strict(&compiler("CC", "cc"), "c99")
        .arg(abi("tests/local.c"))
        .arg("-o")
        .arg(&program)
        .arg(library()));
    // The program loads the library by its soname.
    let versioned = build_directory().join("abi_exports_library");
    std::fs::create_dir_all(&versioned).expect("the build directory is writable");
    let link = versioned.join("libmpi_abi.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(library(), link).expect("the build directory is writable");
    run(Command::new(&program).env("LD_LIBRARY_PATH", &versioned));
}
