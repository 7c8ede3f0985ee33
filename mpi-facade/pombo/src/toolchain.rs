//! The machine's compilers: which one there is for a language, and what its preprocessor makes of a source. `compiler`
//! and `configure` use it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::variables;

/// The language of the source.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
}

impl Language {
    /// Returns the names of the wrapper and of the language.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Language::C => ("mpicc", "C"),
            Language::Cxx => ("mpicxx", "C++"),
        }
    }
}

/// Returns the compiler and its own leading options: the one that is named here or by the environment, else the first
/// that PATH has.
pub(crate) fn compiler(language: Language, named: Option<&str>) -> Result<Vec<OsString>, Error> {
    let (variable, habit, names) = match language {
        Language::C => (variables::CC.name(), "MPICH_CC", ["cc", "gcc", "clang"]),
        Language::Cxx => (
            variables::CXX.name(),
            "MPICH_CXX",
            ["c++", "g++", "clang++"],
        ),
    };
    let by_environment = || {
        let mut variables = [variable, habit].into_iter();
        variables.find_map(|name| std::env::var(name).ok())
    };
    let named = named.map(str::to_owned).or_else(by_environment);
    let words: Vec<OsString> = named
        .iter()
        .flat_map(|named| named.split_whitespace())
        .map(OsString::from)
        .collect();
    if !words.is_empty() {
        return Ok(words);
    }
    let found = names.into_iter().find(|name| is_in_path(name));
    let found = found.ok_or_else(|| Error::NoCompiler {
        tried: names.join(", "),
        variable,
    })?;
    Ok(vec![found.into()])
}

fn is_in_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|place| place.join(name).is_file())
}

/// Returns a library's file in the directories that a compiler searches without being told.
pub(crate) fn library(compiler: &[OsString], name: &str) -> Option<PathBuf> {
    let mut command = Command::new(compiler.first()?);
    command.args(&compiler[1..]);
    command.arg(format!("-print-file-name={name}"));
    let output = command.stderr(Stdio::null()).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    // What it does not find, it prints as it got it.
    path.is_absolute().then_some(path)
}

/// Preprocesses a source; headers in the directory `first` come before all others.
///
/// # Errors
/// [`Error::Preprocess`] if the compiler fails; its messages go to standard error.
pub(crate) fn preprocess(
    compiler: &[OsString],
    source: &Path,
    first: &Path,
    options: &[OsString],
) -> Result<String, Error> {
    let mut words = compiler.iter();
    let program = words.next().cloned().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(words).arg("-I").arg(first).args(options);
    let output = command
        .arg("-E")
        .arg(source)
        .stderr(Stdio::inherit())
        .output()
        .map_err(Error::file("run compiler", &program))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Error::Preprocess {
            source: source.to_owned(),
        }),
    }
}
