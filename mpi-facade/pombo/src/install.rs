//! `pombo install`: a prefix with everything that other build systems look for. `compiler` and
//! `demo` use `private` when the launcher was not installed.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::compiler::quoted;
use crate::console::tell;
use crate::error::Error;
use crate::helper::{self, HELPER};
use crate::library::{self, Library, SHARED, SONAME, STATIC};

/// The header that programs are compiled with.
const HEADER: &str = include_str!("../../abi/include/mpi.h");
/// The launcher's own name in `bin`.
const LAUNCHER: &str = "pombo";
/// Its other names.
const LINKS: [&str; 5] = ["mpirun", "mpiexec", "mpicc", "mpicxx", "mpic++"];

/// Directories to compile and link with.
pub(crate) struct Prefix {
    pub(crate) include: PathBuf,
    pub(crate) lib: PathBuf,
}

/// Lays everything down under `prefix`; what another MPI library has there is replaced only if `force` says so. Files
/// are replaced in one step: a program that is running or being compiled never sees half of one.
pub(crate) fn main(prefix: &Path, force: bool) -> Result<u8, Error> {
    let library = library::find()?;
    let is_path = |path: &Path| !path.as_os_str().as_bytes().contains(&b':');
    let absolute = std::path::absolute(prefix).map_err(Error::file("find", prefix))?;
    if !is_path(&absolute) {
        return Err(Error::Value {
            what: "--prefix",
            given: absolute.to_string_lossy().into_owned(),
            want: "a directory without ':' in its path, which ends a name in PATH and for the loader",
        });
    }
    let foreign = if force {
        Vec::new()
    } else {
        foreign(&absolute)
    };
    if !foreign.is_empty() {
        return Err(Error::ForeignFiles { files: foreign });
    }
    make_directory(prefix)?;
    let prefix = prefix.canonicalize().map_err(Error::file("open", prefix))?;
    let bin = prefix.join("bin");
    make_directory(&bin)?;
    let launcher = library::executable()?;
    copy(&launcher, &bin.join(LAUNCHER))?;
    let helper = match helper::find()? {
        Some(helper) => install_helper(&helper, &bin.join(HELPER))?,
        None => format!(
            "\nwithout {HELPER}, which raw Ethernet needs: `cargo build --release` makes it"
        ),
    };
    for name in LINKS {
        link(Path::new(LAUNCHER), &bin.join(name))?;
    }
    header(&prefix)?;
    libraries(&prefix, &library, copy)?;
    let pkgconfig = prefix.join("lib/pkgconfig");
    make_directory(&pkgconfig)?;
    write(pkg_config(&prefix).as_bytes(), &pkgconfig.join("pombo.pc"))?;
    tell(&format!(
        "installed in {}; next:\n  export PATH={}:$PATH\n  mpicc -o program program.c && mpirun -n 4 ./program{helper}",
        prefix.display(),
        quoted(bin.as_os_str())
    ));
    Ok(0)
}

/// Copies the helper and answers with what is to be said of it. A new file has none of the rights that an administrator
/// gave to the old one.
fn install_helper(from: &Path, to: &Path) -> Result<String, Error> {
    let is_new = to.is_file() && !is_same_file(from, to) && !has_same_content(from, to);
    copy(from, to)?;
    Ok(match is_new {
        true => format!(
            "\n{} has changed: if it had the right to raw Ethernet, run `pombo setup` of this prefix again",
            to.display()
        ),
        false => String::new(),
    })
}

/// What an installation would replace and no other of ours has laid down.
fn foreign(prefix: &Path) -> Vec<PathBuf> {
    let links = LINKS.map(|name| prefix.join("bin").join(name)).into_iter();
    let links = links.filter(|path| !is_link_to_launcher(path));
    let marked = [
        (prefix.join("include/mpi.h"), HEADER_MARK),
        (prefix.join("lib").join(SONAME), LIBRARY_MARK),
        (prefix.join("lib").join(SHARED), LIBRARY_MARK),
        (prefix.join("lib").join(STATIC), LIBRARY_MARK),
    ];
    let marked = marked.into_iter().filter(|(path, mark)| !holds(path, mark));
    let there = links.chain(marked.map(|(path, _)| path));
    there
        .filter(|path| path.symlink_metadata().is_ok())
        .collect()
}

/// In every header of ours.
const HEADER_MARK: &str = "POMBO_MPI_H";
/// In every library of ours: it asks for the variable.
const LIBRARY_MARK: &str = pombo_job::settings::RANK.name();

fn is_link_to_launcher(path: &Path) -> bool {
    fs::read_link(path).is_ok_and(|target| target.file_name() == Some(LAUNCHER.as_ref()))
}

/// Nobody misses a link that leads nowhere.
fn holds(path: &Path, mark: &str) -> bool {
    match fs::read(path) {
        Ok(text) => text.windows(mark.len()).any(|part| part == mark.as_bytes()),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// The prefix that this launcher belongs to; for one that was built and not installed, a small
/// one of its own beside it, made when first needed.
pub(crate) fn own() -> Result<Prefix, Error> {
    let library = library::find()?;
    match installed(&library) {
        Some(prefix) => Ok(prefix),
        None => private(&library),
    }
}

/// The prefix around a library, if it has the header too.
pub(crate) fn installed(library: &Library) -> Option<Prefix> {
    let lib = library.directory.clone();
    let include = lib.parent()?.join("include");
    let is_whole = lib.ends_with("lib") && include.join("mpi.h").is_file();
    is_whole.then_some(Prefix { include, lib })
}

/// Links to the library (never stale) and the header. A library that `POMBO_LIB` names gets a
/// place of its own, or programs built before would find it there.
fn private(library: &Library) -> Result<Prefix, Error> {
    let executable = library::executable()?;
    let is_ours = library.directory.parent() == executable.parent()
        || Some(&*library.directory) == executable.parent();
    let name = match is_ours {
        true => "pombo-prefix".to_owned(),
        false => format!("pombo-prefix-{:016x}", number_of(&library.directory)),
    };
    let prefix = executable.with_file_name(name);
    header(&prefix)?;
    libraries(&prefix, library, link)?;
    Ok(Prefix {
        include: prefix.join("include"),
        lib: prefix.join("lib"),
    })
}

/// The same for the same path.
fn number_of(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

fn header(prefix: &Path) -> Result<(), Error> {
    let include = prefix.join("include");
    make_directory(&include)?;
    write(HEADER.as_bytes(), &include.join("mpi.h"))
}

fn libraries(
    prefix: &Path,
    library: &Library,
    put: fn(&Path, &Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let lib = prefix.join("lib");
    make_directory(&lib)?;
    if let Some(shared) = &library.shared {
        put(shared, &lib.join(SONAME))?;
        link(Path::new(SONAME), &lib.join(SHARED))?;
    }
    if let Some(archive) = &library.archive {
        put(archive, &lib.join(STATIC))?;
    }
    Ok(())
}

/// It holds wherever the prefix is moved to, but for a comma.
fn pkg_config(prefix: &Path) -> String {
    match prefix.as_os_str().as_bytes().contains(&b',') {
        true => PKG_CONFIG.replace("-Wl,-rpath,", "-Wl,-rpath -Xlinker "),
        false => PKG_CONFIG.to_owned(),
    }
}

const PKG_CONFIG: &str = concat!(
    "prefix=${pcfiledir}/../..\n",
    "includedir=${prefix}/include\n",
    "libdir=${prefix}/lib\n",
    "\n",
    "Name: pombo\n",
    "Description: MPI standard ABI on the Pombo communication kernel\n",
    "Version: ",
    env!("CARGO_PKG_VERSION"),
    "\n",
    "Cflags: -I${includedir}\n",
    "Libs: -L${libdir} -Wl,-rpath,${libdir} -lmpi_abi\n",
);

fn make_directory(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(Error::file("make directory", path))
}

/// Left alone if it already reads so: compilers look at times.
fn write(text: &[u8], to: &Path) -> Result<(), Error> {
    if fs::read(to).is_ok_and(|old| old == text) {
        return Ok(());
    }
    replace(to, |new| fs::write(new, text))
}

/// Left alone if it already holds the same: a new file would have none of the rights that an administrator gave to it.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if is_same_file(from, to) || !to.is_symlink() && has_same_content(from, to) {
        return Ok(());
    }
    replace(to, |new| fs::copy(from, new).map(drop))
}

fn link(target: &Path, to: &Path) -> Result<(), Error> {
    if fs::read_link(to).is_ok_and(|old| old == target) {
        return Ok(());
    }
    replace(to, |new| symlink(target, new))
}

/// Makes the file under another name in the same directory and renames it.
fn replace(to: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), Error> {
    let mut name = to.as_os_str().to_owned();
    name.push(format!(".new{}", std::process::id()));
    let new = PathBuf::from(name);
    make(&new)
        .and_then(|()| fs::rename(&new, to))
        .map_err(|error| {
            // Best effort: the error that counts is the first.
            let _ = fs::remove_file(&new);
            Error::file("write", to)(error)
        })
}

fn has_same_content(one: &Path, two: &Path) -> bool {
    let size = |path: &Path| path.metadata().map(|data| data.len()).ok();
    size(one).is_some()
        && size(one) == size(two)
        && matches!((fs::read(one), fs::read(two)), (Ok(one), Ok(two)) if one == two)
}

/// Also by different names.
pub(crate) fn is_same_file(one: &Path, two: &Path) -> bool {
    match (one.canonicalize(), two.canonicalize()) {
        (Ok(one), Ok(two)) => one == two,
        _ => false,
    }
}
