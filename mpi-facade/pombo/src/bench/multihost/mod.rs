//! `pombo bench --hosts`: the cost of messages between hosts, each rank on a host of its own. Only `bench` uses it.
//!
//! The first part measures on links without a limit: short messages, short broadcasts, and bandwidth by frame size. The
//! second part measures on slow links: broadcasts of long messages.

pub(crate) mod burst_broadcast;
mod link_ceiling;
mod plan;
mod plot;
mod table;

use std::time::Duration;

use super::bench_process::LIMIT;
use super::interleave::Interleaved;
use super::json;
use super::library::{self, Library};
use super::limited_command::Jobs;
use super::machine::Machine;
use super::network_namespaces::{self, Hosts};
use super::options::{Options, create};
use super::plan::Effort;
use super::program::{compile, prepare};
use super::results::Results;
use crate::console::tell;
use crate::error::Error;
use link_ceiling::Link;
use plan::Stage;

/// Time for the programs of other libraries to end; those that hang after the last measurement are killed.
const PATIENCE: Duration = Duration::from_secs(1);

const FAST: Effort = Effort {
    rounds: 7,
    seconds: 0.03,
    starts: 0,
    patience: Duration::from_secs(1),
    wait: Duration::ZERO,
};
const SLOW: Effort = Effort {
    rounds: 3,
    seconds: 0.2,
    starts: 0,
    patience: Duration::from_secs(2),
    wait: Duration::ZERO,
};
const SIZES: Effort = Effort {
    rounds: 1,
    seconds: 0.1,
    ..SLOW
};
const QUICK: Effort = Effort { rounds: 1, ..FAST };

/// Prints the tables. The exit code is 0 if our own library succeeded every time.
pub(super) fn main(options: &Options, networks: &[String]) -> Result<u8, Error> {
    plan::known(&options.only)?;
    if let Some(alone) = options.ranks.iter().find(|&&ranks| ranks < 2) {
        return Err(Error::Value {
            what: "-n",
            given: alone.to_string(),
            want: "numbers from 2 on with --hosts",
        });
    }
    if !options.inside {
        return network_namespaces::inside();
    }
    let mut libraries = library::ours_by(networks, &options.auth)?;
    if !options.alone {
        libraries.extend(library::bursts(&burst_broadcast::KINDS)?);
        libraries.extend(library::others_on_hosts(&options.against)?);
    }
    let json = options.json.as_deref().map(create).transpose()?;
    let svg = options.plot.as_deref().map(create).transpose()?;
    let jobs = Jobs::new()?;
    let source = prepare(&options.directory)?;
    compile(&mut libraries, &source, &jobs)?;
    let machine = Machine::here();
    let most = options.ranks.iter().copied().max().unwrap_or(1);
    let hosts = Hosts::make(most as usize)?;
    let (results, is_whole) = measure(options, &libraries, &jobs, &hosts, machine.cores)?;
    let link = Link {
        rate: options.shape,
        tcp: hosts.tcp,
    };
    tell(&format!("\n{}", table::text(&results, &link, &libraries)));
    tell(&super::table::measured_on(&machine, &results));
    if let Some((file, path)) = json {
        let network = link.value(&libraries);
        json::write(&results, &machine, network, file).map_err(Error::file("write", path))?;
    }
    if let Some((file, path)) = svg {
        let drawn = plot::write(&results, &link, &libraries, &machine, file);
        drawn.map_err(Error::file("write", path))?;
    }
    Ok(if is_whole { 0 } else { 1 })
}

fn measure(
    options: &Options,
    libraries: &[Library],
    jobs: &Jobs,
    hosts: &Hosts,
    cores: usize,
) -> Result<(Results, bool), Error> {
    let columns = libraries
        .iter()
        .map(|c| (c.name.clone(), c.is_ours(), c.compared_over(true)));
    let mut bench = Interleaved {
        libraries,
        effort: &FAST,
        jobs,
        cores,
        only: &options.only,
        hosts: Some(hosts),
        results: Results::new(columns),
        failed: Vec::new(),
    };
    for stage in plan::stages(&options.ranks, options.quick, &options.only) {
        measure_stage(&mut bench, &stage, options, hosts)?;
    }
    Ok(bench.into_results())
}

fn measure_stage<'a>(
    bench: &mut Interleaved<'a>,
    stage: &Stage,
    options: &Options,
    hosts: &Hosts,
) -> Result<(), Error> {
    hosts.shape(None)?;
    hosts.set_mtu(stage.mtu)?;
    let mut sessions = bench.sessions(stage.ranks, |one| {
        stage.tasks().any(|task| one.measures(task.name))
    });
    let slow = Some(options.shape);
    let parts = [
        (&stage.fast, None, &FAST),
        (&stage.slow, slow, &SLOW),
        (&stage.sizes, slow, &SIZES),
    ];
    for (tasks, rate, effort) in parts {
        if tasks.is_empty() {
            continue;
        }
        hosts.shape(rate)?;
        bench.effort = if options.quick { &QUICK } else { effort };
        for task in tasks {
            let title = format!("{} hosts, MTU {}", stage.ranks, stage.mtu);
            bench.task(task, stage.ranks, &title, &mut sessions);
        }
    }
    hosts.shape(None)?;
    let ours = bench.libraries.iter().filter(|one| one.is_ours()).count();
    let theirs = sessions.split_off(ours);
    bench.end(sessions, stage.ranks, LIMIT);
    for session in theirs.into_iter().flatten() {
        session.end(PATIENCE);
    }
    Ok(())
}
