//! `pombo simulate`: broadcasts over sites in virtual time, along fixed trees and along a spanning tree that adapts.
//! `cli` calls it. Source: "Biblioteca de Comunicacao Coletiva para Ambientes Distribuidos Dinamicos", section 5.

mod adaptive;
mod failure;
mod plot;
mod run;
mod table;
#[cfg(test)]
mod tests;
mod world;

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use crate::console::tell;
use crate::error::Error;
use crate::sites::{HoldRule, Sites, Time};
pub(crate) use failure::Failure;
use run::{Plan, Scheme, Series};

/// Most broadcasts of a run.
const MAX_BROADCASTS: i64 = 100_000;

/// What `pombo simulate` was asked for.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The sites, their links and how these change; examples/sites has some
    #[arg(value_name = "SITES.toml")]
    sites: PathBuf,
    /// The process that broadcasts
    #[arg(long, value_name = "PROCESS", default_value_t = 0)]
    root: usize,
    /// Bytes of a broadcast
    #[arg(long, value_name = "BYTES", default_value_t = 24)]
    bytes: u32,
    /// Numbers of broadcasts that follow each other
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1,4,16", value_parser = clap::value_parser!(u64).range(1..=MAX_BROADCASTS as u64))]
    broadcasts: Vec<u64>,
    /// By how many per cent a link must change for the tree to adapt
    #[arg(long, value_name = "PERCENT,..", value_delimiter = ',', default_value = "10", value_parser = clap::value_parser!(u32).range(..=10_000))]
    threshold: Vec<u32>,
    /// Look for changes before the first broadcast and every N-th from there
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1,4", value_parser = clap::value_parser!(u64).range(1..=MAX_BROADCASTS as u64))]
    every: Vec<u64>,
    /// How long a send keeps its sender from the next one, instead of what the file says: a time, or a part of the
    /// latency such as "17 %"
    #[arg(long, value_name = "TIME")]
    hold: Option<HoldRule>,
    /// How long a process waits for the answer to a probe
    #[arg(long, value_name = "TIME", default_value = "2 s")]
    probe_limit: Time,
    /// Draw the times
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Simulates every tree, prints the times and draws them.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    let sites = Sites::read(&options.sites)?;
    if options.root >= sites.hosts() {
        return Err(Error::Value {
            what: "--root",
            given: options.root.to_string(),
            want: "one of the file's processes, which count from 0",
        });
    }
    let plan = Plan {
        root: options.root,
        bytes: options.bytes as usize,
        broadcasts: options.broadcasts.iter().copied().max().unwrap_or(1),
        hold: options.hold.unwrap_or(sites.hold()),
        limit: options.probe_limit.0,
    };
    let series = simulate(&sites, &plan, options)?;
    let heading = format!(
        "{}: {} processes in {} sites, root {}, {} bytes, hold {}",
        options.sites.display(),
        sites.hosts(),
        sites.names().len(),
        plan.root,
        plan.bytes,
        plan.hold
    );
    if let Some(path) = &options.svg {
        let file = File::create(path).map_err(Error::file("write", path))?;
        plot::write(&heading, &series, &options.broadcasts, BufWriter::new(file))
            .map_err(Error::file("write", path))?;
    }
    tell(&table::text(&heading, &series, &options.broadcasts));
    Ok(0)
}

/// Runs the fixed trees, and the adaptive one with every threshold and interval.
fn simulate(sites: &Sites, plan: &Plan, options: &Options) -> Result<Vec<Series>, Error> {
    let mut schemes = vec![
        ("binomial (MPICH-like)".to_owned(), Scheme::Binomial),
        ("two-level (MagPIe-like)".to_owned(), Scheme::TwoLevel),
        ("spanning tree".to_owned(), Scheme::SpanningTree),
    ];
    for &threshold in &options.threshold {
        for &every in &options.every {
            let name = match every {
                1 => format!("adaptive, {threshold} %"),
                _ => format!("adaptive, {threshold} %, every {every}"),
            };
            schemes.push((name, Scheme::Adaptive { every, threshold }));
        }
    }
    let run = |(name, scheme)| match run::run(sites, plan, scheme) {
        Ok(times) => Ok(Series { name, times }),
        Err(failure) => Err(Error::Simulation { failure }),
    };
    schemes.into_iter().map(run).collect()
}
