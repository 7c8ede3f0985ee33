//! The libraries that are measured: ours and every other that is found, each with its compiler
//! and its launcher. Only `bench` uses it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::job::{End, Jobs};
use crate::error::Error;
use crate::{compiler, library};

const OURS: &str = "pombo";

/// Name, compiler and launcher of the libraries that Debian installs side by side.
const INSTALLED: [[&str; 3]; 2] = [
    ["mpich", "mpicc.mpich", "mpiexec.mpich"],
    ["openmpi", "mpicc.openmpi", "mpirun.openmpi"],
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

/// A compiler that takes longer hangs.
const COMPILING: Duration = Duration::from_secs(120);

/// A library.
pub(super) struct Contender {
    /// Unique; heads its column.
    pub(super) name: String,
    /// None: our own, which is this process.
    compiler: Option<PathBuf>,
    launcher: PathBuf,
    /// The compiled program.
    program: PathBuf,
}

/// Compiler and launcher of another library.
type Tools = [PathBuf; 2];

/// Ours first, then those that were named, then those that are installed.
pub(super) fn find(against: &[PathBuf]) -> Result<Vec<Contender>, Error> {
    let ours = Contender::new(OURS.into(), None, library::executable()?);
    let mut found = vec![ours];
    for directory in against {
        let tools = tools_in(directory)?;
        add(&mut found, &name_of(directory), tools);
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

/// The same name again gets a number.
fn add(found: &mut Vec<Contender>, name: &str, [compiler, launcher]: Tools) {
    let is_free = |name: &String| found.iter().all(|other| other.name != *name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let name = std::iter::once(name.to_owned())
        .chain(numbered)
        .find(is_free);
    if let Some(name) = name {
        found.push(Contender::new(name, Some(compiler), launcher));
    }
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|place| place.join(name))
        .find(|file| file.is_file())
}

impl Contender {
    fn new(name: String, compiler: Option<PathBuf>, launcher: PathBuf) -> Contender {
        Contender {
            name,
            compiler,
            launcher,
            program: PathBuf::new(),
        }
    }

    /// Compiles beside the source, with the same options for all.
    pub(super) fn compile(&mut self, source: &Path, jobs: &mut Jobs) -> Result<End, Error> {
        self.program = source.with_file_name(format!("bench-{}", self.name));
        let Some(compiler) = &self.compiler else {
            compiler::compile(source, &self.program)?;
            return Ok(End::Done);
        };
        let mut command = Command::new(compiler);
        command.arg("-O2").arg("-o").args([&*self.program, source]);
        Ok(jobs.run(&mut command, COMPILING, |_| {}))
    }

    /// The command that starts the program; its arguments are still to come.
    pub(super) fn launch(&self, ranks: u32) -> Command {
        let mut command = Command::new(&self.launcher);
        match self.compiler {
            None => command.arg("run"),
            Some(_) => command.envs(MANNERS),
        };
        command.arg("-n").arg(ranks.to_string()).arg(&self.program);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Contender {
        Contender::new(OURS.into(), None, "pombo".into())
    }

    #[test]
    fn names_are_unique() {
        let mut found = vec![ours()];
        for name in ["mpich", OURS, "mpich", "mpich"] {
            add(&mut found, name, ["cc".into(), "run".into()]);
        }
        let names: Vec<&str> = found.iter().map(|contender| &*contender.name).collect();
        assert_eq!(names, ["pombo", "mpich", "pombo-2", "mpich-2", "mpich-3"]);
    }

    #[test]
    fn a_directory_without_tools_is_refused() {
        let error = find(&["/nowhere/at/all".into()]).err().unwrap();
        let text = error.to_string();
        assert!(text.contains("/nowhere/at/all"), "{text}");
        assert!(text.contains("bin/mpicc"), "{text}");
    }

    #[test]
    fn others_are_launched_with_manners_and_ours_is_not() {
        let theirs = Contender::new("other".into(), Some("cc".into()), "run".into());
        let theirs = theirs.launch(8);
        assert_eq!(theirs.get_envs().count(), MANNERS.len());
        let words: Vec<_> = theirs.get_args().take(2).collect();
        assert_eq!(words, ["-n", "8"]);
        let ours = ours().launch(2);
        assert_eq!(ours.get_envs().count(), 0);
        assert_eq!(ours.get_args().next().unwrap(), "run");
    }

    #[test]
    fn directories_give_their_last_part() {
        assert_eq!(name_of(Path::new("/nowhere/open mpi/")), "open-mpi");
        assert_eq!(name_of(Path::new("/")), "root");
    }
}
