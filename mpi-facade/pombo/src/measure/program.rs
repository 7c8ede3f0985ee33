//! The measuring program: its compilation, its runs, and its lines. Only `measure` uses it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::bench::{End, Hosts, Jobs};
use crate::compiler;
use crate::error::Error;
use crate::library;

const SOURCE: &str = include_str!("measure.c");
/// A run that takes longer counts as a hang.
const LIMIT: Duration = Duration::from_secs(600);

/// Where and between whom messages are measured.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) ranks: u32,
    /// As `--net` of `pombo run` takes it.
    pub(super) net: &'a str,
    /// A host for every rank; `None`: all ranks on this one.
    pub(super) hosts: Option<&'a Hosts>,
    /// The times of messages that ranks choose by; `None`: they have none.
    pub(super) times: Option<&'a str>,
}

/// The compiled program.
pub(super) struct Program {
    path: PathBuf,
    launcher: PathBuf,
    jobs: Jobs,
}

impl Program {
    /// Compiles the program in this directory, which is made if need be.
    pub(super) fn compile(directory: &Path) -> Result<Program, Error> {
        fs::create_dir_all(directory).map_err(Error::file("make directory", directory))?;
        let directory = directory
            .canonicalize()
            .map_err(Error::file("open", directory))?;
        let (source, path) = (directory.join("measure.c"), directory.join("measure"));
        fs::write(&source, SOURCE).map_err(Error::file("write", &source))?;
        compiler::compile(&source, &path, "-O3")?;
        Ok(Program {
            path,
            launcher: library::executable()?,
            jobs: Jobs::new()?,
        })
    }

    /// Runs the program with these arguments and returns its lines.
    pub(super) fn run(
        &self,
        setting: &Setting<'_>,
        arguments: &[String],
    ) -> Result<Vec<String>, Error> {
        let mut command = match setting.hosts {
            Some(hosts) => hosts.command(&self.launcher),
            None => Command::new(&self.launcher),
        };
        command.arg("run");
        if setting.net != "shm" {
            let own = match (setting.net, setting.hosts) {
                ("ethernet", Some(_)) => "ethernet:eth0",
                (net, _) => net,
            };
            command.args(["--net", own]);
        }
        if let Some(hosts) = setting.hosts {
            hosts.reach(&mut command, setting.ranks as usize);
        }
        // The rules decide, not what an earlier measurement chose.
        command
            .env_remove("POMBO_NETWORK")
            .env_remove("POMBO_NETWORK_TIMES");
        command.envs(setting.times.map(|times| ("POMBO_NETWORK_TIMES", times)));
        command
            .args(["-n", &setting.ranks.to_string()])
            .arg(&self.path)
            .args(arguments);
        let mut lines = Vec::new();
        match self
            .jobs
            .run(&mut command, LIMIT, |line| lines.push(line.to_owned()))
        {
            End::Done { .. } => Ok(lines),
            end => Err(Error::Measurement {
                why: end.to_string(),
            }),
        }
    }
}

/// A line of words, of which the last three are a median and its quartiles in nanoseconds; `None` for other lines.
pub(super) fn parse(line: &str, words: usize) -> Option<(Vec<&str>, [f64; 3])> {
    let all: Vec<&str> = line.split_ascii_whitespace().collect();
    let (head, numbers) = all.split_at_checked(words)?;
    let numbers: Vec<f64> = numbers
        .iter()
        .map(|word| word.parse().ok())
        .collect::<Option<_>>()?;
    let numbers: [f64; 3] = numbers.try_into().ok()?;
    let [median, low, high] = numbers;
    let is_sound = low >= 0.0 && low <= median && median <= high && high.is_finite();
    is_sound.then_some((head.to_vec(), numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_program() {
        let (words, numbers) = parse("end standard 8 130.5 120 141", 3).unwrap();
        assert_eq!(
            (words, numbers),
            (vec!["end", "standard", "8"], [130.5, 120.0, 141.0])
        );
        for wrong in [
            "",
            "end standard 8",
            "end standard 8 1 2 3",
            "end standard 8 nan 1 2",
            "end standard 8 2 1 inf",
            "end standard 8 2 1 3 4",
            "handing over to mpiexec",
        ] {
            assert_eq!(parse(wrong, 3), None, "{wrong}");
        }
    }
}
