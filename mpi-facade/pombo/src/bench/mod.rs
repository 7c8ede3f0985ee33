//! `pombo bench`: what messages cost, with our library and with every other MPI that is there.
//! `cli` calls it.
//!
//! One C program measures (`examples/ported/bench.c`), compiled by each library's own `mpicc`.
//! All libraries take turns within each round, so that what disturbs the machine disturbs them
//! alike; what counts is the ratio between them.

mod contender;
mod figure;
mod job;
mod report;
mod results;
mod table;

use std::fs::{self, File};
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;
use crate::terminal::{tell, warn};
use contender::Contender;
use figure::Figure;
use job::{End, Jobs};
use results::Results;

const SOURCE: &str = include_str!("../../../../examples/ported/bench.c");

/// Our own library's place among the contenders.
const OURS: usize = 0;

/// A run of the program that takes longer is ended. With many more ranks than cores some
/// libraries need half a minute.
const LIMIT: Duration = Duration::from_secs(90);

/// What `pombo bench` was asked for.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Ranks of what all ranks do together; messages are measured between two
    #[arg(short = 'n', long = "np", value_name = "RANKS", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    ranks: u32,
    /// Compare with the MPI in this directory, which has bin/mpicc and bin/mpiexec [also: those
    /// that Debian installs]
    #[arg(long, value_name = "DIR")]
    against: Vec<PathBuf>,
    /// Take a tenth of the time, for rough figures
    #[arg(long)]
    quick: bool,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Directory for the programs
    #[arg(long, value_name = "DIR", default_value = "pombo-bench")]
    directory: PathBuf,
}

/// How long to measure.
struct Effort {
    rounds: usize,
    /// For each measurement in each round.
    seconds: f32,
}

const FULL: Effort = Effort {
    rounds: 5,
    seconds: 0.1,
};
const QUICK: Effort = Effort {
    rounds: 2,
    seconds: 0.025,
};

/// Prints the table. The exit code is 0 if our own library answered every time.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    // First what can be refused at once.
    let mut contenders = contender::find(&options.against)?;
    let json = options.json.as_deref().map(create).transpose()?;
    let mut jobs = Jobs::start()?;
    let source = prepare(&options.directory)?;
    compile(&mut contenders, &source, &mut jobs)?;
    if cfg!(debug_assertions) {
        warn("this build is not optimised; for figures that count: cargo run --release -- bench");
    }
    let effort = if options.quick { QUICK } else { FULL };
    let names = contenders.iter().map(|contender| contender.name.clone());
    let mut bench = Bench {
        contenders: &contenders,
        effort: &effort,
        jobs: &mut jobs,
        results: Results::new(names.collect()),
        failed: Vec::new(),
    };
    bench.measure(options.ranks);
    let results = &bench.results;
    tell(&table::text(results));
    if let Some((file, path)) = json {
        report::write(results, file).map_err(Error::file("write", path))?;
    }
    let is_whole = bench.failed.iter().all(|(who, _)| *who != OURS);
    Ok(if is_whole { 0 } else { 1 })
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
fn compile(contenders: &mut Vec<Contender>, source: &Path, jobs: &mut Jobs) -> Result<(), Error> {
    let mut works = Vec::new();
    for mut contender in contenders.drain(..) {
        progress(&format!("compiling for {}\n", contender.name));
        match contender.compile(source, jobs)? {
            End::Done => works.push(contender),
            end => warn(&format!("without {}: its mpicc {end}", contender.name)),
        }
    }
    *contenders = works;
    Ok(())
}

/// One of the two things that the program does.
#[derive(Clone, Copy, PartialEq)]
struct Part {
    name: &'static str,
    ranks: u32,
}

/// Everything that a turn needs and fills.
struct Bench<'a> {
    contenders: &'a [Contender],
    effort: &'a Effort,
    jobs: &'a mut Jobs,
    results: Results,
    /// What failed once is not tried again: it may have taken the whole limit.
    failed: Vec<(usize, Part)>,
}

impl Bench<'_> {
    /// All rounds.
    fn measure(&mut self, ranks: u32) {
        let pair = Part {
            name: "pair",
            ranks: 2,
        };
        let all = Part { name: "all", ranks };
        let rounds = self.effort.rounds;
        for round in 0..rounds {
            for part in [pair, all] {
                let ranks = part.ranks;
                progress(&format!("round {} of {rounds}, {ranks} ranks:", round + 1));
                // Each time somebody else begins.
                for turn in 0..self.contenders.len() {
                    self.turn((turn + round) % self.contenders.len(), part);
                }
                progress("\n");
            }
        }
    }

    fn turn(&mut self, who: usize, part: Part) {
        if self.failed.contains(&(who, part)) {
            return;
        }
        let name = &self.contenders[who].name;
        progress(&format!(" {name}"));
        let end = self.run(who, part);
        if !matches!(end, End::Done) {
            self.failed.push((who, part));
            progress("\n");
            let ranks = part.ranks;
            warn(&format!("no more of {name} on {ranks} ranks: it {end}"));
        }
    }

    fn run(&mut self, who: usize, part: Part) -> End {
        let mut command = self.contenders[who].launch(part.ranks);
        command
            .arg(part.name)
            .arg(self.effort.seconds.to_string())
            // Every rank ends itself then, even if it has left our process group.
            .arg(LIMIT.as_secs().to_string());
        let results = &mut self.results;
        self.jobs.run(&mut command, LIMIT, |line| {
            if let Some(text) = figure::library(line) {
                results.describe(who, text);
            } else if let Some(figure) = Figure::parse(line, part.ranks) {
                results.add(who, figure);
            }
        })
    }
}
