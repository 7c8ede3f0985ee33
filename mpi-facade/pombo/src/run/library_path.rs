//! LD_LIBRARY_PATH of the ranks: programs that were linked without a run path, or to another library of the standard
//! ABI, load the library of this launcher. `run` adds it to every program of a job.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::arguments::{Context, Request};
use super::{foreign, program};
use crate::error::Error;
use crate::install;
use crate::library::{self, SONAME};
use crate::variables;

const NAME: &str = "LD_LIBRARY_PATH";

/// Puts the directory of the library in front for every program that would not find one of Pombo's.
///
/// # Errors
/// `POMBO_LIB` names a directory without the library. A launcher that has none still starts programs of other kinds.
pub(super) fn add(request: &mut Request) -> Result<(), Error> {
    let Some(directory) = directory()? else {
        return Ok(());
    };
    for context in &mut request.contexts {
        let there = of(context).unwrap_or_default();
        let mut places = std::env::split_paths(&there).chain(own_places(context));
        if !places.any(|place| place == directory || has_library(&place)) {
            let mut path = OsString::from(&directory);
            if !there.is_empty() {
                path.push(":");
                path.push(&there);
            }
            context.environment.push((NAME.into(), path));
        }
    }
    Ok(())
}

/// Returns the directories in which the ranks of this program search for libraries.
pub(super) fn of(context: &Context) -> Option<OsString> {
    let mut own = context.environment.iter().rev();
    let own = own.find(|(name, _)| name == NAME);
    own.map(|(_, value)| value.clone())
        .or_else(|| std::env::var_os(NAME))
}

/// Returns the directories in which the program itself searches, which come after those of the variable.
fn own_places(context: &Context) -> Vec<PathBuf> {
    let directory = context.directory.as_deref().unwrap_or(Path::new("."));
    let file = program::find(&context.program, directory);
    file.map_or(Vec::new(), |file| foreign::run_paths(&file))
}

/// Returns a directory that has the library under the name that programs ask for.
fn directory() -> Result<Option<PathBuf>, Error> {
    let library = match library::find() {
        Ok(library) => library,
        Err(_) if std::env::var_os(variables::LIB.name()).is_none() => return Ok(None),
        Err(error) => return Err(error),
    };
    let directory = match library.directory.join(SONAME).is_file() {
        true => Some(library.directory),
        // Programs that need no such directory run even if this launcher may write nowhere.
        false => install::own().ok().map(|prefix| prefix.lib),
    };
    let ends_no_name = |path: &PathBuf| {
        !path
            .as_os_str()
            .as_bytes()
            .iter()
            .any(|byte| b":;".contains(byte))
    };
    Ok(directory.filter(ends_no_name))
}

/// Returns whether a directory has a library of Pombo; another library of that name starts a world of its own.
fn has_library(place: &Path) -> bool {
    let file = place.join(SONAME);
    place.as_os_str() != OsStr::new("") && file.is_file() && install::is_library(&file)
}
