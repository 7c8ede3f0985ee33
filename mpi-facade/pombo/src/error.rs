//! The errors of the launcher, with messages for the person at the terminal. Every module of this package returns them;
//! only `main` prints them.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use nix::errno::Errno;
use pombo_netdrivers::ethernet::EthernetError;
use pombo_netdrivers::shm::ShmError;

use crate::console::warn;
use crate::join::Refusal;
use crate::simulate::Failure;
use crate::version::VERSION;

/// A failure of the launcher itself; a failing rank is not one.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum Error {
    /// Help, version, or arguments that clap refused.
    Arguments(Box<clap::Error>),
    /// An option has an invalid value.
    Value {
        what: &'static str,
        given: String,
        want: &'static str,
    },
    /// A variable has been renamed.
    Renamed {
        name: &'static str,
        now: &'static str,
    },
    /// An option of another launcher is not supported.
    ForeignOption {
        option: String,
        instead: &'static str,
    },
    /// The first word behind `pombo` is no subcommand.
    NoSubcommand { word: OsString },
    /// `pombo run` has no program.
    NoProgram { context: usize },
    /// The program does not exist.
    NotFound { program: OsString, hint: String },
    /// The program is there but cannot be run.
    NotExecutable { program: PathBuf, why: &'static str },
    /// The program needs another MPI library.
    ForeignProgram { program: OsString, library: String },
    /// `-wdir` names no directory.
    NoDirectory { path: PathBuf },
    /// More ranks than a job takes.
    TooManyRanks { ranks: usize, most: usize },
    /// The shared memory of the job failed.
    Job(ShmError),
    /// A rank could not be started.
    Start { rank: usize, source: io::Error },
    /// A host file lists no hosts, or has an invalid line.
    HostFile { path: PathBuf, line: Option<String> },
    /// A file of sites is wrong.
    Sites {
        path: PathBuf,
        line: Option<usize>,
        what: String,
    },
    /// The simulated distributed algorithm failed.
    Simulation { failure: Failure },
    /// A process belongs to no job.
    NoJob { process: u32 },
    /// A process cannot join a running job.
    Join { job: PathBuf, why: Refusal },
    /// No launcher that starts ranks on other hosts was found.
    NoEngine,
    /// A system program that simulates hosts on one machine is missing.
    NoTool {
        tool: &'static str,
        package: &'static str,
    },
    /// Hosts could not be simulated on one machine.
    NoHosts { reason: String },
    /// A file or directory operation failed.
    File {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// Whoever started the launcher ignores SIGCHLD, and the launcher inherited that.
    ChildrenIgnored,
    /// A system call of the launcher failed.
    System {
        doing: &'static str,
        source: io::Error,
    },
    /// Listening to a network failed.
    Capture { source: EthernetError },
    /// The captured interface went down or away.
    CaptureEnded { interface: String, taken: u64 },
    /// The C library is in none of its places.
    NoLibrary { searched: Vec<PathBuf> },
    /// `POMBO_LIB` names a place without the library.
    WrongLibrary { path: PathBuf },
    /// An installation would replace files of another library.
    ForeignFiles { files: Vec<PathBuf> },
    /// A wrapper for Fortran was called.
    Fortran,
    /// The compiler got no source file.
    NoSource,
    /// There is no compiler on this machine.
    NoCompiler {
        tried: String,
        variable: &'static str,
    },
    /// `pombo explain` got no number and no operation.
    NoOperation { given: String },
    /// Programs of a job have different values of a variable by which all ranks choose.
    Differs { name: &'static str },
    /// A file of network times is invalid.
    NetworkFile { path: PathBuf, why: String },
    /// The measuring program failed.
    Measurement { why: String },
    /// A file of a program cannot be read for what it uses.
    NotRead { file: PathBuf, why: String },
    /// The preprocessor failed.
    Preprocess { source: PathBuf },
    /// No file of a program uses MPI.
    NoMpi { files: Vec<PathBuf> },
    /// The library of a composition is not installed.
    NoComposition {
        name: String,
        archive: PathBuf,
        command: String,
    },
    /// The library of a composition is of another version than this launcher.
    OldComposition { archive: PathBuf, command: String },
    /// What a program carries is above its budget, or was to stay out of it.
    Size { why: Vec<String> },
    /// The compiler failed.
    Compile { program: PathBuf },
}

impl Error {
    /// Returns the exit code: 127 and 126 as in a shell, another one for usage and input.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Error::Arguments(error) if !error.use_stderr() => 0,
            Error::NotFound { .. } => 127,
            Error::NotExecutable { .. } => 126,
            _ => 1,
        }
    }

    /// Prints the error: help and version on standard output, all else on standard error with the launcher's name.
    pub(crate) fn report(&self) {
        use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as NoSubcommand;
        match self {
            Error::Arguments(error) if !error.use_stderr() || error.kind() == NoSubcommand => {
                // A closed terminal is no reason to fail.
                let _ = error.print();
            }
            _ => warn(&self.to_string()),
        }
    }

    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::System { doing, source }
    }

    pub(crate) fn errno(doing: &'static str) -> impl FnOnce(nix::Error) -> Error {
        move |errno| Error::System {
            doing,
            source: errno.into(),
        }
    }

    pub(crate) fn file(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::File {
            doing,
            path,
            source,
        }
    }
}

impl From<clap::Error> for Error {
    fn from(error: clap::Error) -> Error {
        Error::Arguments(Box::new(error))
    }
}

/// Cuts the user's input to the length that fits a line.
fn start_of(given: &str) -> &str {
    let end = given
        .char_indices()
        .nth(80)
        .map_or(given.len(), |(at, _)| at);
    &given[..end]
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The message states what is wrong, without the parser's suggestions.
            Error::Arguments(error) => {
                let text = error.to_string();
                let text = text.strip_prefix("error: ").unwrap_or(&text);
                let (what, _) = text.split_once("\n\n").unwrap_or((text, ""));
                for (index, line) in what.lines().enumerate() {
                    let space = if index == 0 { "" } else { " " };
                    write!(f, "{space}{}", line.trim())?;
                }
                f.write_str("; -h lists the options")
            }
            Error::Value { what, given, want } => {
                write!(f, "{what} is '{}'; give {want}", start_of(given))
            }
            Error::Renamed { name, now } => {
                write!(f, "{name} is set, which is called {now} now: set that instead")
            }
            Error::ForeignOption { option, instead } => {
                write!(f, "{} is not built: {instead}", start_of(option))
            }
            Error::NoSubcommand { word } => write!(
                f,
                "there is no command '{}'; a job starts as: pombo run -n 4 ./program; -h lists the commands",
                word.display()
            ),
            Error::NoProgram { context: 0 } => f.write_str(
                "no program given; write: pombo run -n 4 ./program arguments (more: pombo run -h)",
            ),
            Error::NoProgram { context } => write!(
                f,
                "no program in part {} of the command line; each part between ':' needs one",
                context + 1
            ),
            Error::NotFound { program, hint } => {
                write!(f, "cannot find program '{}'; {hint}", program.display())
            }
            Error::NotExecutable { program, why } => {
                write!(f, "cannot run '{}': {why}", program.display())
            }
            Error::ForeignProgram { program, library } => write!(
                f,
                "'{}' needs {library}, another MPI library: each rank would be alone in a world of its own; compile it \
                 with this mpicc, or start it with the mpiexec of that library",
                program.display()
            ),
            Error::NoDirectory { path } => write!(
                f,
                "working directory '{}' is not there or is not a directory; create it or change -wdir",
                path.display()
            ),
            Error::TooManyRanks { ranks, most } => write!(
                f,
                "a job of {ranks} ranks, spare places among them, is too large: {most} are possible; give a smaller -n or --spare"
            ),
            Error::Job(error) => {
                write!(f, "cannot create the memory of the job: {error}")?;
                match error {
                    ShmError::System { errno, .. } if *errno == Errno::EFBIG as i32 => {
                        f.write_str("; raise the limit on files, which `ulimit -f` shows")
                    }
                    _ => Ok(()),
                }
            }
            Error::Start { rank, source } => write!(
                f,
                "cannot start rank {rank}: {source}; ask for fewer ranks or raise the limits that `ulimit -a` shows"
            ),
            Error::HostFile { path, line } => {
                write!(f, "hostfile {} ", path.display())?;
                match line {
                    Some(line) => write!(f, "has the line '{}'", line.escape_debug())?,
                    None => f.write_str("names no host")?,
                }
                f.write_str(": write a host on a line, with :N or slots=N behind it for N ranks")
            }
            Error::Sites { path, line, what } => {
                write!(f, "{}", path.display())?;
                if let Some(line) = line {
                    write!(f, ", line {line}")?;
                }
                write!(f, ": {what}")
            }
            Error::Simulation { failure } => write!(
                f,
                "the simulation failed, which is a defect of Pombo: {failure}; please report it with the file of sites"
            ),
            Error::NoJob { process } => write!(
                f,
                "process {process} is in no job of pombo: name the launcher (`pgrep -a mpirun`, `pgrep -a pombo`) or a \
                 rank, on the host where it runs"
            ),
            Error::Join { job, why } => {
                write!(f, "cannot join the job of {}: {why}", job.display())
            }
            Error::NoEngine => f.write_str(
                "ranks on several hosts are started by Hydra, the mpiexec of MPICH, and PATH has none: install it \
                 (Debian: apt install mpich; Python: pip install mpich); under Slurm use srun --mpi=pmi2",
            ),
            Error::NoTool { tool, package } => write!(
                f,
                "PATH has no program '{tool}', which makes hosts on one machine: install {package} \
                 (Debian: apt install {package})"
            ),
            Error::NoHosts { reason } => write!(
                f,
                "this system makes no hosts on one machine: {reason}; a user may if user namespaces are allowed \
                 (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, where there \
                 are such) and the kernel has veth, bridge and tbf"
            ),
            Error::File {
                doing,
                path,
                source,
            } => write!(f, "cannot {doing} {}: {source}", path.display()),
            Error::Capture {
                source: EthernetError::NotPermitted { interface },
            } => write!(
                f,
                "no right to hear the frames of others on {interface}: run it with sudo (CAP_NET_RAW); the helper of \
                 `pombo setup` opens sockets for ranks alone"
            ),
            Error::CaptureEnded { interface, taken } => write!(
                f,
                "interface {interface} went down or was taken away after {taken} frames: set it up (ip link set \
                 {interface} up) and start again"
            ),
            Error::Capture { source } => write!(f, "cannot listen: {source}"),
            Error::System { doing, source } => write!(f, "cannot {doing}: {source}"),
            Error::ChildrenIgnored => f.write_str(
                "the launcher was started with SIGCHLD ignored and cannot watch its ranks; \
                 start it as: env --default-signal=CHLD pombo run ...",
            ),
            Error::NoLibrary { searched } => {
                f.write_str("cannot find libmpi_abi; looked in")?;
                for path in searched {
                    write!(f, " {}", path.display())?;
                }
                write!(
                    f,
                    "; build it with `cargo build --release` or set {} to its directory",
                    crate::variables::LIB.name()
                )
            }
            Error::WrongLibrary { path } => write!(
                f,
                "{} is '{}', which holds no libmpi_abi.so.1, libmpi_abi.so or libmpi_abi.a; correct it or unset it",
                crate::variables::LIB.name(),
                path.display()
            ),
            Error::ForeignFiles { files } => {
                f.write_str("another MPI library seems to be installed there:")?;
                for file in files {
                    write!(f, " {}", file.display())?;
                }
                f.write_str("; choose another --prefix, or replace these files with --force")
            }
            Error::Fortran => f.write_str(
                "Pombo has no Fortran binding: compile Fortran by a binding that stands on the standard ABI (MPI 5.0) and \
                 its C library libmpi_abi.so.1, such as VAPAA, and link it to the options that `mpicc \
                 -showme:link` prints; mpirun starts such a program",
            ),
            Error::NoSource => f.write_str(
                "no file to compile; write: mpicc -O2 program.c -o program (more: mpicc -help)",
            ),
            Error::NoCompiler { tried, variable } => write!(
                f,
                "no compiler found (tried {tried}); install one or name it in {variable}"
            ),
            Error::NoOperation { given } => {
                let names = pombo_mpi::collective::TABLE.iter();
                let names: Vec<String> = names.map(|choice| choice.name()).collect();
                write!(
                    f,
                    "'{given}' is neither the process ID of a job nor a collective operation: {}",
                    names.join(", ")
                )
            }
            Error::Differs { name } => write!(
                f,
                "the programs of this job have different values of {name}, by which all ranks choose how they carry out \
                 a collective operation: give them the same one"
            ),
            Error::NetworkFile { path, why } => write!(
                f,
                "{} is no file of `pombo measure`: {}",
                path.display(),
                why.trim_end()
            ),
            Error::Measurement { why } => write!(f, "the measuring program {why}"),
            Error::NotRead { file, why } => write!(
                f,
                "cannot tell what {} uses: {why}; give objects (.o), archives (.a), programs, or sources (.c, .cc, .cpp, \
                 .cxx, .C)",
                file.display()
            ),
            Error::Preprocess { source } => write!(
                f,
                "cannot preprocess {}; the compiler's messages stand above, and its options go behind --: pombo configure \
                 program.c -- -Iinclude -DN=4",
                source.display()
            ),
            Error::NoMpi { files } => {
                f.write_str("no function and no constant of MPI is used in")?;
                for file in files {
                    write!(f, " {}", file.display())?;
                }
                f.write_str(
                    "; give the files that call MPI: a program that has the library inside (-static-mpi, --minimal) does \
                     not tell, its objects or sources do",
                )
            }
            Error::NoComposition {
                name,
                archive,
                command,
            } => write!(
                f,
                "the library for this program's composition, '{name}', is not installed as {}; in Pombo's sources: \
                 {command}, then install again (cargo run --release -- install --prefix DIR); -static-mpi links the whole \
                 library instead",
                archive.display()
            ),
            Error::OldComposition { archive, command } => write!(
                f,
                "{} is of another version than this {VERSION}; in Pombo's sources: {command}, then install again (cargo run \
                 --release -- install --prefix DIR)",
                archive.display()
            ),
            Error::Size { why } => write!(f, "{}", why.join("\n")),
            Error::Compile { program } => write!(
                f,
                "cannot compile {}; the compiler's messages stand above",
                program.display()
            ),
        }
    }
}
