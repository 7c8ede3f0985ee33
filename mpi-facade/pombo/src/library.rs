//! Finds the C library for `compiler`, `install` and `info`.
//!
//! The places are, in this order: `$POMBO_LIB`; `lib` beside the launcher's directory (installed); the launcher's
//! directory and its `deps` (cargo puts the library into one of them or into both, and the newer file counts).

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::Error;
use crate::small_library::{BASIC, PROFILE};
use crate::variables;

/// The soname, which programs are linked to.
pub(crate) const SONAME: &str = "libmpi_abi.so.1";
/// The file name that the linker searches for.
pub(crate) const SHARED: &str = "libmpi_abi.so";
/// The file name of the static library.
pub(crate) const STATIC: &str = "libmpi_abi.a";
/// The directory with a static library for each composition, below that of the library, or of a build.
pub(crate) const COMPOSITIONS: &str = "pombo";

/// The directories to compile and link with.
pub(crate) struct Prefix {
    pub(crate) include: PathBuf,
    pub(crate) lib: PathBuf,
}

impl Prefix {
    pub(crate) fn at(path: &Path) -> Prefix {
        Prefix {
            include: path.join("include"),
            lib: path.join("lib"),
        }
    }

    /// Returns the directory of the header that `pombo configure` reads programs with; other compilations never see it.
    pub(crate) fn names(&self) -> PathBuf {
        self.include.join("pombo")
    }

    /// Returns the static library of a composition.
    pub(crate) fn composition(&self, name: impl AsRef<Path>) -> PathBuf {
        self.lib.join(COMPOSITIONS).join(name).join(STATIC)
    }
}

/// The files of the library that were found, at least one of them.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) directory: PathBuf,
    pub(crate) shared: Option<PathBuf>,
    pub(crate) archive: Option<PathBuf>,
    /// Static libraries of smaller compositions, by their names: `pombo configure` says which one a program needs.
    pub(crate) compositions: Vec<(OsString, PathBuf)>,
}

impl Library {
    /// Returns the shared library, or else the static one.
    pub(crate) fn file(&self) -> &Path {
        let file = self.shared.as_ref().or(self.archive.as_ref());
        file.unwrap_or(&self.directory)
    }

    fn age(&self) -> Option<SystemTime> {
        self.file().metadata().and_then(|data| data.modified()).ok()
    }
}

/// Finds the library in the first place that has it.
pub(crate) fn find() -> Result<Library, Error> {
    if let Some(named) = std::env::var_os(variables::LIB.name()) {
        let path = PathBuf::from(named);
        let absolute = path.canonicalize().ok();
        let found = absolute.and_then(|path| in_directory(&path));
        return found.ok_or(Error::WrongLibrary { path });
    }
    let searched = places(&executable()?);
    let [installed, built @ ..] = searched.each_ref().map(|place| in_directory(place));
    let built = built.into_iter().flatten().rev().max_by_key(Library::age);
    let found = installed.or(built);
    found.ok_or_else(|| Error::NoLibrary {
        searched: searched.into(),
    })
}

/// Returns the path of the launcher itself, with symbolic links resolved.
pub(crate) fn executable() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(Error::system("find the launcher's own file"))
}

/// Text in every library of this version, from its `MPI_Get_library_version`.
pub(crate) const LIBRARY_VERSION: &str = concat!("Pombo ", env!("CARGO_PKG_VERSION"), ", MPI ");

/// Returns whether the file contains the mark. A dangling link counts as Pombo's: nobody misses it.
pub(crate) fn holds(path: &Path, mark: &str) -> bool {
    match fs::read(path) {
        Ok(text) => text.windows(mark.len()).any(|part| part == mark.as_bytes()),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

fn places(executable: &Path) -> [PathBuf; 3] {
    let directory = executable.parent().unwrap_or(Path::new("/"));
    let above = directory.parent().unwrap_or(directory);
    [
        above.join("lib"),
        directory.to_owned(),
        directory.join("deps"),
    ]
}

fn in_directory(directory: &Path) -> Option<Library> {
    let file = |name: &str| Some(directory.join(name)).filter(|path| path.is_file());
    let shared = file(SONAME).or_else(|| file(SHARED));
    let archive = file(STATIC);
    (shared.is_some() || archive.is_some()).then(|| Library {
        directory: directory.to_owned(),
        shared,
        archive,
        compositions: compositions(directory),
    })
}

/// Finds the libraries of compositions: `pombo/NAME/libmpi_abi.a` beside an installed library. Cargo builds each in a
/// directory of its own beside that of the whole library, as in `target/pombo/NAME/small` and `target/release`.
fn compositions(directory: &Path) -> Vec<(OsString, PathBuf)> {
    let build = match directory.ends_with("deps") {
        true => directory.parent().unwrap_or(directory),
        false => directory,
    };
    let places = [
        Some(directory.join(COMPOSITIONS)),
        build.parent().map(|above| above.join(COMPOSITIONS)),
    ];
    let entries = places
        .into_iter()
        .flatten()
        .filter_map(|place| place.read_dir().ok());
    let directories = entries
        .flatten()
        .flatten()
        .map(|entry| (entry.file_name(), entry.path()));
    let found = directories.filter_map(|(name, place)| {
        let built = place.join(PROFILE);
        let archives = [
            place.join(STATIC),
            built.join(STATIC),
            built.join(BASIC.archive),
        ];
        Some((
            name,
            archives.into_iter().find(|archive| archive.is_file())?,
        ))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_before_built() {
        let places = places(Path::new("/p/bin/pombo"));
        let expected = ["/p/lib", "/p/bin", "/p/bin/deps"].map(PathBuf::from);
        assert_eq!(places, expected);
    }
}
