//! Finds the file of a program. `spawn` calls it before anything is started, so that a wrong name gives one message and
//! not one per rank.
//!
//! The rules are those of MPICH's `mpiexec`: a name without a slash is searched in PATH only, a name with a slash is
//! relative to the directory in which the program will start.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use crate::error::Error;

/// The search path if PATH is not set.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns the file to execute for `program` started in `directory`.
pub(crate) fn find(program: &OsStr, directory: &Path) -> Result<PathBuf, Error> {
    if program.as_encoded_bytes().contains(&b'/') {
        let path = directory.join(program);
        return match refusal(&path) {
            None => Ok(path),
            Some(Refusal::Absent) => Err(missing(program, &place_of(&path))),
            Some(Refusal::Unfit(why)) => Err(Error::NotExecutable {
                program: program.into(),
                why,
            }),
        };
    }
    match in_path(program, directory) {
        Ok(path) => Ok(path),
        Err(Some(error)) => Err(error),
        Err(None) if directory.join(program).is_file() && !program.is_empty() => {
            let here = Path::new(".").join(program);
            if let Some(Refusal::Unfit(why)) = refusal(&directory.join(program)) {
                return Err(Error::NotExecutable { program: here, why });
            }
            let here = here.display();
            let hint = format!("PATH has none; for the one in this directory write {here}");
            Err(missing(program, &hint))
        }
        Err(None) => {
            let here = from_everywhere(directory);
            let (here, path) = (here.display(), search_path());
            let hint = format!(
                "neither a directory of PATH ({}) nor {here} has it; correct the name, or write a path with a slash",
                path.display()
            );
            Err(missing(program, &hint))
        }
    }
}

/// Says in which directory a path was looked up, and whether that is there.
fn place_of(path: &Path) -> String {
    let path = from_everywhere(path);
    let place = path.parent().unwrap_or(&path);
    let what = match place.is_dir() {
        true => "has no such file",
        false => "is not there",
    };
    format!("the directory {} {what}", place.display())
}

/// Returns the path as seen from everywhere.
fn from_everywhere(path: &Path) -> PathBuf {
    let path = path.strip_prefix(".").unwrap_or(path);
    let here = std::env::current_dir().unwrap_or_default();
    let whole = here.join(path);
    // Without the slash that joining an empty path leaves.
    whole.components().collect()
}

fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| OsString::from(PATH))
}

/// Returns the first executable of that name in PATH, or else an error for the first file that cannot be executed.
fn in_path(name: &OsStr, directory: &Path) -> Result<PathBuf, Option<Error>> {
    let path = search_path();
    let mut unfit = None;
    for place in std::env::split_paths(&path) {
        let program = directory.join(place).join(name);
        match refusal(&program) {
            None => return Ok(program),
            Some(Refusal::Unfit(why)) if program.is_file() && unfit.is_none() => {
                unfit = Some(Error::NotExecutable { program, why });
            }
            Some(_) => {}
        }
    }
    Err(unfit)
}

enum Refusal {
    Absent,
    Unfit(&'static str),
}

fn refusal(path: &Path) -> Option<Refusal> {
    match path.metadata() {
        Err(_) => Some(Refusal::Absent),
        Ok(data) if data.is_dir() => Some(Refusal::Unfit("it is a directory")),
        Ok(data) if !data.is_file() => Some(Refusal::Unfit("it is not a file")),
        Ok(_) if access(path, AccessFlags::X_OK).is_err() && is_source(path) => {
            Some(Refusal::Unfit(
                "it is a source file; compile it first, as in: mpicc -O2 program.c -o program",
            ))
        }
        Ok(_) if access(path, AccessFlags::X_OK).is_err() => {
            Some(Refusal::Unfit("it is not executable; try chmod +x"))
        }
        Ok(_) => None,
    }
}

fn is_source(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| ["c", "cc", "cpp", "cxx", "C"].contains(&ending))
}

fn missing(program: &OsStr, hint: &str) -> Error {
    Error::NotFound {
        program: program.to_owned(),
        hint: hint.to_owned(),
    }
}
