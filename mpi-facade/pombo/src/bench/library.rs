//! The libraries that are measured: ours over each of its networks, and every other that is found, each with its
//! compiler and its launcher. Only `bench` uses it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pombo_transport::authenticated::HEADER_LEN as TAGGED;
use pombo_transport::multicast::HEADER_LEN;

use super::limited_command::{End, Jobs};
use super::multihost::burst_broadcast::{self, Bursts};
use super::network_namespaces::{Hosts, SETTINGS};
use crate::error::Error;
use crate::{compiler, library};

const OURS: &str = "pombo";

/// A network that carries the messages.
#[derive(Debug, PartialEq)]
pub(super) struct Network {
    /// The name that `--net` takes.
    pub(super) name: &'static str,
    /// The arguments that select the network in `pombo run`.
    ours: &'static [&'static str],
    /// The suffix of other libraries that use another network in its place, and the variables that select that network.
    theirs: (&'static str, &'static [(&'static str, &'static str)]),
}

const NETWORKS: [Network; 4] = [
    Network {
        name: "shm",
        ours: &[],
        theirs: ("", &[]),
    },
    Network {
        name: "udp",
        ours: &["--net", "udp"],
        theirs: ("-tcp", &THROUGH_TCP),
    },
    Network {
        name: "auto",
        ours: &["--net", "auto"],
        theirs: ("-tcp", &THROUGH_TCP),
    },
    Network {
        name: ETHERNET,
        ours: &["--net", "ethernet:eth0"],
        theirs: ("-tcp", &THROUGH_TCP),
    },
];

/// The name of raw Ethernet, which only hosts have.
const ETHERNET: &str = "ethernet";
/// The default networks between hosts.
const BETWEEN_HOSTS: [&str; 2] = [ETHERNET, "udp"];
/// The networks that only hosts have: raw Ethernet, and what a job takes by itself.
const ONLY_BETWEEN_HOSTS: [&str; 2] = [ETHERNET, "auto"];
/// The values of `--auth` and POMBO_AUTH other than the default.
pub(super) const AUTH: [&str; 2] = ["full", "off"];
/// The common name of all networks between hosts.
const HOSTS: &str = "hosts";

/// Settings by which other libraries use TCP, also between two ranks of one machine: for Open MPI, for MPICH, for
/// Intel's, for libfabric and UCX below them.
const THROUGH_TCP: [(&str, &str); 7] = [
    ("OMPI_MCA_pml", "ob1"),
    ("OMPI_MCA_btl", "tcp,self"),
    ("MPIR_CVAR_NOLOCAL", "1"),
    ("MPIR_CVAR_CH4_SHM_ENABLE", "0"),
    ("I_MPI_FABRICS", "ofi"),
    ("FI_PROVIDER", "tcp"),
    ("UCX_TLS", "tcp,self"),
];

/// Name, compiler and launcher of the libraries that are searched in PATH. Debian installs the first two side by side;
/// the last one is the library that the user has selected.
const INSTALLED: [[&str; 3]; 3] = [
    ["mpich", "mpicc.mpich", "mpiexec.mpich"],
    ["openmpi", "mpicc.openmpi", "mpirun.openmpi"],
    ["mpi", "mpicc", "mpiexec"],
];

/// Settings for Open MPI 4 and 5 and for Intel's, without effect on others: run as any user, allow more ranks than
/// cores, and leave pinning to the program.
const USUAL_SETTINGS: [(&str, &str); 7] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("PRTE_MCA_hwloc_default_binding_policy", "none"),
    ("I_MPI_PIN", "0"),
];

/// Settings for more ranks than cores: yield. MPICH's setting has an effect only if its build supports it.
const YIELD_SETTINGS: [(&str, &str); 2] = [
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("MPIR_CVAR_POLLS_BEFORE_YIELD", "1"),
];

/// Settings for broadcasts along a chain of hosts in pieces, the best algorithm of these libraries for long messages on
/// a slow network: Open MPI 4 and 5, MPICH 4 and 5.
const TUNED_SETTINGS: [(&str, &str); 8] = [
    ("OMPI_MCA_coll", "^han,adapt"),
    ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
    ("OMPI_MCA_coll_tuned_bcast_algorithm", "3"),
    ("OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize", "16384"),
    ("MPIR_CVAR_DEVICE_COLLECTIVES", "none"),
    ("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "nb"),
    ("MPIR_CVAR_IBCAST_INTRA_ALGORITHM", "tsp_ring"),
    ("MPIR_CVAR_IBCAST_RING_CHUNK_SIZE", "16384"),
];

/// Settings for MPICH 5 where no process copies from another: it looks no further, and ends the job.
const NO_CMA_SETTINGS: [(&str, &str); 1] = [("MPIR_CVAR_CH4_CMA_ENABLE", "0")];

/// A compiler that takes longer counts as a hang.
const COMPILE_LIMIT: Duration = Duration::from_secs(120);
/// The option of all compilers: with it they write and compare messages by vectors.
const OPTIMISED: &str = "-O3";

/// The origin of a library's program.
#[derive(Clone, PartialEq)]
enum ProgramSource {
    /// Our own library, with which this process compiles.
    Ours,
    /// The compiler of another library.
    Theirs(PathBuf),
    /// Our compiler; the program runs on the library of the standard ABI in this directory.
    StandardAbi(PathBuf),
    /// This executable, with a subcommand and its first argument.
    Subcommand([&'static str; 2]),
}

/// A library over one network.
#[derive(Clone)]
pub(super) struct Library {
    /// The unique name, which is the title of its column.
    pub(super) name: String,
    source: ProgramSource,
    launcher: PathBuf,
    pub(super) network: &'static Network,
    /// The value of POMBO_AUTH, if not the default.
    auth: Option<&'static str>,
    /// Whether the library broadcasts by the algorithm that is best for long messages on a slow network, instead of its
    /// own choice.
    pub(super) is_tuned: bool,
    /// The compiled program.
    program: PathBuf,
    /// The program that starts the launcher and forbids copies from process to process, if any.
    through: Option<PathBuf>,
}

/// Returns the names of our networks.
pub(super) fn networks() -> Vec<&'static str> {
    NETWORKS.iter().map(|network| network.name).collect()
}

/// Returns the networks of these names; by default the first one only, because the others take long.
fn wanted(names: &[String]) -> impl Iterator<Item = &'static Network> {
    let is_wanted = move |network: &&Network| match names {
        [] => network.name == NETWORKS[0].name,
        names => names.iter().any(|name| name == network.name),
    };
    NETWORKS.iter().filter(is_wanted)
}

/// Returns our library over these networks.
pub(super) fn ours(networks: &[String]) -> Result<Vec<Library>, Error> {
    let launcher = library::executable()?;
    let ours = wanted(networks).map(|network| Library {
        name: format!("{OURS}-{}", network.name),
        source: ProgramSource::Ours,
        launcher: launcher.clone(),
        network,
        auth: None,
        is_tuned: false,
        program: PathBuf::new(),
        through: None,
    });
    Ok(ours.collect())
}

/// Returns our library over these networks, each with the default authentication and with those of `auth`.
pub(super) fn ours_by(networks: &[String], auth: &[String]) -> Result<Vec<Library>, Error> {
    let mut all = Vec::new();
    for usual in ours(networks)? {
        let also = AUTH
            .into_iter()
            .filter(|name| auth.iter().any(|one| one == name));
        let also = also.map(|name| Library {
            name: format!("{}-{name}", usual.name),
            auth: Some(name),
            ..usual.clone()
        });
        let also: Vec<_> = also.collect();
        all.push(usual);
        all.extend(also);
    }
    Ok(all)
}

/// Returns the named libraries, then the installed ones, each over its substitutes for these networks.
pub(super) fn others(against: &[PathBuf], networks: &[String]) -> Result<Vec<Library>, Error> {
    let found = found(against)?;
    let over = |network: &'static Network| {
        found.iter().map(move |other| Library {
            name: format!("{}{}", other.name, network.theirs.0),
            network,
            ..other.clone()
        })
    };
    Ok(wanted(networks).flat_map(over).collect())
}

/// Returns each of the other libraries twice, with default settings and tuned, over TCP between hosts.
pub(super) fn others_on_hosts(against: &[PathBuf]) -> Result<Vec<Library>, Error> {
    let both = |other: Library| {
        [false, true].map(|is_tuned| Library {
            name: format!("{}{}", other.name, if is_tuned { "-tuned" } else { "" }),
            network: &NETWORKS[1],
            is_tuned,
            ..other.clone()
        })
    };
    Ok(found(against)?.into_iter().flat_map(both).collect())
}

/// Returns broadcasts in bursts over raw Ethernet, without MPI.
pub(super) fn bursts(kinds: &[Bursts]) -> Result<Vec<Library>, Error> {
    let launcher = library::executable()?;
    let network = &NETWORKS[NETWORKS.len() - 1];
    let one = |kind: &Bursts| Library {
        name: kind.name.to_owned(),
        source: ProgramSource::Subcommand([burst_broadcast::NAME, kind.name]),
        launcher: launcher.clone(),
        network,
        auth: None,
        is_tuned: false,
        program: PathBuf::new(),
        through: None,
    };
    Ok(kinds.iter().map(one).collect())
}

/// Returns the networks to measure. Refuses those that are impossible: one machine has no Ethernet, and hosts share no
/// memory.
pub(super) fn networks_for(names: &[String], hosts: bool) -> Result<Vec<String>, Error> {
    if hosts && names.is_empty() {
        return Ok(BETWEEN_HOSTS.map(String::from).into());
    }
    let wrong = |name: &&String| {
        ONLY_BETWEEN_HOSTS.contains(&&***name) != hosts && **name != BETWEEN_HOSTS[1]
    };
    match names.iter().find(wrong) {
        None => Ok(names.to_vec()),
        Some(name) => Err(Error::Value {
            what: "--net",
            given: name.clone(),
            want: if hosts {
                "udp, ethernet or auto with --hosts"
            } else {
                "shm or udp, or --hosts as well"
            },
        }),
    }
}

fn found(against: &[PathBuf]) -> Result<Vec<Library>, Error> {
    let mut found = Vec::new();
    for directory in against {
        let (source, launcher) = tools_in(directory)?;
        add(&mut found, &name_of(directory), source, launcher);
    }
    for [name, compiler, launcher] in INSTALLED {
        if let (Some(compiler), Some(launcher)) = (in_path(compiler), in_path(launcher)) {
            add(&mut found, name, ProgramSource::Theirs(compiler), launcher);
        }
    }
    Ok(found)
}

/// Returns how a program comes to run on the library in this directory, and its launcher.
fn tools_in(directory: &Path) -> Result<(ProgramSource, PathBuf), Error> {
    let file = |name: &str| {
        let path = std::path::absolute(directory.join(name)).ok();
        path.filter(|path| path.is_file())
    };
    let library = file("lib/libmpi_abi.so.1").and_then(|file| Some(file.parent()?.to_owned()));
    let compiler = file("bin/mpicc").map(ProgramSource::Theirs);
    let source = compiler.or(library.map(ProgramSource::StandardAbi));
    source.zip(file("bin/mpiexec")).ok_or_else(|| Error::Value {
        what: "--against",
        given: directory.display().to_string(),
        want: "a directory that has bin/mpiexec, and bin/mpicc or lib/libmpi_abi.so.1",
    })
}

/// Returns the last component of a directory.
fn name_of(directory: &Path) -> String {
    let whole = directory.canonicalize();
    let whole = whole.as_deref().unwrap_or(directory);
    let name = whole.file_name().unwrap_or("root".as_ref());
    let text = name.to_string_lossy();
    text.split_whitespace().collect::<Vec<_>>().join("-")
}

/// Adds a library, unless it has the compiler or the directory of another one, or our own. A name that occurs again gets
/// a number.
fn add(found: &mut Vec<Library>, name: &str, source: ProgramSource, launcher: PathBuf) {
    let real = |source: &ProgramSource| {
        let path = source.path()?;
        Some(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
    };
    let own = real(&source);
    let is_ours = own.as_ref().and_then(|path| path.file_name()) == Some(OURS.as_ref());
    if is_ours || found.iter().any(|other| real(&other.source) == own) {
        return;
    }
    let is_free = |name: &String| found.iter().all(|other| other.name != *name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let name = std::iter::once(name.to_owned())
        .chain(numbered)
        .find(is_free);
    found.extend(name.map(|name| Library {
        name,
        source,
        launcher,
        network: &NETWORKS[0],
        auth: None,
        is_tuned: false,
        program: PathBuf::new(),
        through: None,
    }));
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|place| place.join(name))
        .find(|file| file.is_file())
}

impl ProgramSource {
    /// Returns what tells another library from the others: its compiler, or its directory.
    fn path(&self) -> Option<&Path> {
        match self {
            ProgramSource::Theirs(path) | ProgramSource::StandardAbi(path) => Some(path),
            _ => None,
        }
    }
}

impl Library {
    pub(super) fn is_ours(&self) -> bool {
        self.source == ProgramSource::Ours
    }

    /// Returns whether the library takes part in a measurement: some take part in broadcasts only.
    pub(super) fn measures(&self, name: &str) -> bool {
        let is_for_broadcasts =
            self.is_tuned || matches!(self.source, ProgramSource::Subcommand(_));
        !is_for_broadcasts || name.contains("cast")
    }

    /// Compiles beside the source, with the same options for all.
    pub(super) fn compile(&mut self, source: &Path, jobs: &Jobs) -> Result<End, Error> {
        self.program = source.with_file_name(format!("bench-{}", self.name));
        match &self.source {
            ProgramSource::Theirs(compiler) => {
                let mut command = Command::new(compiler);
                let command = command.arg(OPTIMISED).arg("-o");
                command.args([&*self.program, source]);
                return Ok(jobs.run(command, COMPILE_LIMIT, |_| {}));
            }
            ProgramSource::Ours | ProgramSource::StandardAbi(_) => {
                compiler::compile(source, &self.program, OPTIMISED)?;
            }
            ProgramSource::Subcommand(_) => {}
        }
        let took = Duration::ZERO;
        Ok(End::Done { took })
    }

    /// Lets this program start the launcher from now on.
    pub(super) fn start_through(&mut self, program: &Path) {
        self.through = Some(program.to_owned());
    }

    /// Returns the command that starts the program, on hosts or on this machine, still without its arguments.
    pub(super) fn launch(&self, ranks: u32, cores: usize, hosts: Option<&Hosts>) -> Command {
        let mut command = match (hosts, &self.through) {
            (Some(hosts), _) => hosts.command(&self.launcher),
            (None, None) => Command::new(&self.launcher),
            (None, Some(program)) => {
                let mut command = Command::new(program);
                command.arg(&self.launcher);
                command
            }
        };
        if let ProgramSource::Subcommand(words) = self.source {
            command.args(words).arg(ranks.to_string());
            return command;
        }
        if self.is_ours() {
            command.arg("run").args(self.network.ours);
            command.envs(self.auth.map(|auth| ("POMBO_AUTH", auth)));
        } else {
            command.envs(USUAL_SETTINGS);
            command.envs(self.network.theirs.1.iter().copied());
            if ranks as usize > cores {
                command.envs(YIELD_SETTINGS);
            }
            if self.is_tuned {
                command.envs(TUNED_SETTINGS);
            }
            if self.through.is_some() {
                command.envs(NO_CMA_SETTINGS);
            }
            if let ProgramSource::StandardAbi(directory) = &self.source {
                // The program names our directory of libraries, but looks here first.
                command.env("LD_LIBRARY_PATH", directory);
            }
        }
        if let Some(hosts) = hosts {
            command.envs(SETTINGS);
            command.arg("--host").arg(hosts.names(ranks as usize));
        }
        command.arg("-n").arg(ranks.to_string()).arg(&self.program);
        command
    }

    /// Returns the network that carries the messages between hosts.
    pub(super) fn carrier(&self) -> &'static str {
        match self.source {
            ProgramSource::Theirs(_) | ProgramSource::StandardAbi(_) => "TCP",
            _ => self.network.name,
        }
    }

    /// Returns the bytes of a packet between hosts that are not payload. Raw Ethernet: the headers of Pombo's frames
    /// and multicast, and the tag. UDP: those of IP, UDP and multicast, and the tag. TCP: those of IP and TCP with time
    /// stamps.
    pub(super) fn besides(&self) -> usize {
        let tagged = self.is_ours() && self.auth != Some("off");
        let tag = if tagged { TAGGED } else { 0 };
        match self.carrier() {
            ETHERNET => 10 + HEADER_LEN + tag,
            "TCP" => 20 + 32,
            _ => 20 + 8 + HEADER_LEN + tag,
        }
    }

    /// Returns the group of libraries that are compared with each other.
    pub(super) fn compared_over(&self, hosts: bool) -> &'static str {
        if hosts { HOSTS } else { self.network.name }
    }

    /// Returns the path of the compiled program.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add_compiler(found: &mut Vec<Library>, name: &str, compiler: &Path) {
        let source = ProgramSource::Theirs(compiler.to_owned());
        add(found, name, source, "run".into());
    }

    #[test]
    fn a_library_of_the_standard_abi_is_found_by_its_directory() {
        let mut found = Vec::new();
        for name in ["impi", "again"] {
            let source = ProgramSource::StandardAbi("/opt/impi/lib".into());
            add(&mut found, name, source, "/opt/impi/bin/mpiexec".into());
        }
        assert_eq!(found.len(), 1);
        found[0].start_through(Path::new("filter"));
        let command = found[0].launch(2, 2, None);
        assert_eq!(command.get_program(), "filter");
        assert_eq!(command.get_args().next().unwrap(), "/opt/impi/bin/mpiexec");
        let path = command
            .get_envs()
            .find(|(name, _)| *name == "LD_LIBRARY_PATH");
        assert_eq!(path.unwrap().1, Some("/opt/impi/lib".as_ref()));
    }

    #[test]
    fn names_are_unique() {
        let mut found = Vec::new();
        for (name, compiler) in [("mpich", "a"), ("other", "b"), ("mpich", "c")] {
            add_compiler(&mut found, name, compiler.as_ref());
        }
        let names: Vec<&str> = found.iter().map(|library| &*library.name).collect();
        assert_eq!(names, ["mpich", "other", "mpich-2"]);
    }

    #[test]
    fn our_own_compiler_and_one_that_is_there_already_are_no_peers() {
        let mut found = Vec::new();
        let compiler = std::env::current_exe().unwrap();
        for name in ["first", "again"] {
            add_compiler(&mut found, name, &compiler);
        }
        add_compiler(&mut found, "mpi", "bin/pombo".as_ref());
        let names: Vec<&str> = found.iter().map(|library| &*library.name).collect();
        assert_eq!(names, ["first"]);
    }

    #[test]
    fn a_directory_without_tools_is_refused() {
        let error = others(&["/nowhere/at/all".into()], &[]).err().unwrap();
        let text = error.to_string();
        assert!(text.contains("/nowhere/at/all"), "{text}");
        assert!(
            text.contains("bin/mpicc") && text.contains("libmpi_abi"),
            "{text}"
        );
    }

    #[test]
    fn others_are_launched_with_manners_and_ours_is_not() {
        let mut found = Vec::new();
        add_compiler(&mut found, "other", "cc".as_ref());
        let theirs = |ranks| found[0].launch(ranks, 2, None);
        assert_eq!(theirs(2).get_envs().count(), USUAL_SETTINGS.len());
        let yields = USUAL_SETTINGS.len() + YIELD_SETTINGS.len();
        assert_eq!(theirs(8).get_envs().count(), yields);
        let words: Vec<_> = theirs(8)
            .get_args()
            .take(2)
            .map(ToOwned::to_owned)
            .collect();
        assert_eq!(words, ["-n", "8"]);
        let ours = ours(&[]).unwrap()[0].launch(2, 2, None);
        assert_eq!(ours.get_envs().count(), 0);
        assert_eq!(ours.get_args().next().unwrap(), "run");
    }

    #[test]
    fn only_the_networks_that_are_asked_for() {
        let count = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
            ours(&names).unwrap().len()
        };
        assert_eq!(count(&[]), 1);
        assert_eq!(count(&["shm"]), 1);
        assert_eq!(count(&["shm", "udp"]), 2);
        assert_eq!(count(&["smoke"]), 0);
    }

    #[test]
    fn directories_give_their_last_part() {
        assert_eq!(name_of(Path::new("/nowhere/open mpi/")), "open-mpi");
        assert_eq!(name_of(Path::new("/")), "root");
    }
}
