//! The libraries that are measured: ours over each of its networks and every other that is
//! found, each with its compiler and its launcher. Only `bench` uses it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::job::{End, Jobs};
use crate::error::Error;
use crate::{compiler, library};

const OURS: &str = "pombo";

/// What carries the messages.
#[derive(Debug, PartialEq)]
pub(super) struct Network {
    /// As `--net` takes it.
    pub(super) name: &'static str,
    /// The words with which `pombo run` takes it.
    ours: &'static [&'static str],
    /// What others use in its place, and how they are told to.
    theirs: (&'static str, &'static [(&'static str, &'static str)]),
}

const NETWORKS: [Network; 2] = [
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
];

/// The others' way through the system's network, also between two ranks of one machine: for Open MPI,
/// for MPICH, for libfabric and UCX below it.
const THROUGH_TCP: [(&str, &str); 6] = [
    ("OMPI_MCA_pml", "ob1"),
    ("OMPI_MCA_btl", "tcp,self"),
    ("MPIR_CVAR_NOLOCAL", "1"),
    ("MPIR_CVAR_CH4_SHM_ENABLE", "0"),
    ("FI_PROVIDER", "tcp"),
    ("UCX_TLS", "tcp,self"),
];

/// Name, compiler and launcher of the libraries that are found in PATH. Debian installs the
/// first two side by side; the last are whatever the user has chosen.
const INSTALLED: [[&str; 3]; 3] = [
    ["mpich", "mpicc.mpich", "mpiexec.mpich"],
    ["openmpi", "mpicc.openmpi", "mpirun.openmpi"],
    ["mpi", "mpicc", "mpiexec"],
];

/// For Open MPI 4 and 5, and harmless for others: run for any user, allow more ranks than
/// cores, and leave it to the program where a rank stays.
const MANNERS: [(&str, &str); 6] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("PRTE_MCA_hwloc_default_binding_policy", "none"),
];

/// With more ranks than cores: yield. MPICH's setting helps only where its build has it.
const YIELDING: [(&str, &str); 2] = [
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("MPIR_CVAR_POLLS_BEFORE_YIELD", "1"),
];

/// A compiler that takes longer hangs.
const COMPILING: Duration = Duration::from_secs(120);

/// A library and a network.
#[derive(Clone)]
pub(super) struct Contender {
    /// Unique; heads its column.
    pub(super) name: String,
    /// None: our own, which is this process.
    compiler: Option<PathBuf>,
    launcher: PathBuf,
    pub(super) network: &'static Network,
    /// The compiled program.
    program: PathBuf,
}

/// Compiler and launcher of another library.
type Tools = [PathBuf; 2];

/// The names of our networks.
pub(super) fn networks() -> Vec<&'static str> {
    NETWORKS.iter().map(|network| network.name).collect()
}

/// These, or the first: the others take long.
fn wanted(names: &[String]) -> impl Iterator<Item = &'static Network> {
    let is_wanted = move |network: &&Network| match names {
        [] => network.name == NETWORKS[0].name,
        names => names.iter().any(|name| name == network.name),
    };
    NETWORKS.iter().filter(is_wanted)
}

/// Ours over these networks.
pub(super) fn ours(networks: &[String]) -> Result<Vec<Contender>, Error> {
    let launcher = library::executable()?;
    let ours = wanted(networks).map(|network| Contender {
        name: format!("{OURS}-{}", network.name),
        compiler: None,
        launcher: launcher.clone(),
        network,
        program: PathBuf::new(),
    });
    Ok(ours.collect())
}

/// Those that were named, then those that are installed, each over what it has in place of these
/// networks.
pub(super) fn others(against: &[PathBuf], networks: &[String]) -> Result<Vec<Contender>, Error> {
    let found = found(against)?;
    let over = |network: &'static Network| {
        found.iter().map(move |other| Contender {
            name: format!("{}{}", other.name, network.theirs.0),
            network,
            ..other.clone()
        })
    };
    Ok(wanted(networks).flat_map(over).collect())
}

fn found(against: &[PathBuf]) -> Result<Vec<Contender>, Error> {
    let mut found = Vec::new();
    for directory in against {
        add(&mut found, &name_of(directory), tools_in(directory)?);
    }
    for [name, compiler, launcher] in INSTALLED {
        if let (Some(compiler), Some(launcher)) = (in_path(compiler), in_path(launcher)) {
            add(&mut found, name, [compiler, launcher]);
        }
    }
    Ok(found)
}

fn tools_in(directory: &Path) -> Result<Tools, Error> {
    let tool = |name: &str| {
        let path = std::path::absolute(directory.join("bin").join(name)).ok();
        path.filter(|path| path.is_file())
    };
    match (tool("mpicc"), tool("mpiexec")) {
        (Some(compiler), Some(launcher)) => Ok([compiler, launcher]),
        _ => Err(Error::Value {
            what: "--against",
            given: directory.display().to_string(),
            want: "a directory that has bin/mpicc and bin/mpiexec",
        }),
    }
}

/// The directory's last part.
fn name_of(directory: &Path) -> String {
    let whole = directory.canonicalize();
    let whole = whole.as_deref().unwrap_or(directory);
    let name = whole.file_name().unwrap_or("root".as_ref());
    let text = name.to_string_lossy();
    text.split_whitespace().collect::<Vec<_>>().join("-")
}

/// The same compiler again, or our own, is left out; the same name again gets a number.
fn add(found: &mut Vec<Contender>, name: &str, [compiler, launcher]: Tools) {
    let real = compiler.canonicalize().unwrap_or_else(|_| compiler.clone());
    let is_same = |other: &Contender| {
        let theirs = other.compiler.as_deref().map(Path::canonicalize);
        matches!(theirs, Some(Ok(theirs)) if theirs == real)
    };
    if real.file_name() == Some(OURS.as_ref()) || found.iter().any(is_same) {
        return;
    }
    let is_free = |name: &String| found.iter().all(|other| other.name != *name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let name = std::iter::once(name.to_owned())
        .chain(numbered)
        .find(is_free);
    found.extend(name.map(|name| Contender {
        name,
        compiler: Some(compiler),
        launcher,
        network: &NETWORKS[0],
        program: PathBuf::new(),
    }));
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|place| place.join(name))
        .find(|file| file.is_file())
}

impl Contender {
    pub(super) fn is_ours(&self) -> bool {
        self.compiler.is_none()
    }

    /// Compiles beside the source, with the same options for all.
    pub(super) fn compile(&mut self, source: &Path, jobs: &Jobs) -> Result<End, Error> {
        self.program = source.with_file_name(format!("bench-{}", self.name));
        let Some(compiler) = &self.compiler else {
            compiler::compile(source, &self.program)?;
            let took = Duration::ZERO;
            return Ok(End::Done { took });
        };
        let mut command = Command::new(compiler);
        command.arg("-O2").arg("-o").args([&*self.program, source]);
        Ok(jobs.run(&mut command, COMPILING, |_| {}))
    }

    /// The command that starts the program; its arguments are still to come.
    pub(super) fn launch(&self, ranks: u32, cores: usize) -> Command {
        let mut command = Command::new(&self.launcher);
        if self.is_ours() {
            command.arg("run").args(self.network.ours);
        } else {
            command.envs(MANNERS);
            command.envs(self.network.theirs.1.iter().copied());
            if ranks as usize > cores {
                command.envs(YIELDING);
            }
        }
        command.arg("-n").arg(ranks.to_string()).arg(&self.program);
        command
    }

    /// The compiled program.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut found = Vec::new();
        for (name, compiler) in [("mpich", "a"), ("other", "b"), ("mpich", "c")] {
            add(&mut found, name, [compiler.into(), "run".into()]);
        }
        let names: Vec<&str> = found.iter().map(|contender| &*contender.name).collect();
        assert_eq!(names, ["mpich", "other", "mpich-2"]);
    }

    #[test]
    fn our_own_compiler_and_one_that_is_there_already_are_no_peers() {
        let mut found = Vec::new();
        let compiler = std::env::current_exe().unwrap();
        for name in ["first", "again"] {
            add(&mut found, name, [compiler.clone(), "run".into()]);
        }
        add(&mut found, "mpi", ["bin/pombo".into(), "run".into()]);
        let names: Vec<&str> = found.iter().map(|contender| &*contender.name).collect();
        assert_eq!(names, ["first"]);
    }

    #[test]
    fn a_directory_without_tools_is_refused() {
        let error = others(&["/nowhere/at/all".into()], &[]).err().unwrap();
        let text = error.to_string();
        assert!(text.contains("/nowhere/at/all"), "{text}");
        assert!(text.contains("bin/mpicc"), "{text}");
    }

    #[test]
    fn others_are_launched_with_manners_and_ours_is_not() {
        let mut found = Vec::new();
        add(&mut found, "other", ["cc".into(), "run".into()]);
        let theirs = |ranks| found[0].launch(ranks, 2);
        assert_eq!(theirs(2).get_envs().count(), MANNERS.len());
        let yields = MANNERS.len() + YIELDING.len();
        assert_eq!(theirs(8).get_envs().count(), yields);
        let words: Vec<_> = theirs(8)
            .get_args()
            .take(2)
            .map(ToOwned::to_owned)
            .collect();
        assert_eq!(words, ["-n", "8"]);
        let ours = ours(&[]).unwrap()[0].launch(2, 2);
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
