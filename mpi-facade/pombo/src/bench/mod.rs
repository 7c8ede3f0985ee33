//! `pombo bench`: what messages cost, with our library and with every other MPI that is there.
//! `cli` calls it.
//!
//! One C program measures (`examples/ported/bench.c`), compiled by each library's own `mpicc`.
//! The programs of all libraries wait beside each other and take turns, so that what disturbs
//! the machine disturbs them alike; what counts is the ratio between them.

mod bars;
mod contender;
mod field;
mod figure;
mod hosts;
mod job;
mod layers;
mod machine;
mod plan;
mod plot;
mod report;
mod results;
mod session;
mod table;
mod turns;

use std::fs::{self, File};
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use serde_json::Value;

use crate::error::Error;
use crate::terminal::{tell, warn};
use contender::Contender;
pub(crate) use field::bursts;
use figure::Spread;
use hosts::Rate;
use job::{End, Jobs};
use machine::Machine;
use results::Results;
use turns::{Bench, Effort};

const SOURCE: &str = include_str!("../../../../examples/ported/bench.c");

/// What `pombo bench` was asked for.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Numbers of ranks, with commas between; what is between two is measured with 2
    #[arg(short = 'n', long = "np", value_name = "RANKS", value_delimiter = ',', default_values_t = [2, 4, 8], value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: Vec<u32>,
    /// Every rank on a host of its own; hosts are namespaces that this command makes, without root
    #[arg(long, conflicts_with_all = ["layers", "check"])]
    hosts: bool,
    /// With --hosts: how fast the line is on which broadcasts are measured
    #[arg(
        long,
        value_name = "RATE",
        default_value = "100mbit",
        requires = "hosts"
    )]
    shape: Rate,
    /// The same command, where it can make hosts
    #[arg(long, hide = true, requires = "hosts")]
    inside: bool,
    /// Our networks, each beside what other libraries have in its place [default: shm; with --hosts:
    /// ethernet,udp]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = PossibleValuesParser::new(contender::networks()))]
    net: Vec<String>,
    /// With --hosts: also with frames that are authenticated whole, or not at all
    #[arg(long, value_name = "HOW", value_delimiter = ',', requires = "hosts", value_parser = PossibleValuesParser::new(contender::AUTH))]
    auth: Vec<String>,
    /// Compare with the MPI in this directory, which has bin/mpicc and bin/mpiexec [also: those
    /// in PATH]
    #[arg(long, value_name = "DIR")]
    against: Vec<PathBuf>,
    /// Compare with no other library
    #[arg(long, conflicts_with = "against")]
    alone: bool,
    /// Measure only what begins so: latency, rate, barrier, launch, ...
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Tell what driver, kernel and MPI add to a message, instead of comparing libraries
    #[arg(long, conflicts_with_all = ["against", "only", "check"])]
    layers: bool,
    /// Take a tenth of the time, for rough figures
    #[arg(long)]
    quick: bool,
    /// Tell which bars of the project fall short
    #[arg(long)]
    check: bool,
    /// With --check: fail if a bar falls short
    #[arg(long, requires = "check")]
    strict: bool,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the figures into this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Directory for the programs
    #[arg(long, value_name = "DIR", default_value = "pombo-bench")]
    directory: PathBuf,
}

const FULL: Effort = Effort {
    rounds: 11,
    seconds: 0.025,
    starts: 5,
    patience: Duration::from_secs(1),
};
const QUICK: Effort = Effort {
    rounds: 3,
    seconds: 0.01,
    starts: 1,
    ..FULL
};

/// Prints the table. The exit code is 0 if our own library answered every time.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    // First what can be refused at once.
    let networks = contender::networks_for(&options.net, options.hosts)?;
    if options.hosts {
        return field::main(options, &networks);
    }
    known(&options.only)?;
    let mut contenders = contender::ours(&networks)?;
    if !options.alone && !options.layers {
        contenders.extend(contender::others(&options.against, &networks)?);
    }
    let json = options.json.as_deref().map(create).transpose()?;
    let svg = options.plot.as_deref().map(create).transpose()?;
    let jobs = Jobs::new()?;
    let source = prepare(&options.directory)?;
    compile(&mut contenders, &source, &jobs)?;
    let machine = Machine::here();
    let (results, is_whole) = measure(options, &contenders, &jobs, machine.cores)?;
    let table = table::text(&results);
    tell(&format!("\n{table}{}", told(&machine, &results)));
    let (short, is_short) = bars::check(&results);
    if options.check {
        tell(&short);
    }
    if let Some((file, path)) = json {
        report::write(&results, &machine, Value::Null, file).map_err(Error::file("write", path))?;
    }
    if let Some((file, path)) = svg {
        plot::write(&results, &machine, file).map_err(Error::file("write", path))?;
    }
    let is_well = is_whole && !(options.strict && is_short);
    Ok(if is_well { 0 } else { 1 })
}

/// The figures, and whether our own libraries never failed.
fn measure(
    options: &Options,
    contenders: &[Contender],
    jobs: &Jobs,
    cores: usize,
) -> Result<(Results, bool), Error> {
    let effort = if options.quick { &QUICK } else { &FULL };
    if options.layers {
        let results = layers::measure(&contenders[0], jobs, effort, cores)?;
        return Ok((results, true));
    }
    let columns = contenders
        .iter()
        .map(|c| (c.name.clone(), c.is_ours(), c.compared_over(false)));
    let mut bench = Bench {
        contenders,
        effort,
        jobs,
        cores,
        only: &options.only,
        hosts: None,
        results: Results::new(columns),
        failed: Vec::new(),
    };
    for &ranks in &options.ranks {
        bench.messages(ranks);
    }
    if plan::has_starts(&options.only) {
        for &ranks in &options.ranks {
            bench.starts(ranks);
        }
    }
    Ok(bench.into_results())
}

fn known(only: &[String]) -> Result<(), Error> {
    match only.iter().find(|word| !plan::is_known(word)) {
        None => Ok(()),
        Some(word) => Err(Error::Value {
            what: "--only",
            given: word.clone(),
            want: "the beginning of a measurement's name, as the table shows it with '-' for ' '",
        }),
    }
}

/// What the figures were measured on.
fn told(machine: &Machine, results: &Results) -> String {
    let Machine { name, cores, .. } = machine;
    let mut text = format!("{name}, {cores} cores");
    if let Some(share) = machine.others() {
        let percent = (share * 100.0).round();
        text += &format!("; other programs took {percent} % of it");
    }
    if let Some(line) = results.line() {
        let Spread { median, low, high } = line;
        text += &format!(
            "; a cache line took {median:.0} ns from core to core (quartiles {low:.0} and {high:.0})"
        );
    }
    text + ".\n"
}

fn create(path: &Path) -> Result<(File, &Path), Error> {
    let file = File::create(path).map_err(Error::file("write", path))?;
    Ok((file, path))
}

/// Says on standard error what is going on.
fn progress(text: &str) {
    // A closed terminal is no reason to fail.
    let _ = stderr().write_all(text.as_bytes());
}

/// Writes the source into the directory and answers with its path.
fn prepare(directory: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(directory).map_err(Error::file("make directory", directory))?;
    let directory = directory
        .canonicalize()
        .map_err(Error::file("open", directory))?;
    let source = directory.join("bench.c");
    fs::write(&source, SOURCE).map_err(Error::file("write", &source))?;
    Ok(source)
}

/// Compiles for all; whoever's compiler fails is told and left out, unless it is our own.
fn compile(contenders: &mut Vec<Contender>, source: &Path, jobs: &Jobs) -> Result<(), Error> {
    if cfg!(debug_assertions) {
        warn("this build is not optimised; for figures that count: cargo run --release -- bench");
    }
    let mut works = Vec::new();
    for mut contender in contenders.drain(..) {
        progress(&format!("compiling for {}\n", contender.name));
        match contender.compile(source, jobs)? {
            End::Done { .. } => works.push(contender),
            end => warn(&format!("without {}: its mpicc {end}", contender.name)),
        }
    }
    *contenders = works;
    Ok(())
}
