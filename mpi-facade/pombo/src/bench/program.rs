//! The measuring program and its compilation by each library's own compiler. Only `bench` uses it.

use std::fs;
use std::path::{Path, PathBuf};

use super::library::Library;
use super::limited_command::{End, Jobs};
use crate::compiler;
use crate::console::{progress, warn};
use crate::error::Error;

pub(super) const SOURCE: &str = include_str!("../../../../examples/ported/bench.c");
const NO_CMA: &str = include_str!("no_cma.c");

/// Writes the source into the directory and returns its path.
pub(super) fn prepare(directory: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(directory).map_err(Error::file("make directory", directory))?;
    let directory = directory
        .canonicalize()
        .map_err(Error::file("open", directory))?;
    let source = directory.join("bench.c");
    fs::write(&source, SOURCE).map_err(Error::file("write", &source))?;
    Ok(source)
}

/// Compiles the program that forbids its command to copy from process to process, and returns its path.
pub(super) fn compile_no_cma(directory: &Path) -> Result<PathBuf, Error> {
    let source = directory.join("no_cma.c");
    let program = directory.join("no_cma");
    fs::write(&source, NO_CMA).map_err(Error::file("write", &source))?;
    compiler::compile_plain(&source, &program, &["-O1".into()])?;
    Ok(program)
}

/// Compiles for all libraries. A library whose compiler fails is reported and left out, unless it is our own.
pub(super) fn compile(
    libraries: &mut Vec<Library>,
    source: &Path,
    jobs: &Jobs,
) -> Result<(), Error> {
    if cfg!(debug_assertions) {
        warn("this build is not optimised; for figures that count: cargo run --release -- bench");
    }
    let mut works = Vec::new();
    for mut library in libraries.drain(..) {
        progress(&format!("compiling for {}\n", library.name));
        match library.compile(source, jobs)? {
            End::Done { .. } => works.push(library),
            end => warn(&format!("without {}: its mpicc {end}", library.name)),
        }
    }
    *libraries = works;
    Ok(())
}
