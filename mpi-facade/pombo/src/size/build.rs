//! Builds the static library of a composition, and links the ping-pong against it. Only `size` uses it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::compositions::Composition;
use crate::compiler;
use crate::error::Error;
use crate::mpi_names::HEADER;
use crate::small_library::{self, PROFILE, cargo_words};

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

/// Options of the ping-pong beside those of all programs that are to be small.
const OPTIONS: [&str; 2] = ["-Os", "-fno-asynchronous-unwind-tables"];

/// Builds library and program into a directory.
pub(super) fn build(
    composition: &Composition,
    source: &Path,
    directory: &Path,
) -> Result<Built, Error> {
    let built = library(composition, source)?;
    let file = |kind: &str| directory.join(format!("{}{kind}", composition.name));
    let (archive, ping_pong) = (file(".a"), file(".c"));
    small_library::weaken(&built, &archive, false)
        .map_err(Error::file("copy without tables", &built))?;
    fs::write(&ping_pong, PING_PONG).map_err(Error::file("write", &ping_pong))?;
    let header = directory.join("mpi.h");
    fs::write(&header, HEADER).map_err(Error::file("write", &header))?;
    let link = |program: &Path, last: &str| {
        let mut options: Vec<OsString> = OPTIONS.map(OsString::from).into();
        options.extend(small_library::link_options(&[OsStr::new(last)]));
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
    small_library::cut_behind_segments(&stripped).map_err(Error::file("shorten", &stripped))?;
    link(&with_symbols, "-Wl,--emit-relocs")?;
    Ok(Built {
        archive,
        stripped,
        with_symbols,
    })
}

/// Builds the static library and returns its file.
fn library(composition: &Composition, source: &Path) -> Result<PathBuf, Error> {
    let mut cargo = Command::new("cargo");
    cargo.arg("--quiet");
    cargo.args(cargo_words(
        &composition.package,
        composition.features,
        "target",
    ));
    let status = cargo.current_dir(source).stdin(Stdio::null()).status();
    let program = PathBuf::from("cargo");
    match status.map_err(Error::file("run", &program))?.success() {
        true => Ok(source
            .join("target")
            .join(PROFILE)
            .join(composition.package.archive)),
        false => Err(Error::Compile { program }),
    }
}
