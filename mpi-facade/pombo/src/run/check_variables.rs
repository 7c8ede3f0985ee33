//! Checks the variables of the ranks before any rank starts, so that an error is reported once and not by every rank.
//! Only `run` uses it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use pombo_job::settings::Verdict;

use super::arguments::Request;
use crate::console::warn;
use crate::error::Error;
use crate::variables;

/// Refuses values that no rank would accept, and warns of unknown variables.
pub(crate) fn check(request: &Request) -> Result<(), Error> {
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
                    what: name,
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
