//! `pombo configure`: the smallest composition that a program needs, found by looking at what of MPI the program uses.
//! `cli` calls [`main`], `compiler` calls [`library`] for `mpicc --minimal`.
//!
//! `sources` and `objects` read files into `facts`, `decision` makes a composition of them, `features` and `print` say
//! it.

mod command_line;
mod decision;
mod facts;
mod features;
mod objects;
mod print;
mod sources;
mod tokens;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use crate::console::{tell, warn};
use crate::error::Error;
use crate::library::{LIBRARY_VERSION, Prefix, holds};
use crate::run::foreign;
use crate::toolchain::{self, Language};
use command_line::Line;
pub(crate) use decision::Told;
use decision::{Composition, decide};
use facts::{Facts, Kind, Place};

/// Arguments of `pombo configure`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Objects, archives, programs, sources in C or C++
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print this instead of the reasons: features for `cargo build --features`, a table, or the command that builds the
    /// library
    #[arg(long, value_enum, value_name = "WHAT")]
    emit: Option<Emit>,
    /// Ranks are on several hosts, which no file tells
    #[arg(long)]
    hosts: bool,
    /// Machines differ in byte order, which no file tells; implies --hosts
    #[arg(long)]
    heterogeneous: bool,
    /// Errors in sentences, and answers to `pombo explain`, which no file tells
    #[arg(long)]
    diagnostics: bool,
    /// No message between two ranks is longer than so many bytes, which no file tells
    #[arg(long, value_name = "BYTES")]
    longest: Option<u64>,
    /// Options of the compiler for sources, such as -Iinclude -DN=4
    #[arg(last = true, value_name = "COMPILER OPTIONS")]
    options: Vec<OsString>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Emit {
    Features,
    Toml,
    Command,
}

/// Prints the composition for these files.
pub(crate) fn main(options: &Options, prefix: &Prefix) -> Result<u8, Error> {
    let compiler = |source: &Path| toolchain::compiler(language(source), None);
    let facts = read(&options.files, &[], prefix, &compiler, &options.options)?;
    if facts.is_empty() {
        return Err(Error::NoMpi {
            files: options.files.clone(),
        });
    }
    let told = Told {
        hosts: options.hosts,
        heterogeneous: options.heterogeneous,
        diagnostics: options.diagnostics,
        longest: options.longest,
    };
    let composition = decide(&facts, &told, EAGER);
    match options.emit {
        Some(Emit::Features) => tell(&features::of(&composition).join(",")),
        Some(Emit::Command) => tell(&features::command(&composition)),
        Some(Emit::Toml) => tell(&print::toml(&composition)),
        None => tell(&format!(
            "{}{}",
            print::text(&composition),
            served(&composition, prefix)
        )),
    }
    Ok(0)
}

/// The longest message in bytes that MPI's composition sends without asking.
const EAGER: u64 = pombo_mpi::message_header::EAGER as u64;

/// Returns a line about the library that serves the composition.
fn served(composition: &Composition, prefix: &Prefix) -> String {
    let name = features::name(composition);
    let archive = prefix.composition(&name);
    let is_there = match (archive.is_file(), holds(&archive, LIBRARY_VERSION)) {
        (true, true) => archive.display().to_string(),
        (true, false) => format!("of another version; {}", features::command(composition)),
        (false, _) => format!("not installed; {}", features::command(composition)),
    };
    format!("library       {name:<11}{is_there}")
}

/// Returns the static library for the program that this command line of a compiler links.
///
/// # Errors
/// [`Error::NoComposition`] if it is not installed: a compiler does not build libraries. [`Error::OldComposition`] if it
/// is of another version.
pub(crate) fn library(
    words: &[&OsStr],
    compiler: &[OsString],
    told: &Told,
    prefix: &Prefix,
) -> Result<PathBuf, Error> {
    let in_system = |name: &str| toolchain::library(compiler, name);
    let Line {
        files,
        libraries,
        options,
    } = command_line::split(words, &in_system);
    let compiler_of = |_: &Path| Ok(compiler.to_vec());
    let facts = read(&files, &libraries, prefix, &compiler_of, &options)?;
    if let Some(unknown) = facts.of(Kind::Unknown).next() {
        warn(&format!("--minimal takes every part of MPI: {unknown}"));
    }
    let composition = decide(&facts, told, EAGER);
    let name = features::name(&composition);
    let archive = prefix.composition(&name);
    let command = features::command(&composition);
    match (archive.is_file(), holds(&archive, LIBRARY_VERSION)) {
        (true, true) => Ok(archive),
        (true, false) => Err(Error::OldComposition { archive, command }),
        (false, _) => Err(Error::NoComposition {
            name,
            archive,
            command,
        }),
    }
}

fn is_source(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    sources::C.contains(&&*extension) || sources::CXX.contains(&&*extension)
}

fn language(source: &Path) -> Language {
    let extension = source.extension().unwrap_or_default().to_string_lossy();
    match sources::C.contains(&&*extension) {
        true => Language::C,
        false => Language::Cxx,
    }
}

/// Reads all files, and the libraries that are given or that programs among the files need; `compiler` is what
/// preprocesses a source, with these options.
fn read(
    files: &[PathBuf],
    libraries: &[PathBuf],
    prefix: &Prefix,
    compiler: &dyn Fn(&Path) -> Result<Vec<OsString>, Error>,
    options: &[OsString],
) -> Result<Facts, Error> {
    let mut facts = Facts::default();
    let names: Vec<_> = files
        .iter()
        .filter_map(|file| file.file_name()?.to_str())
        .collect();
    let include = prefix.names();
    let mut libraries = libraries.to_vec();
    for file in files {
        let data = fs::read(file).map_err(Error::file("read", file))?;
        if objects::is_compiled(&data) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let is_library = name.ends_with(".so") || name.contains(".so.");
            read_compiled(file, &data, &names, is_library, &mut facts)?;
            need(file, &mut libraries, &mut facts);
        } else if is_source(file) {
            let text = toolchain::preprocess(&compiler(file)?, file, &include, options)?;
            sources::read(&text, &include.join("mpi.h"), &mut facts);
        } else {
            return Err(Error::NotRead {
                file: file.clone(),
                why: "it is no object, archive or program, and its name is not that of a source in C or C++".to_owned(),
            });
        }
    }
    let mut next = 0;
    while let Some(library) = libraries.get(next).cloned() {
        next += 1;
        let data = fs::read(&library).map_err(Error::file("read", &library))?;
        read_compiled(&library, &data, &names, true, &mut facts)?;
        need(&library, &mut libraries, &mut facts);
    }
    Ok(facts)
}

fn read_compiled(
    file: &Path,
    data: &[u8],
    sources: &[&str],
    is_library: bool,
    facts: &mut Facts,
) -> Result<(), Error> {
    let mut found = Facts::default();
    objects::read(file, data, sources, &mut found).map_err(|why| Error::NotRead {
        file: file.to_owned(),
        why,
    })?;
    // A library that does not use MPI may look up what it likes.
    if !is_library || found.of(Kind::Call).next().is_some() {
        facts.extend(found);
    }
    Ok(())
}

/// Adds the libraries that a file needs, each once; one that is not found may use everything.
fn need(file: &Path, libraries: &mut Vec<PathBuf>, facts: &mut Facts) {
    for (name, found) in foreign::libraries(file) {
        match found {
            Some(path) if libraries.contains(&path) => {}
            Some(path) => libraries.push(path),
            None => facts.add(
                Kind::Unknown,
                format!("{name}, a library that is not found"),
                Place::of(&file.to_string_lossy()),
            ),
        }
    }
}
