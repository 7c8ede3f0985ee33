//! Static libraries for programs that are to be small: how Cargo builds them, what is taken out of them, and how programs
//! are linked with them. `size` measures just these; `configure`, `install` and `compiler` give them to users.

use crate::library::STATIC;
use object::{Object, ObjectSegment};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A package that is a static library.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    /// The file that Cargo makes of it.
    pub(crate) archive: &'static str,
}

/// The library whose features make compositions.
pub(crate) const ABI: Package = Package {
    name: "pombo-mpi-abi",
    archive: STATIC,
};
/// The smallest library, which has no features.
pub(crate) const BASIC: Package = Package {
    name: "pombo-basic-abi",
    archive: "libmpi_basic.a",
};
/// The profile of Cargo, and the name of its directory.
pub(crate) const PROFILE: &str = "small";

/// Options that link programs: a fixed address, and no padding between segments. With pages as short as the machine's
/// the linker begins the data at a page of the file.
const LINK: [&str; 2] = [
    "-no-pie",
    "-Wl,--gc-sections,--build-id=none,-z,norelro,-z,noseparate-code,-z,max-page-size=65536,-z,common-page-size=65536",
];

/// What makes Rust's linker leave out the table of sections. It leaves the table's room at the end of the file: see
/// [`cut_behind_segments`].
pub(crate) const NO_SECTION_HEADERS: &str = "-Wl,-z,nosectionheader";

/// How Rust compiles the library: for a fixed address, with functions as parts of others only where that shortens them, and
/// with comparisons where a table of addresses takes more room.
const CODE: [&str; 6] = [
    "-C",
    "relocation-model=static",
    "-C",
    "llvm-args=-inline-threshold=10",
    "-C",
    "llvm-args=-min-jump-table-entries=16",
];

/// Returns the options that link programs. Rust brings a linker along, which leaves out strings and constants that nobody
/// uses; the machine's keeps all of them. Without that one the program is 4 KB longer, the smallest 41. Beside words of the user
/// that may be for the machine's linker alone, that one links: see [`needs_linker_of_machine`].
pub(crate) fn link_options(words: &[&OsStr]) -> Vec<OsString> {
    let mut options: Vec<OsString> = LINK.map(OsString::from).into();
    if !words.iter().any(|word| needs_linker_of_machine(word))
        && let Some(linkers) = linkers_of_rust()
    {
        let mut directory = OsString::from("-B");
        directory.push(linkers);
        options.extend([
            directory,
            "-fuse-ld=lld".into(),
            "-Wl,--no-rosegment".into(),
        ]);
        // Without symbols nobody looks for sections either.
        if words.contains(&OsStr::new("-s")) {
            options.push(NO_SECTION_HEADERS.into());
        }
    }
    options
}

/// Cuts off what stands behind the last segment of a program without a table of sections; any other stays as it is.
pub(crate) fn cut_behind_segments(program: &Path) -> io::Result<()> {
    let bytes = fs::read(program)?;
    let file = object::File::parse(&*bytes).map_err(io::Error::other)?;
    let ends = file.segments().map(|segment| {
        let (at, length) = segment.file_range();
        at.saturating_add(length)
    });
    match ends.max() {
        Some(end) if file.sections().next().is_none() && end < bytes.len() as u64 => {
            fs::File::options().write(true).open(program)?.set_len(end)
        }
        _ => Ok(()),
    }
}

/// Returns whether a word chooses a linker, has options for one, or is for one that Rust's cannot stand for: it does not read
/// what GCC compiles for optimisation at link time, and gives static programs a loader where musl's compiler names one.
fn needs_linker_of_machine(word: &OsStr) -> bool {
    let choices: [&[u8]; 4] = [b"-flto", b"-fuse-ld", b"-Wl,", b"-Xlinker"];
    let word = word.as_encoded_bytes();
    word == b"-static" || choices.iter().any(|choice| word.starts_with(choice))
}

/// Returns the directory that holds the linker which Rust brings along, as compilers of C look for it.
fn linkers_of_rust() -> Option<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .stderr(Stdio::null())
        .output();
    let root = String::from_utf8(output.ok()?.stdout).ok()?;
    let targets = fs::read_dir(Path::new(root.trim_end()).join("lib/rustlib")).ok()?;
    let mut places = targets
        .flatten()
        .map(|target| target.path().join("bin/gcc-ld"));
    places.find(|place| place.join("ld.lld").is_file())
}

/// Returns the words behind `cargo` that build a library with these features, to be run in Pombo's sources.
pub(crate) fn cargo_words(package: &Package, features: &str, target: &str) -> Vec<String> {
    let mut words = vec!["rustc", "--profile", PROFILE, "-p", package.name, "--lib"];
    words.extend(["--crate-type", "staticlib", "--no-default-features"]);
    if !features.is_empty() {
        words.extend(["--features", features]);
    }
    words.extend(["--target-dir", target]);
    words.push("--");
    words.extend(CODE);
    words.into_iter().map(str::to_owned).collect()
}

/// Copies a static library so that each `MPI_X` in it gives way to a function of the program or of a profiling library,
/// as in the shared one: Rust makes no weak symbols yet. `with_tables` says whether the tables stay by which exceptions
/// pass through functions: none does in this library.
///
/// # Errors
/// The machine has no `objcopy`, which comes with the linker, or it fails.
pub(crate) fn weaken(from: &Path, to: &Path, with_tables: bool) -> io::Result<()> {
    let mut objcopy = Command::new("objcopy");
    objcopy.args(["--wildcard", "--weaken-symbol=MPI_*"]);
    if !with_tables {
        objcopy.args(["-R", ".eh_frame", "-R", ".rela.eh_frame"]);
    }
    let status = objcopy.arg(from).arg(to).stderr(Stdio::null()).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other("objcopy failed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_the_linker_of_the_machine_keep_it() {
        let is_linker = |word: &OsString| word.as_encoded_bytes().starts_with(b"-fuse-ld");
        for word in [
            "-static",
            "-flto=auto",
            "-fuse-ld=bfd",
            "-Wl,--stats",
            "-Xlinker",
        ] {
            let words = [OsStr::new("-O2"), OsStr::new(word)];
            assert!(!link_options(&words).iter().any(is_linker), "{word}");
        }
        assert!(!needs_linker_of_machine(OsStr::new("-O2")));
    }

    #[test]
    fn without_features_the_command_names_none() {
        let words = cargo_words(&ABI, "", "target/x").join(" ");
        assert!(!words.contains("--features"), "{words}");
        assert!(
            words.contains("--target-dir target/x -- -C relocation-model=static -C llvm-args=")
        );
        assert!(
            cargo_words(&ABI, "a,b", "x")
                .join(" ")
                .contains("--features a,b")
        );
    }
}
