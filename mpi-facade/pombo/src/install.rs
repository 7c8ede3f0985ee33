//! `pombo install`: creates a prefix with every file that build systems look for. `compiler` and `demo` use `private`
//! if the launcher is not installed.

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::compiler::quoted;
use crate::console::tell;
use crate::error::Error;
use crate::helper::{self, HELPER};
use crate::library::{
    self, COMPOSITIONS, LIBRARY_VERSION, Library, Prefix, SHARED, SONAME, STATIC, holds,
};
use crate::mpi_names::{HEADER, header_of_names};
use crate::small_library;

/// The launcher's name in `bin`.
const LAUNCHER: &str = "pombo";
/// Links to the launcher.
const LINKS: [&str; 8] = [
    "mpirun", "mpiexec", "mpicc", "mpicxx", "mpic++", "mpifort", "mpif90", "mpif77",
];
/// Files of pkg-config: Pombo's own, and those under which build systems look for any MPI.
const PKG_CONFIG_FILES: [&str; 4] = ["pombo", "mpi", "mpi-c", "mpi-cxx"];

/// Installs everything under `prefix`; it replaces files of another MPI library only if `force` is set. Every file is
/// replaced by a rename, so a running program or a compiler never sees an incomplete file.
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
    for name in PKG_CONFIG_FILES {
        let file = pkgconfig.join(format!("{name}.pc"));
        write(pkg_config(name, &prefix).as_bytes(), &file)?;
    }
    tell(&format!(
        "installed in {}; next:\n  export PATH={}:$PATH\n  mpicc -o program program.c && mpirun -n 4 ./program{helper}",
        prefix.display(),
        quoted(bin.as_os_str())
    ));
    Ok(0)
}

/// Copies the helper and returns a message about its capability. A new file has none of the capabilities that an
/// administrator gave to the old one.
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

/// Returns the files that an installation would replace and that no installation of Pombo made.
fn foreign(prefix: &Path) -> Vec<PathBuf> {
    let links = LINKS.map(|name| prefix.join("bin").join(name)).into_iter();
    let links = links.filter(|path| !is_link_to_launcher(path));
    let marked = [
        (prefix.join("include/mpi.h"), HEADER_MARK),
        (prefix.join("lib").join(SONAME), LIBRARY_MARK),
        (prefix.join("lib").join(SHARED), LIBRARY_MARK),
        (prefix.join("lib").join(STATIC), LIBRARY_MARK),
    ];
    let settings = PKG_CONFIG_FILES.map(|name| {
        let file = prefix.join(format!("lib/pkgconfig/{name}.pc"));
        (file, PKG_CONFIG_MARK)
    });
    let marked = marked.into_iter().chain(settings);
    let marked = marked.filter(|(path, mark)| !holds(path, mark));
    let there = links.chain(marked.map(|(path, _)| path));
    there
        .filter(|path| path.symlink_metadata().is_ok())
        .collect()
}

/// Text in every header of Pombo.
const HEADER_MARK: &str = "POMBO_MPI_H";
/// Text in every file of pkg-config.
const PKG_CONFIG_MARK: &str = "Description: MPI standard ABI on the Pombo communication kernel";
/// Text in every library of Pombo, which reads this variable.
const LIBRARY_MARK: &str = pombo_job::settings::RANK.name();

fn is_link_to_launcher(path: &Path) -> bool {
    fs::read_link(path).is_ok_and(|target| target.file_name() == Some(LAUNCHER.as_ref()))
}

/// Returns whether a file is a library of Pombo.
pub(crate) fn is_library(file: &Path) -> bool {
    holds(file, LIBRARY_MARK)
}

/// Returns the prefix that this launcher belongs to. A launcher that was built and not installed has a small prefix
/// beside it, which is created on demand.
pub(crate) fn own() -> Result<Prefix, Error> {
    let library = library::find()?;
    match installed(&library) {
        Some(prefix) => Ok(prefix),
        None => private(&library),
    }
}

/// Returns the prefix around a library if it has the header too.
pub(crate) fn installed(library: &Library) -> Option<Prefix> {
    let lib = library.directory.clone();
    let include = lib.parent()?.join("include");
    let is_whole = lib.ends_with("lib") && include.join("mpi.h").is_file();
    is_whole.then_some(Prefix { include, lib })
}

/// Creates links to the library (never stale) and the header. A library that `POMBO_LIB` names gets a directory of its
/// own; otherwise programs that were built before would load it.
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
    Ok(Prefix::at(&prefix))
}

/// Returns a number that is the same for the same path.
fn number_of(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

fn header(prefix: &Path) -> Result<(), Error> {
    let prefix = Prefix::at(prefix);
    make_directory(&prefix.include)?;
    write(HEADER.as_bytes(), &prefix.include.join("mpi.h"))?;
    make_directory(&prefix.names())?;
    write(header_of_names().as_bytes(), &prefix.names().join("mpi.h"))
}

fn libraries(
    prefix: &Path,
    library: &Library,
    put: fn(&Path, &Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let prefix = Prefix::at(prefix);
    let lib = &prefix.lib;
    make_directory(lib)?;
    if let Some(shared) = &library.shared {
        put(shared, &lib.join(SONAME))?;
        link(Path::new(SONAME), &lib.join(SHARED))?;
    }
    if let Some(archive) = &library.archive {
        let to = lib.join(STATIC);
        put_archive(archive, &to, true, put)?;
    }
    for (name, archive) in &library.compositions {
        make_directory(&lib.join(COMPOSITIONS).join(name))?;
        put_archive(archive, &prefix.composition(name), false, put)?;
    }
    remove_earlier(&lib.join(COMPOSITIONS), &library.compositions);
    Ok(())
}

/// Removes the libraries of compositions of another version: they would be linked beside this header and started by this
/// launcher. It is best effort, as `configure` refuses another version by name. Those that were put are not read: each start
/// of a job would read all of them.
fn remove_earlier(directory: &Path, put: &[(OsString, PathBuf)]) {
    for entry in directory.read_dir().into_iter().flatten().flatten() {
        if put.iter().any(|(name, _)| *name == entry.file_name()) {
            continue;
        }
        let archive = entry.path().join(STATIC);
        if !holds(&archive, LIBRARY_VERSION) {
            let _ = fs::remove_file(archive);
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn put_archive(
    archive: &Path,
    to: &Path,
    with_tables: bool,
    put: fn(&Path, &Path) -> Result<(), Error>,
) -> Result<(), Error> {
    match weaken(archive, to, with_tables) {
        true => Ok(()),
        false => put(archive, to),
    }
}

/// Puts a static library whose functions give way to those of programs: see [`small_library::weaken`]. Returns false if
/// this machine has no `objcopy`; then functions cannot be replaced in programs that are linked statically.
fn weaken(from: &Path, to: &Path, with_tables: bool) -> bool {
    let age = |path: &Path| {
        path.symlink_metadata()
            .and_then(|data| data.modified())
            .ok()
    };
    if !to.is_symlink() && (is_same_file(from, to) || age(to) > age(from)) {
        return true;
    }
    replace(to, |new| small_library::weaken(from, new, with_tables)).is_ok()
}

/// Returns the text of a file for pkg-config. It stays valid if the prefix moves, unless the path has a comma.
fn pkg_config(name: &str, prefix: &Path) -> String {
    let text = PKG_CONFIG.replace("Name: pombo", &format!("Name: {name}"));
    // Whoever asks for any MPI asks for a version of the standard.
    let text = match name {
        "pombo" => text,
        _ => text.replace(env!("CARGO_PKG_VERSION"), "5.0"),
    };
    match prefix.as_os_str().as_bytes().contains(&b',') {
        true => text.replace("-Wl,-rpath,", "-Wl,-rpath -Xlinker "),
        false => text,
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

/// Writes a file unless it has this content already: compilers check modification times.
fn write(text: &[u8], to: &Path) -> Result<(), Error> {
    if fs::read(to).is_ok_and(|old| old == text) {
        return Ok(());
    }
    replace(to, |new| fs::write(new, text))
}

/// Copies a file unless the destination has the same content: a new file would lose the capabilities that an
/// administrator gave to the old one.
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
            // Removal is best effort: the first error is the one to report.
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

/// Returns whether two paths, possibly of different names, denote the same file.
pub(crate) fn is_same_file(one: &Path, two: &Path) -> bool {
    match (one.canonicalize(), two.canonicalize()) {
        (Ok(one), Ok(two)) => one == two,
        _ => false,
    }
}
