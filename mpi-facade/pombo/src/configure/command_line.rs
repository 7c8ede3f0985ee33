//! The command line of a compiler that links: which files make the program, and which options its sources are
//! preprocessed with. `mod.rs` calls it for `mpicc --minimal`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::objects;

/// Options whose argument is the next word.
const WITH_ARGUMENT: [&str; 22] = [
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-T",
    "-z",
    "-u",
    "-x",
    "-e",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "--sysroot",
    "--param",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-arch",
];
/// Such options that name what the compilation writes.
const OF_OUTPUT: [&str; 4] = ["-o", "-MF", "-MT", "-MQ"];

/// Returns files and options. Words without a dash are files, whatever they are; so are the libraries of `-lNAME` in
/// the directories of `-L`, as they may use MPI.
pub(super) fn split(words: &[&OsStr]) -> (Vec<PathBuf>, Vec<OsString>) {
    let (mut files, mut options) = (Vec::new(), Vec::new());
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if OF_OUTPUT.contains(&&*text) {
            words.next();
        } else if WITH_ARGUMENT.contains(&&*text) {
            options.push(word.to_owned());
            options.extend(words.next().map(OsStr::to_owned));
        } else if text == "-" || !text.starts_with('-') {
            files.push(PathBuf::from(word));
        } else if !text.starts_with("-o") && !text.starts_with("-M") {
            options.push(word.to_owned());
        }
    }
    files.extend(libraries(&options));
    (files, options)
}

fn libraries(options: &[OsString]) -> Vec<PathBuf> {
    let directories = arguments(options, "-L");
    let find = |name: String| {
        let files = ["so", "a"].map(|kind| format!("lib{name}.{kind}"));
        let places = directories.iter().flat_map(|directory| {
            let place = |file| Path::new(directory).join(file);
            files.each_ref().map(place)
        });
        // A script of the linker names libraries of the system, which do not use MPI.
        places
            .into_iter()
            .find(|place| std::fs::read(place).is_ok_and(|data| objects::is_compiled(&data)))
    };
    arguments(options, "-l")
        .into_iter()
        .filter_map(find)
        .collect()
}

/// Returns the arguments of all options of a letter, in the same word or in the next.
fn arguments(options: &[OsString], letter: &str) -> Vec<String> {
    let mut words = options.iter().map(|word| word.to_string_lossy());
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix(letter) {
            Some("") => found.extend(words.next().map(String::from)),
            Some(rest) => found.push(rest.to_owned()),
            None => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_options() {
        let line = "-O2 -I inc -DN=1 a.c -o prog b.o -MD -MF a.d -L. -l m -lpthread -Wl,-O1 -";
        let words: Vec<&OsStr> = line.split(' ').map(OsStr::new).collect();
        let (files, options) = split(&words);
        assert_eq!(files, ["a.c", "b.o", "-"].map(PathBuf::from));
        assert_eq!(
            options,
            [
                "-O2",
                "-I",
                "inc",
                "-DN=1",
                "-L.",
                "-l",
                "m",
                "-lpthread",
                "-Wl,-O1"
            ]
        );
        assert_eq!(arguments(&options, "-l"), ["m", "pthread"]);
    }
}
