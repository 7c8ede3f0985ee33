//! `mpicc` and `mpicxx`: the machine's compiler with the header and library added. `main` dispatches to it, `demo`
//! compiles with it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::configure::{self, Told};
use crate::console::tell;
use crate::error::Error;
use crate::install;
use crate::library::{Prefix, STATIC};
use crate::small_library::{self, NO_SECTION_HEADERS, cut_behind_segments};
use crate::toolchain::{self, Language};
use crate::version::VERSION;

/// What the wrapper was asked to print instead of compiling: lines with the compiler in front, as MPICH's wrappers, or
/// parts of them, as Open MPI's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Show {
    All,
    Compile,
    Link,
    CompileOptions,
    LinkOptions,
    Command,
    IncludeDirectories,
    LibraryDirectories,
    Libraries,
    Version,
}

impl Show {
    /// Returns the meaning of an option, as users of MPICH, Open MPI and the macros of build systems write it.
    fn parse(option: &str) -> Option<Show> {
        let name = option.strip_prefix('-')?;
        Some(match name.strip_prefix('-').unwrap_or(name) {
            "show" | "showme" => Show::All,
            "compile_info" | "compile-info" => Show::Compile,
            "link_info" | "link-info" => Show::Link,
            "showme:compile" => Show::CompileOptions,
            "showme:link" => Show::LinkOptions,
            "showme:command" => Show::Command,
            "showme:incdirs" => Show::IncludeDirectories,
            "showme:libdirs" => Show::LibraryDirectories,
            "showme:libs" => Show::Libraries,
            "showme:version" => Show::Version,
            _ => return None,
        })
    }

    /// Returns whether the include directory belongs to it.
    fn compiles(self) -> bool {
        matches!(self, Show::All | Show::Compile | Show::CompileOptions)
    }

    /// Returns whether the library belongs to it; `None` if that depends on the compiler's options.
    fn links(self) -> Option<bool> {
        match self {
            Show::All => None,
            _ => Some(matches!(self, Show::Link | Show::LinkOptions)),
        }
    }
}

const HELP: &str = "\
The C or C++ compiler of this machine, with the MPI header and library added.

Usage: mpicc [OPTIONS] [COMPILER OPTIONS AND FILES]

Options:
  -show, -showme   Print the plain compiler line and stop
  -compile_info    Print the line that compiles and stop
  -link_info       Print the line that links and stop
  -showme:compile  Print the options that compile; also -showme:incdirs, the directories alone
  -showme:link     Print the options that link; also -showme:libdirs, -showme:libs, the names alone
  -showme:command  Print the compiler; -showme:version: the version of Pombo
  -cc=COMPILER     Compiler to use (mpicxx: -cxx=COMPILER); also POMBO_CC, POMBO_CXX
  -static-mpi      Put the MPI library into the program; unused parts are left out
  --minimal        The same with the library for the composition that the program needs, as `pombo configure` finds it
                   in the sources, objects and libraries that are linked; --minimal=hosts,diagnostics for ranks on
                   several hosts, and for errors in sentences; --minimal=longest=BYTES if no message is longer
Everything else goes to the compiler. The library is added unless -c, -S, -E or -M is given.";

/// The wrapper's own options, separated from the command line, and the remaining words.
struct CompileRequest<'a> {
    show: Option<Show>,
    archive: bool,
    minimal: Option<&'a str>,
    compiler: Option<String>,
    links: bool,
    help: bool,
    rest: Vec<&'a OsStr>,
}

/// Replaces this process by the compiler, unless the program that it makes is shortened behind it.
pub(crate) fn main(language: Language, arguments: &[OsString]) -> Result<u8, Error> {
    let request = read(arguments);
    if request.help {
        tell(HELP);
        return Ok(0);
    }
    if request.rest.is_empty() && request.show.is_none() {
        return Err(Error::NoSource);
    }
    if request.show == Some(Show::Version) {
        let (name, language) = language.names();
        tell(&format!("{name}: {VERSION} (Language: {language})"));
        return Ok(0);
    }
    let line = line(language, &request)?;
    if request.show.is_some() {
        let words: Vec<String> = line.iter().map(|word| quoted(word)).collect();
        tell(&words.join(" "));
        return Ok(0);
    }
    let mut compiler = Command::new(&line[0]);
    compiler.args(&line[1..]);
    let failed = Error::file("run compiler", &line[0]);
    if !line.iter().any(|word| word == NO_SECTION_HEADERS) {
        return Err(failed(compiler.exec()));
    }
    let status = compiler.status().map_err(failed)?;
    if status.success() {
        let program = output(&request.rest);
        cut_behind_segments(&program).map_err(Error::file("shorten", &program))?;
    }
    // As a shell tells it.
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    Ok(code.and_then(|code| code.try_into().ok()).unwrap_or(1))
}

/// Returns the program that compilers make for these words: behind the last -o, or in the same word.
fn output(words: &[&OsStr]) -> PathBuf {
    let named = words.iter().enumerate().rev().find_map(|(at, word)| {
        match word.as_bytes().strip_prefix(b"-o")? {
            [] => words.get(at + 1).copied(),
            name => Some(OsStr::from_bytes(name)),
        }
    });
    named.unwrap_or(OsStr::new("a.out")).into()
}

/// Compiles one C program for `demo` or `bench`, with this option of all compilers, such as -O2.
pub(crate) fn compile(source: &Path, program: &Path, optimised: &str) -> Result<(), Error> {
    let arguments = one_program(source, program, &[optimised.into()]);
    run(&line(Language::C, &read(&arguments))?, source)
}

/// Compiles one C program that uses no MPI, with these options.
pub(crate) fn compile_plain(
    source: &Path,
    program: &Path,
    options: &[OsString],
) -> Result<(), Error> {
    let arguments = one_program(source, program, options);
    let mut line = compiler(Language::C, &read(&arguments))?;
    line.extend(arguments);
    run(&line, source)
}

/// Links one program of the files and with the options given, in their order; without the library.
pub(crate) fn compile_files(program: &Path, options: &[OsString]) -> Result<(), Error> {
    let mut line = compiler(Language::C, &read(options))?;
    line.extend(options.iter().cloned());
    line.extend(["-o".into(), program.into()]);
    run(&line, program)
}

fn one_program(source: &Path, program: &Path, options: &[OsString]) -> Vec<OsString> {
    let files = ["-o".into(), program.into(), source.into(), "-lm".into()];
    [options, &files].concat()
}

fn run(line: &[OsString], source: &Path) -> Result<(), Error> {
    let status = Command::new(&line[0])
        .args(&line[1..])
        .status()
        .map_err(Error::file("run compiler", &line[0]))?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::Compile {
            program: source.to_owned(),
        }),
    }
}

fn read(arguments: &[OsString]) -> CompileRequest<'_> {
    let mut request = CompileRequest {
        show: None,
        archive: false,
        minimal: None,
        compiler: None,
        links: true,
        help: false,
        rest: Vec::new(),
    };
    for word in arguments {
        match word.to_str().unwrap_or_default() {
            text if Show::parse(text).is_some() => request.show = Show::parse(text),
            "-static-mpi" | "--static-mpi" => request.archive = true,
            text if text.starts_with('-') && minimal(text).is_some() => {
                request.minimal = minimal(text)
            }
            "-help" | "--help" | "-h" | "-showme:help" if arguments.len() == 1 => {
                request.help = true
            }
            text => {
                let named = ["-cc=", "-CC=", "-cxx="]
                    .iter()
                    .find_map(|name| text.strip_prefix(name));
                match named {
                    Some(compiler) => request.compiler = Some(compiler.to_owned()),
                    None => request.rest.push(word),
                }
                request.links &=
                    !matches!(text, "-c" | "-S" | "-E" | "-M" | "-MM" | "-fsyntax-only");
            }
        }
    }
    // `mpicc -v` asks the compiler for its version.
    let asks = [
        "-v",
        "-V",
        "--version",
        "-dumpversion",
        "-dumpmachine",
        "-print-search-dirs",
    ];
    let only_asks = |word: &&OsStr| word.to_str().is_some_and(|word| asks.contains(&word));
    request.links &= request.rest.is_empty() || !request.rest.iter().all(only_asks);
    request
}

/// Returns the words of `--minimal` and `--minimal=WORDS`.
fn minimal(option: &str) -> Option<&str> {
    match option.trim_start_matches('-').strip_prefix("minimal")? {
        "" => Some(""),
        words => words.strip_prefix('='),
    }
}

/// Reads the words of `--minimal`, which are options of `pombo configure`.
fn told(words: &str) -> Result<Told, Error> {
    let mut told = Told::default();
    for word in words.split(',').filter(|word| !word.is_empty()) {
        match word {
            "hosts" => told.hosts = true,
            "diagnostics" => told.diagnostics = true,
            _ => {
                let longest = word.strip_prefix("longest=");
                let bytes = longest.and_then(|bytes| bytes.parse().ok());
                told.longest = Some(bytes.ok_or_else(|| Error::Value {
                    what: "--minimal",
                    given: word.to_owned(),
                    want: "hosts, diagnostics, longest=BYTES, several with commas between, or nothing",
                })?);
            }
        }
    }
    Ok(told)
}

/// Returns the command line of a plain compilation, or the part of it that is to be shown.
fn line(language: Language, request: &CompileRequest<'_>) -> Result<Vec<OsString>, Error> {
    let prefix = install::own()?;
    let mut line = match request.show {
        Some(Show::CompileOptions | Show::LinkOptions) => Vec::new(),
        Some(Show::IncludeDirectories) => return Ok(vec![prefix.include.into()]),
        Some(Show::LibraryDirectories) => return Ok(vec![prefix.lib.into()]),
        Some(Show::Libraries) => return Ok(vec![LIBRARY.into()]),
        _ => compiler(language, request)?,
    };
    if request.show == Some(Show::Command) {
        return Ok(line);
    }
    line.extend(request.rest.iter().map(|&word| word.to_owned()));
    if request.show.is_none_or(Show::compiles) {
        line.push(joined("-I", &prefix.include));
    }
    let links = request.show.map_or(Some(request.links), Show::links);
    if links.unwrap_or(request.links) {
        // Without files nobody knows the composition: build systems ask so.
        let shows_program = request.show.is_none_or(|show| show == Show::All);
        let minimal = request.minimal.filter(|_| shows_program);
        line.extend(match minimal {
            Some(words) => small(language, request, &told(words)?, &prefix)?,
            None => libraries(&prefix, request.archive || request.minimal.is_some()),
        });
    }
    Ok(line)
}

/// The library's name, as the linker gets it.
const LIBRARY: &str = "mpi_abi";

fn libraries(prefix: &Prefix, archive: bool) -> Vec<OsString> {
    match archive {
        true => inside(&prefix.lib.join(STATIC)),
        false => [
            vec![joined("-L", &prefix.lib)],
            run_path(&prefix.lib),
            vec![format!("-l{LIBRARY}").into()],
        ]
        .concat(),
    }
}

/// Returns the options that put no more of the library into the program than it needs, as `pombo size` measures.
fn small(
    language: Language,
    request: &CompileRequest<'_>,
    told: &Told,
    prefix: &Prefix,
) -> Result<Vec<OsString>, Error> {
    let moves = ["-shared", "-pie", "-static-pie"];
    let moved = request.rest.iter().filter_map(|word| word.to_str());
    if let Some(word) = { moved }.find(|word| moves.contains(word)) {
        return Err(Error::Value {
            what: "an option beside --minimal",
            given: word.to_owned(),
            want: "none of -shared, -pie, -static-pie: its programs stand at a fixed address; -static-mpi goes with them",
        });
    }
    let compiler = compiler(language, request)?;
    let archive = configure::library(&request.rest, &compiler, told, prefix)?;
    let mut options = small_library::link_options(&request.rest);
    // Exceptions of C++ need the tables of the program's own functions.
    options.extend((language == Language::C).then(|| "-fno-asynchronous-unwind-tables".into()));
    options.push(archive.into());
    Ok(options)
}

/// Returns the options that put a static library into the program.
fn inside(archive: &Path) -> Vec<OsString> {
    vec!["-Wl,--gc-sections".into(), archive.into()]
}

/// Returns the options that set the run path. Build systems know the first form; a comma would split it.
fn run_path(lib: &Path) -> Vec<OsString> {
    match lib.as_os_str().as_encoded_bytes().contains(&b',') {
        false => vec![joined("-Wl,-rpath,", lib)],
        true => vec!["-Wl,-rpath".into(), "-Xlinker".into(), lib.into()],
    }
}

fn compiler(language: Language, request: &CompileRequest<'_>) -> Result<Vec<OsString>, Error> {
    toolchain::compiler(language, request.compiler.as_deref())
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let is_plain =
        |character: char| character.is_alphanumeric() || "-_=+/.,:@%^~".contains(character);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(line: &str) -> bool {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        read(&words).links
    }

    #[test]
    fn links_unless_told_otherwise() {
        for line in ["", "a.c", "-o a a.c", "-show", "-v a.c", "a.o -lm"] {
            assert!(links(line), "{line}");
        }
        for line in ["-c a.c", "-E a.c", "a.c -S", "-M a.c", "-v", "--version"] {
            assert!(!links(line), "{line}");
        }
    }

    #[test]
    fn where_the_program_stands() {
        let place = |line: &str| {
            let words: Vec<&OsStr> = line.split_whitespace().map(OsStr::new).collect();
            output(&words)
        };
        for (line, program) in [
            ("a.c", "a.out"),
            ("-o a b.c", "a"),
            ("b.c -oa", "a"),
            ("-o a -o b c.c", "b"),
        ] {
            assert_eq!(place(line), Path::new(program), "{line}");
        }
    }

    #[test]
    fn what_is_shown() {
        let shown = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            read(&words).show
        };
        for (line, show) in [
            ("-show a.c", Show::All),
            ("--showme", Show::All),
            ("-link-info", Show::Link),
            ("-showme:compile", Show::CompileOptions),
            ("--showme:link", Show::LinkOptions),
            ("-showme:version", Show::Version),
        ] {
            assert_eq!(shown(line), Some(show), "{line}");
        }
        assert_eq!(shown("-showme:moon"), None);
    }

    #[test]
    fn words_for_a_shell() {
        let of = |word: &str| quoted(OsStr::new(word));
        assert_eq!(of("-I/a/b+c"), "-I/a/b+c");
        assert_eq!(of("a b"), "'a b'");
        assert_eq!(of("it's"), r"'it'\''s'");
        assert_eq!(of(""), "''");
    }
}
