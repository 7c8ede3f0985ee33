//! Builds the static library of a composition, and links the ping-pong against it. Only `size` uses it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Composition;
use crate::compiler;
use crate::error::Error;
use crate::mpi_names::HEADER;

const PING_PONG: &str = include_str!("ping_pong.c");

/// The files of a composition.
pub(super) struct Built {
    /// The static library.
    pub(super) archive: PathBuf,
    /// The ping-pong as it would be shipped.
    pub(super) stripped: PathBuf,
    /// The same with symbols and relocations.
    pub(super) with_symbols: PathBuf,
}

/// Options of programs that are to be small: a fixed address, no tables for exceptions, and no padding between segments.
const SMALL: [&str; 4] = [
    "-Os",
    "-no-pie",
    "-fno-asynchronous-unwind-tables",
    "-Wl,--gc-sections,--build-id=none,-z,norelro,-z,noseparate-code",
];

/// Builds library and program into a directory.
pub(super) fn build(
    composition: &Composition,
    source: &Path,
    directory: &Path,
) -> Result<Built, Error> {
    let built = library(composition, source)?;
    let file = |kind: &str| directory.join(format!("{}{kind}", composition.name));
    let (archive, ping_pong) = (file(".a"), file(".c"));
    without_tables(&built, &archive)?;
    fs::write(&ping_pong, PING_PONG).map_err(Error::file("write", &ping_pong))?;
    let header = directory.join("mpi.h");
    fs::write(&header, HEADER).map_err(Error::file("write", &header))?;
    let link = |program: &Path, last: &str| {
        let mut options: Vec<OsString> = SMALL.map(OsString::from).into();
        options.extend(["-I".into(), directory.into()]);
        // The library stands behind the source that needs it.
        options.extend(["-x".into(), "c".into(), ping_pong.clone().into()]);
        options.extend([
            "-x".into(),
            "none".into(),
            archive.clone().into(),
            last.into(),
        ]);
        compiler::compile_files(program, &options)
    };
    let (stripped, with_symbols) = (file(""), file(".symbols"));
    link(&stripped, "-s")?;
    link(&with_symbols, "-Wl,--emit-relocs")?;
    Ok(Built {
        archive,
        stripped,
        with_symbols,
    })
}

/// Builds the static library and returns its file.
fn library(composition: &Composition, source: &Path) -> Result<PathBuf, Error> {
    let target = source.join("target");
    let mut cargo = Command::new("cargo");
    cargo.args(["rustc", "--quiet", "--package", "pombo-mpi-abi", "--lib"]);
    cargo.args(["--crate-type", "staticlib", "--profile", "small"]);
    cargo.args(["--no-default-features", "--features", composition.features]);
    cargo.arg("--target-dir").arg(&target);
    cargo.arg("--manifest-path").arg(source.join("Cargo.toml"));
    cargo.args(["--", "-C", "relocation-model=static"]);
    run(&mut cargo)?;
    Ok(target.join("small/libmpi_abi.a"))
}

/// Copies a static library without the tables by which exceptions pass through functions: none does in this library. Its
/// functions give way to those of a program, as in the shared library.
fn without_tables(from: &Path, to: &Path) -> Result<(), Error> {
    let mut objcopy = Command::new("objcopy");
    objcopy.args(["--wildcard", "--weaken-symbol=MPI_*"]);
    objcopy.args(["-R", ".eh_frame", "-R", ".rela.eh_frame"]);
    run(objcopy.arg(from).arg(to))
}

fn run(command: &mut Command) -> Result<(), Error> {
    let program = Path::new(command.get_program()).to_owned();
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(Error::file("run", &program))?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::Compile { program }),
    }
}
