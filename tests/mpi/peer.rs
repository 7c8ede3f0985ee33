//! Debian's MPICH, where it is installed: what its users' programs do, ours must do, too.

use crate::programs::{job, source};
use crate::support::{Outcome, finish};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A compiler and a launcher of that library.
pub(crate) struct Mpich(());

/// Returns MPICH, or reports that the test is skipped.
pub(crate) fn mpich() -> Option<Mpich> {
    let version = Command::new("mpicc.mpich")
        .arg("-show")
        .stdin(Stdio::null())
        .output();
    if version.is_ok_and(|version| version.status.success()) {
        return Some(Mpich(()));
    }
    eprintln!(
        "SKIPPED: there is no mpicc.mpich on this machine; Debian's packages mpich and libmpich-dev have it"
    );
    None
}

/// As [`mpich`], where comparing the test programs themselves is asked for: they seldom change, and `.ci/run --long` asks.
pub(crate) fn mpich_if_compared() -> Option<Mpich> {
    if std::env::var_os("POMBO_COMPARE").is_none() {
        eprintln!("SKIPPED: the programs run by MPICH with POMBO_COMPARE=1");
        return None;
    }
    mpich()
}

impl Mpich {
    /// Compiles a file of this repository.
    pub(crate) fn compile(&self, file: &str) -> PathBuf {
        let file = source(file);
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpich");
        std::fs::create_dir_all(&place).unwrap();
        let program = place.join(file.file_stem().unwrap());
        let mut command = Command::new("mpicc.mpich");
        command
            .args(["-std=c99", "-O1"])
            .arg(file)
            .arg("-o")
            .arg(&program)
            .arg("-lm");
        let outcome = finish(&mut command);
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        program
    }

    /// Runs a program to its end. A run that hangs says nothing about the program: it is repeated, twice at most.
    pub(crate) fn finish(&self, ranks: usize, program: &Path) -> Outcome {
        for _ in 0..3 {
            let outcome = job(self.run(ranks, program).env("MPIEXEC_TIMEOUT", "120"));
            if !outcome.err.contains("APPLICATION TIMED OUT")
                && !outcome.out.contains("APPLICATION TIMED OUT")
            {
                return outcome;
            }
            eprintln!("MPICH hung in {}", program.display());
        }
        panic!("MPICH hung three times in {}", program.display());
    }

    /// Returns the command that runs a program.
    pub(crate) fn run(&self, ranks: usize, program: &Path) -> Command {
        let mut command = Command::new("mpiexec.mpich");
        command.args(["-n", &ranks.to_string()]).arg(program);
        command
    }
}
