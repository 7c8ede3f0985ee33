//! Detects programs of other MPI libraries, each rank of which would be alone under this launcher, by the shared
//! libraries that their files need. Scripts and statically linked programs cannot be detected that way; for some of
//! them it is known afterwards that no rank has called MPI_Init. `spawn` and `supervise` use it; `configure` asks which libraries
//! a program needs.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::read::elf::{FileHeader, SectionTable};
use object::{Endianness, ReadCache, elf};

use crate::console::warn;
use crate::error::Error;

/// The stem of our library, and of any other with the standard ABI.
const OURS: &str = "libmpi_abi";
/// Stems of other MPI libraries, that is, their names up to ".so".
const THEIRS: [&str; 6] = [
    "libmpi",
    "libmpich",
    "libmpifort",
    "libmpichfort",
    "libmpicxx",
    "libmpichcxx",
];
/// Prefixes of stems: Open MPI's Fortran, Cray's and IBM's libraries.
const FAMILIES: [&str; 2] = ["libmpi_", "libmpich_"];

/// System libraries, which need not be examined.
const SYSTEM: [&str; 5] = ["libc", "libm", "libgcc_s", "libstdc++", "libpthread"];
/// Directories that the system's loader searches last.
const PLACES: [&str; 5] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];

/// The dynamic section of a program or library, as far as it concerns the loader.
#[derive(Default)]
struct Needs {
    libraries: Vec<String>,
    /// Directories that are searched for the libraries.
    paths: Vec<PathBuf>,
}

/// Refuses a program that needs another MPI library, and warns of one that needs a library that does. Returns whether
/// the program is expected to call our `MPI_Init`.
pub(crate) fn check(program: &OsStr, file: &Path, path: Option<&OsStr>) -> Result<bool, Error> {
    let needs = needs_of(file);
    let beyond = |name: &str| {
        let file = find(name, &needs.paths, path);
        file.map_or(Vec::new(), |file| needs_of(&file).libraries)
    };
    // A library that translates the calls of another MPI library is linked to ours.
    let is_ours = |name: &String| {
        let over = |name: &str| beyond(name).iter().any(|below| stem(below) == OURS);
        stem(name) == OURS || is_foreign(name) && over(name)
    };
    let ours = needs.libraries.iter().any(is_ours);
    let foreign = needs.libraries.iter().find(|name| is_foreign(name));
    if let Some(library) = foreign.filter(|_| !ours) {
        return Err(Error::ForeignProgram {
            program: program.to_owned(),
            library: library.clone(),
        });
    }
    let mut through = needs.libraries.iter().filter(|name| {
        let known = stem(name) == OURS || SYSTEM.contains(&stem(name));
        !known && !is_foreign(name)
    });
    let found = through.find_map(|name| {
        let library = beyond(name).into_iter().find(|name| is_foreign(name));
        Some((name, library?))
    });
    if let Some((name, library)) = found {
        warn(&format!(
            "'{}' needs {name}, which needs {library}, another MPI library: a rank that calls it is alone; build {name} \
             with this mpicc, or start the program with the mpiexec of that library",
            program.display()
        ));
    }
    let name = file.file_name().unwrap_or_default();
    Ok(ours || name.as_bytes().starts_with(b"python"))
}

/// The warning for a job that should have used MPI and has not.
pub(crate) const NOBODY_JOINED: &str = "no rank called MPI_Init of this library; if the program uses MPI, it loads another library \
     and each rank was alone: build what it uses (mpi4py, for one) with this mpicc, or start it with the mpiexec of \
     that library";

/// Returns the name of a library without its version.
fn stem(library: &str) -> &str {
    library.split_once(".so").map_or(library, |(stem, _)| stem)
}

fn is_foreign(library: &str) -> bool {
    let stem = stem(library);
    let is_family = FAMILIES.iter().any(|family| stem.starts_with(family));
    THEIRS.contains(&stem) || is_family && !stem.starts_with(OURS)
}

/// Returns the directories in which a program itself has the loader search.
pub(super) fn run_paths(file: &Path) -> Vec<PathBuf> {
    needs_of(file).paths
}

/// Returns the libraries that a program or a library needs, beside ours and some of the system, and their files.
pub(crate) fn libraries(file: &Path) -> Vec<(String, Option<PathBuf>)> {
    let needs = needs_of(file);
    let named = std::env::var_os("LD_LIBRARY_PATH");
    let is_known = |name: &str| stem(name) == OURS || SYSTEM.contains(&stem(name));
    let others = needs.libraries.into_iter().filter(|name| !is_known(name));
    let find = |name: String| {
        let file = find(&name, &needs.paths, named.as_deref());
        (name, file)
    };
    others.map(find).collect()
}

/// Returns what a file needs; nothing if it is not an ELF file.
fn needs_of(file: &Path) -> Needs {
    let directory = file.parent().unwrap_or(Path::new("/"));
    let opened = File::open(file).ok().map(ReadCache::new);
    opened
        .and_then(|data| read(&data, directory))
        .unwrap_or_default()
}

fn read(data: &ReadCache<File>, directory: &Path) -> Option<Needs> {
    let header = elf::FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections: SectionTable<'_, _, _> = header.sections(endian, data).ok()?;
    let table = sections.dynamic_table(endian, data).ok()?;
    let mut needs = Needs::default();
    for entry in &table {
        let text = || Some(table.string(entry).ok()?.to_vec());
        match entry.tag {
            elf::DT_NEEDED => needs.libraries.push(String::from_utf8(text()?).ok()?),
            elf::DT_RPATH | elf::DT_RUNPATH => {
                let origin = directory.as_os_str().as_bytes();
                let text = text()?;
                let paths = text.split(|byte| *byte == b':');
                needs.paths.extend(paths.map(|path| expanded(path, origin)));
            }
            _ => {}
        }
    }
    Some(needs)
}

/// Replaces `$ORIGIN` in a path by the directory of the file.
fn expanded(path: &[u8], origin: &[u8]) -> PathBuf {
    let words = [&b"$ORIGIN"[..], b"${ORIGIN}"];
    let rest = words.into_iter().find_map(|word| path.strip_prefix(word));
    let whole = rest.map_or(path.to_vec(), |rest| [origin, rest].concat());
    PathBuf::from(OsStr::from_bytes(&whole))
}

/// Finds the file of a library in the order of the system's loader, without its cache.
fn find(library: &str, paths: &[PathBuf], named: Option<&OsStr>) -> Option<PathBuf> {
    let named: Vec<PathBuf> =
        named.map_or(Vec::new(), |named| std::env::split_paths(named).collect());
    let special = |place: &str| Path::new(place).join(multiarch());
    let system = PLACES
        .iter()
        .flat_map(|place| [special(place), PathBuf::from(place)]);
    let places = paths.iter().chain(&named).cloned().chain(system);
    places
        .map(|place| place.join(library))
        .find(|file| file.is_file())
}

/// Returns Debian's directory for libraries of this architecture.
fn multiarch() -> String {
    format!("{}-linux-gnu", std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_libraries() {
        for name in [
            "libmpi.so.40",
            "libmpi.so",
            "libmpich.so.12",
            "libmpi_mpifh.so.40",
            "libmpi_cray.so.12",
            "libmpichfort.so.12",
        ] {
            assert!(is_foreign(name), "{name}");
        }
        for name in [
            "libmpi_abi.so.1",
            "libmpires.so.1",
            "libc.so.6",
            "libmpi4.so",
        ] {
            assert!(!is_foreign(name), "{name}");
        }
    }

    #[test]
    fn what_a_file_needs() {
        let own = needs_of(&std::env::current_exe().unwrap());
        assert!(own.libraries.iter().any(|name| name == "libc.so.6"));
        assert!(
            needs_of(Path::new("/proc/self/status"))
                .libraries
                .is_empty()
        );
        assert!(needs_of(Path::new("/no/such")).libraries.is_empty());
        assert_eq!(
            expanded(b"$ORIGIN/../lib", b"/a/b"),
            Path::new("/a/b/../lib")
        );
        assert_eq!(expanded(b"/c", b"/a/b"), Path::new("/c"));
    }
}
