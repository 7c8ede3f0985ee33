//! `pombo bench`: compares the cost of messages in our library and in every other MPI that is installed. `cli` calls
//! it.
//!
//! One C program measures (`examples/ported/bench.c`), compiled by each library's own `mpicc`. The programs of all
//! libraries run side by side and measure by turns, so that a disturbance of the machine affects all alike; the result
//! is the ratio between them.

mod bench_process;
mod interleave;
mod json;
mod layers;
mod library;
mod limited_command;
mod machine;
mod measured_value;
mod median_bounds;
mod multihost;
pub(crate) mod network_namespaces;
mod options;
mod plan;
mod plot;
mod program;
mod results;
mod state;
mod table;
mod targets;

use std::time::Duration;

use serde_json::Value;

use crate::console::tell;
use crate::error::Error;
use interleave::Interleaved;
use library::Library;
pub(crate) use limited_command::{End, Jobs};
pub(crate) use machine::Machine;
pub(crate) use multihost::burst_broadcast;
pub(crate) use network_namespaces::{Hosts, Rate, inside};
pub(crate) use options::Options;
use options::create;
use plan::Effort;
use program::{compile, compile_no_cma, prepare};
use results::Results;

/// Turns in a state of the line without which a measurement has no figure there.
const LEAST: usize = 7;
const FULL: Effort = Effort {
    rounds: 11,
    seconds: 0.025,
    starts: 5,
    patience: Duration::from_millis(500),
    wait: Duration::from_secs(60),
};
const QUICK: Effort = Effort {
    rounds: 3,
    seconds: 0.01,
    starts: 1,
    wait: Duration::ZERO,
    ..FULL
};

/// Prints the table. The exit code is 0 if our own library succeeded every time.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    // Errors that need no measurement are found first.
    let networks = library::networks_for(&options.net, options.hosts)?;
    if options.hosts {
        return multihost::main(options, &networks);
    }
    known(&options.only)?;
    let mut libraries = library::ours(&networks)?;
    if !options.alone && (!options.layers || !options.against.is_empty()) {
        libraries.extend(library::others(&options.against, &networks)?);
    }
    let json = options.json.as_deref().map(create).transpose()?;
    let page = options.markdown.as_deref().map(create).transpose()?;
    let svg = options.plot.as_deref().map(create).transpose()?;
    let jobs = Jobs::new()?;
    let source = prepare(&options.directory)?;
    compile(&mut libraries, &source, &jobs)?;
    if options.no_cma {
        let program = compile_no_cma(source.parent().unwrap_or(&options.directory))?;
        for library in &mut libraries {
            library.start_through(&program);
        }
    }
    let machine = Machine::here();
    let (results, is_whole, limits) = measure(options, &libraries, &jobs, machine.cores)?;
    let table = table::text(&results);
    tell(&format!(
        "\n{table}{}{limits}",
        table::measured_on(&machine, &results)
    ));
    let (short, is_short) = targets::check(&results);
    if options.check {
        tell(&short);
    }
    if let Some((file, path)) = json {
        json::write(&results, &machine, Value::Null, file).map_err(Error::file("write", path))?;
    }
    if let Some((file, path)) = page {
        table::markdown(&results, &machine, file).map_err(Error::file("write", path))?;
    }
    if let Some((file, path)) = svg {
        let write = if options.layers {
            layers::plot::write(&results, &machine, file)
        } else {
            plot::write(&results, &machine, file)
        };
        write.map_err(Error::file("write", path))?;
    }
    let is_well = is_whole && !(options.strict && is_short);
    Ok(if is_well { 0 } else { 1 })
}

/// Returns the figures, whether our own libraries never failed, and what the layers tell of the targets.
fn measure(
    options: &Options,
    libraries: &[Library],
    jobs: &Jobs,
    cores: usize,
) -> Result<(Results, bool, String), Error> {
    let effort = if options.quick { &QUICK } else { &FULL };
    if options.layers {
        let (results, limits) =
            layers::measure(libraries, jobs, effort, cores, &options.directory)?;
        return Ok((results, true, limits));
    }
    let columns = libraries
        .iter()
        .map(|c| (c.name.clone(), c.is_ours(), c.compared_over(false)));
    let mut bench = Interleaved {
        libraries,
        effort,
        jobs,
        cores,
        only: &options.only,
        hosts: None,
        results: Results {
            least: LEAST.min(effort.rounds),
            ..Results::new(columns)
        },
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
    if plan::has_pss(&options.only) {
        bench.memory();
    }
    let (results, is_whole) = bench.into_results();
    Ok((results, is_whole, String::new()))
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
