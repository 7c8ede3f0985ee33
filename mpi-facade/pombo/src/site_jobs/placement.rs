//! Which host a rank is on, and what the library is told of the links between hosts. `run` and `traces` use it.

use std::ffi::OsString;
use std::fmt::Write;

use pombo_job::settings::{FAULT_DELAY, NET};
use pombo_mpi::settings::SITES;

use crate::bench::network_namespaces::Hosts;
use crate::error::Error;
use crate::run::{Context, Request};

/// A script that runs the command behind the number of hosts on the host of this rank.
const PLACE: &str = "#!/bin/sh
hosts=$1; shift
exec /run/pombo/enter h$((POMBO_RANK % hosts)) \"$@\"
";

/// The latency of the links between hosts from a time on.
pub(super) struct Change {
    /// In ns after the beginning.
    pub(super) time: u64,
    pub(super) hosts: (usize, usize),
    /// In ns.
    pub(super) latency: u64,
}

/// Returns the value of `POMBO_FAULT_DELAY` for that many ranks; the changes are in the order of their times.
pub(super) fn delays(ranks: usize, hosts: usize, changes: &[Change]) -> String {
    let mut text = String::new();
    let mut last = 0;
    for change in changes {
        let mut comma = if text.is_empty() { "" } else { "," };
        if change.time > last {
            let _ = write!(text, "{comma}@{}", change.time);
            (last, comma) = (change.time, ",");
        }
        let (one, other) = change.hosts;
        for from in (one..ranks).step_by(hosts) {
            for to in (other..ranks).step_by(hosts) {
                let _ = write!(text, "{comma}{from}-{to}={}", change.latency);
                comma = ",";
            }
        }
    }
    text
}

/// Returns the value of `POMBO_SITES` for that many ranks.
pub(super) fn sites(ranks: usize, site_of: &[usize]) -> String {
    let sites = (0..ranks).map(|rank| site_of[rank % site_of.len()].to_string());
    sites.collect::<Vec<_>>().join(",")
}

/// Writes the script that places ranks, once the hosts are there.
pub(super) fn prepare() -> Result<OsString, Error> {
    Ok(Hosts::write("place", PLACE)?.into())
}

/// Puts a program's ranks on the hosts.
pub(super) fn place(context: &mut Context, script: &OsString, hosts: usize) {
    let program = std::mem::replace(&mut context.program, script.clone());
    let arguments = std::mem::take(&mut context.arguments);
    context.arguments = [hosts.to_string().into(), program].into();
    context.arguments.extend(arguments);
}

/// Sets the variables of all programs of a job, unless the user has.
pub(super) fn set(request: &mut Request, delays: &str, sites: &str) {
    let all = [
        (FAULT_DELAY.name(), delays),
        (SITES.name(), sites),
        (NET.name(), "udp:eth0"),
    ];
    for context in &mut request.contexts {
        for (name, value) in all {
            let is_set = context.environment.iter().any(|(own, _)| own == name);
            if !is_set && std::env::var_os(name).is_none() && !value.is_empty() {
                context.environment.push((name.into(), value.into()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_ranks_on_two_hosts_gets_their_delay() {
        let change = |time, hosts, latency| Change {
            time,
            hosts,
            latency,
        };
        let changes = [change(0, (0, 1), 5), change(7, (1, 2), 9)];
        assert_eq!(delays(3, 3, &changes), "0-1=5,@7,1-2=9");
        assert_eq!(
            delays(5, 3, &changes),
            "0-1=5,0-4=5,3-1=5,3-4=5,@7,1-2=9,4-2=9"
        );
        assert_eq!(delays(3, 3, &[]), "");
        assert_eq!(sites(5, &[0, 0, 4]), "0,0,4,0,0");
    }
}
