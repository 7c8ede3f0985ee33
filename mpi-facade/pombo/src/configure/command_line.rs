//! The command line of a compiler that links: which files and libraries make the program, and which options its sources
//! are preprocessed with. `mod.rs` calls it for `mpicc --minimal`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::objects;

/// Options whose argument is the next word.
const WITH_ARGUMENT: [&str; 21] = [
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
    "-Xpreprocessor",
    "-Xassembler",
    "-arch",
];
/// Such options that name what the compilation writes.
const OF_OUTPUT: [&str; 4] = ["-o", "-MF", "-MT", "-MQ"];

/// What makes a program.
#[derive(Default, Debug)]
pub(super) struct Line {
    pub(super) files: Vec<PathBuf>,
    /// The libraries of `-lNAME`, as they may use MPI.
    pub(super) libraries: Vec<PathBuf>,
    pub(super) options: Vec<OsString>,
}

/// Reads a command line. Words without a dash are files, whatever they are; among those for the linker (`-Wl,`,
/// `-Xlinker`) only compiled ones, as others are arguments of its options. `in_system` finds a file in the directories that
/// the compiler searches beside those of `-L`.
pub(super) fn split(words: &[&OsStr], in_system: &dyn Fn(&str) -> Option<PathBuf>) -> Line {
    let (mut files, mut options) = (Vec::new(), Vec::new());
    let mut for_linker = Vec::new();
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if OF_OUTPUT.contains(&&*text) {
            words.next();
        } else if text == "-Xlinker" {
            for_linker.extend(words.next().map(OsStr::to_owned));
        } else if let Some(list) = text.strip_prefix("-Wl,") {
            for_linker.extend(list.split(',').map(OsString::from));
        } else if WITH_ARGUMENT.contains(&&*text) {
            options.push(word.to_owned());
            options.extend(words.next().map(OsStr::to_owned));
        } else if text == "-" || !text.starts_with('-') {
            files.push(PathBuf::from(word));
        } else if !text.starts_with("-o") && !text.starts_with("-M") {
            options.push(word.to_owned());
        }
    }
    files.extend(
        for_linker
            .iter()
            .map(PathBuf::from)
            .filter(|file| is_compiled(file)),
    );
    let known = [&options[..], &for_linker].concat();
    Line {
        files,
        libraries: libraries(&known, in_system),
        options,
    }
}

fn libraries(options: &[OsString], in_system: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let directories = arguments(options, "-L");
    let find = |name: String| {
        let files = match name.strip_prefix(':') {
            Some(file) => vec![file.to_owned()],
            None => ["so", "a"].map(|kind| format!("lib{name}.{kind}")).into(),
        };
        let places = directories.iter().flat_map(|directory| {
            let place = |file| Path::new(directory).join(file);
            files.iter().map(place)
        });
        let mut named = places.filter(|place| is_compiled(place));
        let found = named.next();
        // The first that is there counts. A script of the linker names libraries of the system, which do not use MPI.
        let system = || files.iter().find_map(|file| in_system(file));
        found.or_else(|| system().filter(|file| is_compiled(file)))
    };
    arguments(options, "-l")
        .into_iter()
        .filter_map(find)
        .collect()
}

fn is_compiled(file: &Path) -> bool {
    std::fs::read(file).is_ok_and(|data| objects::is_compiled(&data))
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

    /// This program itself stands for a compiled file.
    #[test]
    fn files_of_the_linker() {
        let own = std::env::current_exe().expect("it runs");
        let file = own.to_str().expect("a name");
        let line = format!("-Wl,-rpath,/nowhere,{file} -Xlinker {file} -Wl,-lone -ltwo -l:three.a");
        let words: Vec<&OsStr> = line.split(' ').map(OsStr::new).collect();
        let found = split(&words, &|name| {
            ["libone.so", "libtwo.a", "three.a"]
                .contains(&name)
                .then(|| own.clone())
        });
        assert_eq!(found.files, [own.clone(), own.clone()]);
        assert_eq!(found.libraries, [own.clone(), own.clone(), own]);
        let none = split(&words[2..], &|_| Some(PathBuf::from("/nowhere")));
        assert_eq!(none.libraries, [] as [PathBuf; 0]);
    }

    #[test]
    fn files_and_options() {
        let line = "-O2 -I inc -DN=1 a.c -o prog b.o -MD -MF a.d -L. -l m -lpthread -Wl,-O1 -";
        let words: Vec<&OsStr> = line.split(' ').map(OsStr::new).collect();
        let Line { files, options, .. } = split(&words, &|_| None);
        assert_eq!(files, ["a.c", "b.o", "-"].map(PathBuf::from));
        assert_eq!(
            options,
            ["-O2", "-I", "inc", "-DN=1", "-L.", "-l", "m", "-lpthread"]
        );
        assert_eq!(arguments(&options, "-l"), ["m", "pthread"]);
    }
}
