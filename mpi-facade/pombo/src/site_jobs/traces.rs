//! `pombo sites traces`: one program along an adaptive tree and along static ones, while links change by traces from
//! seeds. Only the algorithm's name differs between the runs of a trace.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use pombo_mpi::collective::{Operation, TABLE};
use pombo_mpi::settings::ADAPTIVE_EVERY;

use super::{placement, plot, trace};
use crate::bench::network_namespaces::{self, Hosts, INSIDE};
use crate::compiler;
use crate::console::tell;
use crate::error::Error;

const SOURCE: &str = include_str!("../../../../examples/ported/rounds.c");

/// The longest time that a rank computes in a round.
const MOST_MICROSECONDS: u32 = 1000;

/// The traces, and what is done with the results.
#[derive(Args)]
pub(crate) struct Options {
    /// Seeds of the traces, FIRST-LAST or one
    #[arg(long, value_name = "SEEDS", default_value = "21-40", value_parser = seeds)]
    seeds: (u64, u64),
    /// Rounds of the program
    #[arg(long, value_name = "N", default_value_t = 450)]
    rounds: u32,
    /// Bytes of each broadcast
    #[arg(long, value_name = "N", default_value_t = 24)]
    bytes: u32,
    /// Calls after which the tree adapts
    #[arg(long, value_name = "N", default_value_t = 32)]
    every: u32,
    /// Draw the times
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Fail if the adaptive tree is first in fewer traces
    #[arg(long, value_name = "N")]
    least: Option<usize>,
    /// Print the delays of every trace, as POMBO_FAULT_DELAY takes them, and run nothing
    #[arg(long)]
    print: bool,
    /// Directory for the program
    #[arg(long, value_name = "DIR", default_value = "pombo-sites")]
    directory: PathBuf,
    /// The same command, where it can make hosts
    #[arg(long, hide = true)]
    inside: bool,
}

/// What is compared, the adaptive tree first: the name, the algorithm, and after how many calls the tree adapts.
pub(super) const TREES: [(&str, &str, Option<u32>); 5] = [
    ("adaptive", "adaptive", None),
    ("MST of time 0", "adaptive", Some(0)),
    ("binomial", "binomial", Some(0)),
    ("two-level", "two_level", Some(0)),
    ("chain", "chain", Some(0)),
];

/// The seconds of one trace, in the order of [`TREES`].
pub(super) struct Times {
    pub(super) seed: u64,
    pub(super) seconds: [f64; TREES.len()],
}

impl Times {
    /// Returns whether the adaptive tree was faster than all others.
    pub(super) fn is_first(&self) -> bool {
        let [adaptive, others @ ..] = self.seconds;
        others.iter().all(|&other| adaptive < other)
    }
}

/// Runs all traces and prints a table.
pub(super) fn main(options: &Options) -> Result<u8, Error> {
    let seeds = options.seeds.0..=options.seeds.1;
    if options.print {
        seeds.for_each(|seed| tell(&delays(seed)));
        return Ok(0);
    }
    if !options.inside {
        let words = std::env::args_os().skip(1);
        let words: Vec<_> = words.chain([INSIDE.into()]).collect();
        return network_namespaces::inside_as(&words);
    }
    let directory = &options.directory;
    std::fs::create_dir_all(directory).map_err(Error::file("make directory", directory))?;
    let (source, program) = (directory.join("rounds.c"), directory.join("rounds"));
    std::fs::write(&source, SOURCE).map_err(Error::file("write", &source))?;
    compiler::compile(&source, &program, "-O2")?;
    let program = std::path::absolute(&program).map_err(Error::file("find", program))?;
    let _hosts = Hosts::make(trace::HOSTS)?;
    let script = placement::prepare()?;
    tell(&heading());
    let mut all = Vec::new();
    for seed in seeds {
        let mut times = Times {
            seed,
            seconds: [f64::INFINITY; TREES.len()],
        };
        for (place, &(_, algorithm, every)) in TREES.iter().enumerate() {
            let mut command = Command::new("/proc/self/exe");
            command.args(["run", "-n", &trace::HOSTS.to_string()]);
            command
                .arg(&script)
                .arg(trace::HOSTS.to_string())
                .arg(&program);
            command.args(
                [options.rounds, options.bytes, MOST_MICROSECONDS].map(|word| word.to_string()),
            );
            command.arg(seed.to_string()).stdin(Stdio::null());
            command
                .env("POMBO_NET", "udp:eth0")
                .env("POMBO_FAULT_DELAY", delays(seed));
            command.env(
                "POMBO_SITES",
                placement::sites(trace::HOSTS, &trace::SITE_OF),
            );
            for operation in [Operation::Bcast, Operation::Reduce] {
                command.env(TABLE[operation as usize].variable(), algorithm);
            }
            let every = every.unwrap_or(options.every);
            command.env(ADAPTIVE_EVERY.name(), every.to_string());
            times.seconds[place] = run(&mut command)?;
        }
        tell(&line(&times));
        all.push(times);
    }
    let first = all.iter().filter(|times| times.is_first()).count();
    tell(&format!("adaptive first in {first} of {}", all.len()));
    if let Some(path) = &options.svg {
        let text = plot::draw(&all).map_err(|error| std::io::Error::other(error.to_string()));
        let written = text.and_then(|text| std::fs::write(path, text));
        written.map_err(Error::file("write", path))?;
    }
    Ok(u8::from(options.least.is_some_and(|least| first < least)))
}

fn delays(seed: u64) -> String {
    placement::delays(trace::HOSTS, trace::HOSTS, &trace::of(seed))
}

/// Runs the program, and returns the seconds that it tells.
fn run(command: &mut Command) -> Result<f64, Error> {
    let output = command.output().map_err(Error::system("start a job"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let seconds = text
        .trim()
        .strip_prefix("seconds ")
        .and_then(|it| it.parse().ok());
    seconds
        .filter(|_| output.status.success())
        .ok_or_else(|| Error::NoHosts {
            reason: format!(
                "a job failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ),
        })
}

fn heading() -> String {
    let mut text = String::from("seconds; * is the least\nseed");
    for (name, ..) in TREES {
        let _ = write!(text, "  {name:>13}");
    }
    text
}

fn line(times: &Times) -> String {
    let least = times.seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let mut text = format!("{:4}", times.seed);
    for seconds in times.seconds {
        let mark = if seconds == least { "*" } else { " " };
        let _ = write!(text, "  {seconds:12.3}{mark}");
    }
    text
}

fn seeds(text: &str) -> Result<(u64, u64), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => Err("give two numbers, as in 1-20, or one".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_adaptive_tree_is_first_only_before_all_others() {
        let times = |seconds| Times { seed: 1, seconds };
        assert!(times([1.0, 2.0, 3.0, 4.0, 5.0]).is_first());
        assert!(!times([1.0, 2.0, 1.0, 4.0, 5.0]).is_first());
        assert!(line(&times([2.0, 1.0, 3.0, 4.0, 5.0])).contains("1.000*"));
    }

    #[test]
    fn seeds_are_numbers() {
        assert_eq!(seeds("3"), Ok((3, 3)));
        assert_eq!(seeds("1-20"), Ok((1, 20)));
        for wrong in ["", "2-1", "a", "1-", "-1"] {
            assert!(seeds(wrong).is_err(), "{wrong}");
        }
    }
}
