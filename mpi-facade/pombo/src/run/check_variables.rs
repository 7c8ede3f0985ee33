//! Checks the variables of the ranks before any rank starts, so that an error is reported once and not by every rank.
//! Only `run` uses it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

use pombo_job::settings::{self, Variable, Verdict};
use pombo_mpi::collective::{Selection, TABLE};
use pombo_mpi::settings::{ADAPTIVE_EVERY, NETWORK_TIMES, SITES};

use super::arguments::{Context, Request};
use crate::console::warn;
use crate::error::Error;
use crate::variables;

/// Refuses values that no rank would accept, and warns of unknown variables.
pub(crate) fn check(request: &Request) -> Result<(), Error> {
    check_values(request)?;
    check_alike(request)?;
    match &request.hosts {
        // Other hosts have files of their own.
        Some(_) => Ok(()),
        None => request.contexts.iter().try_for_each(check_files),
    }
}

/// Refuses names of files that cannot be read or written by the ranks of a program, which would find out late or never.
fn check_files(context: &Context) -> Result<(), Error> {
    let directory = context.directory.as_deref().unwrap_or(Path::new("."));
    let named = |variable: &Variable| {
        let mut own = context.environment.iter().rev();
        let own = own.find(|(name, _)| name == variable.name());
        let value = own.map(|(_, value)| value.clone());
        let value = value.or_else(|| std::env::var_os(variable.name()));
        value
            .filter(|value| !value.is_empty())
            .map(|value| directory.join(value))
    };
    if let Some(file) = named(settings::STATS_FILE)
        && !file.parent().is_some_and(Path::is_dir)
    {
        return Err(Error::Value {
            what: settings::STATS_FILE.name(),
            given: file.display().to_string(),
            want: "a file in a directory that is there",
        });
    }
    match named(settings::AUTH_KEY_FILE) {
        Some(file) => File::open(&file)
            .map(drop)
            .map_err(Error::file("read the file of POMBO_AUTH_KEY_FILE,", file)),
        None => Ok(()),
    }
}

/// Refuses programs of one job that would choose the algorithm of an operation, or its tree, in different ways.
fn check_alike(request: &Request) -> Result<(), Error> {
    let value = |context: &Context, name: &str| {
        let mut own = context.environment.iter().rev();
        let own = own.find(|(own, _)| own == name);
        own.map_or_else(|| std::env::var_os(name), |(_, value)| Some(value.clone()))
    };
    let differs = |name: &&str| {
        let mut all = request.contexts.iter().map(|context| value(context, name));
        let first = all.next();
        all.any(|other| Some(other) != first)
    };
    let has_times = |context: &Context| value(context, NETWORK_TIMES.name()).is_some();
    // The network's name is that of its times.
    let by_net = request
        .contexts
        .iter()
        .any(has_times)
        .then_some(settings::NET.name());
    let own = [NETWORK_TIMES, SITES, ADAPTIVE_EVERY].map(|variable| variable.name());
    let mut all = own
        .into_iter()
        .chain(by_net)
        .chain(TABLE.iter().map(Selection::variable));
    match all.find(differs) {
        None => Ok(()),
        Some(name) => Err(Error::Differs { name }),
    }
}

fn check_values(request: &Request) -> Result<(), Error> {
    let inherited = std::env::vars_os();
    let own = request.contexts.iter().flat_map(|context| {
        // Later entries win.
        let pairs = context.environment.iter().cloned();
        pairs.collect::<BTreeMap<_, _>>()
    });
    let own: Vec<(OsString, OsString)> = own.collect();
    let is_set_again = |name: &OsStr| {
        let mut contexts = request.contexts.iter();
        contexts.all(|context| context.environment.iter().any(|(own, _)| own == name))
    };
    let inherited = inherited.filter(|(name, _)| !is_set_again(name));
    let mut warned = Vec::new();
    for (name, value) in inherited.chain(own) {
        let Some(text) = name.to_str() else { continue };
        match variables::check(text, value.to_str()) {
            Verdict::Wrong { name, must } => {
                return Err(Error::Value {
                    what: name.to_str().unwrap_or_default(),
                    given: value.to_string_lossy().into_owned(),
                    want: must,
                });
            }
            Verdict::Renamed { name, now } => return Err(Error::Renamed { name, now }),
            Verdict::Unknown if !warned.contains(&name) => {
                warn(&unknown(text, variables::nearest(text)));
                warned.push(name);
            }
            _ => {}
        }
    }
    Ok(())
}

fn unknown(name: &str, nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("there is no variable {name}; did you mean {nearest}?"),
        None => format!("there is no variable {name}; `pombo info` lists all"),
    }
}
