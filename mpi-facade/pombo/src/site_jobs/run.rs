//! `pombo sites run`: a job on the hosts of a file of sites.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::placement::{self, Change};
use crate::bench::network_namespaces::{self, Hosts, INSIDE};
use crate::console::warn;
use crate::error::Error;
use crate::run;
use crate::sites::{Sites, When};

/// The file of sites, and the job.
#[derive(Args)]
pub(crate) struct Options {
    /// The same command, where it can make hosts
    #[arg(long, hide = true)]
    inside: bool,
    /// A file of sites: `examples/sites` has some
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Options of `pombo run`, the program and its arguments
    #[arg(
        value_name = "OPTIONS AND PROGRAM",
        num_args = 1..,
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

/// Runs the job.
pub(super) fn main(options: &Options) -> Result<u8, Error> {
    let sites = Sites::read(&options.file)?;
    let changes = changes(&sites).map_err(|what| Error::Sites {
        path: options.file.clone(),
        line: None,
        what,
    })?;
    if !options.inside {
        let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
        let place = words.iter().position(|word| word == "run");
        words.insert(place.map_or(0, |place| place + 1), INSIDE.into());
        return network_namespaces::inside_as(&words);
    }
    let count = sites.hosts();
    let hosts = Hosts::make(count)?;
    let script = placement::prepare()?;
    for host in 0..count {
        let others = (0..count).filter(|&other| other != host);
        let rates: Vec<_> = others.map(|other| sites.link(host, other).rate).collect();
        if rates.iter().any(|rate| Some(rate) != rates.first()) {
            warn(&format!(
                "host {host} has links of several rates: it sends at the greatest of them"
            ));
        }
        if let Some(rate) = rates
            .into_iter()
            .collect::<Option<Vec<u64>>>()
            .and_then(|all| all.into_iter().max())
        {
            hosts.limit(host, rate)?;
        }
    }
    run::main_with("pombo sites run", &options.words, |request| {
        if !request.is_counted {
            request
                .contexts
                .iter_mut()
                .for_each(|context| context.ranks = count);
        }
        let ranks = request.contexts.iter().map(|context| context.ranks).sum();
        let delays = placement::delays(ranks, count, &changes);
        placement::set(request, &delays, &placement::sites(ranks, sites.site_of()));
        for context in &mut request.contexts {
            placement::place(context, &script, count);
        }
    })
}

/// Returns the latencies of all links, and their changes in the order of their times.
fn changes(sites: &Sites) -> Result<Vec<Change>, String> {
    let mut changes = Vec::new();
    for one in 0..sites.hosts() {
        for other in one + 1..sites.hosts() {
            changes.push(Change {
                time: 0,
                hosts: (one, other),
                latency: sites.link(one, other).latency,
            });
        }
    }
    for event in sites.events() {
        let When::Time(time) = event.when else {
            return Err("an event before the n-th broadcast is for `pombo simulate`: a real job needs `at = \"2 s\"`".into());
        };
        if event.change.rate.is_some() {
            return Err(
                "an event changes a rate, which is for `pombo simulate`: rates of a real job stay"
                    .into(),
            );
        }
        let latency = event.change.latency.unwrap_or(0);
        changes.extend(event.pairs.iter().map(|&hosts| Change {
            time,
            hosts,
            latency,
        }));
    }
    // Those of equal times keep the order of the file.
    changes.sort_by_key(|change| change.time);
    Ok(changes)
}
