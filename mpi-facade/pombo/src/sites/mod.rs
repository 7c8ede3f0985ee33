//! Sites of hosts, the links between them, and when links change: the model that the simulator and the launcher of
//! simulated hosts share. `file` reads it from TOML.

mod file;
#[cfg(test)]
mod tests;
mod units;

use std::fmt;
use std::path::Path;

use crate::error::Error;

pub(crate) use units::Time;

/// Largest number of hosts of all sites.
pub(crate) const MAX_HOSTS: usize = 1024;

/// Hosts in sites, every link between two of them, and the changes of links. Each pair of hosts has one link, with the
/// same figures in both directions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sites {
    names: Vec<String>,
    /// The site of every host.
    site_of: Vec<usize>,
    /// The link of hosts a and b is at a * hosts + b and at b * hosts + a.
    links: Vec<Link>,
    hold: HoldRule,
    events: Vec<Event>,
}

/// What a message finds between two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Link {
    /// Time of one way in ns.
    pub(crate) latency: u64,
    /// Bits per second; `None` is unlimited.
    pub(crate) rate: Option<u64>,
}

/// How long a send occupies its sender before the bytes count: t_hold of parameterised multicast trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HoldRule {
    /// The same time for every link, in ns.
    Time(u64),
    /// A part of the link's latency, in millionths.
    Share(u64),
}

/// A change of links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    pub(crate) when: When,
    /// Whose links change, the lower host first.
    pub(crate) pairs: Vec<(usize, usize)>,
    pub(crate) change: Change,
}

/// When an event happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// Immediately before this broadcast, the first being 1.
    Broadcast(u64),
    /// So many ns after the beginning.
    Time(u64),
}

/// New figures of a link; what is `None` stays.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Change {
    /// In ns.
    pub(crate) latency: Option<u64>,
    /// In bits per second.
    pub(crate) rate: Option<u64>,
}

impl Sites {
    /// Reads a file, and those that it extends.
    ///
    /// # Errors
    /// [`Error::Sites`], which names the file, the line and the key; [`Error::File`] if there is no such file.
    pub(crate) fn read(path: &Path) -> Result<Sites, Error> {
        file::read(path)
    }

    /// Returns the number of hosts.
    pub(crate) fn hosts(&self) -> usize {
        self.site_of.len()
    }

    /// Returns the names of the sites in the order of the file.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the index of the site of every host.
    pub(crate) fn site_of(&self) -> &[usize] {
        &self.site_of
    }

    /// Returns the link between two hosts at the beginning; that of a host with itself costs nothing.
    pub(crate) fn link(&self, a: usize, b: usize) -> Link {
        self.links[a * self.hosts() + b]
    }

    /// Returns how long sends occupy their senders.
    pub(crate) fn hold(&self) -> HoldRule {
        self.hold
    }

    /// Returns the changes in the order of the file.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }
}

impl Link {
    /// Applies a change.
    pub(crate) fn change(&mut self, change: Change) {
        self.latency = change.latency.unwrap_or(self.latency);
        self.rate = change.rate.or(self.rate);
    }

    /// Returns the time in which the link takes `bytes` bytes, in ns.
    pub(crate) fn transmission(&self, bytes: usize) -> u64 {
        let time = |rate: u64| bytes as u128 * 8_000_000_000 / u128::from(rate.max(1));
        self.rate
            .map_or(0, |rate| u64::try_from(time(rate)).unwrap_or(u64::MAX))
    }
}

impl HoldRule {
    /// Returns how long a send of `bytes` bytes over a link occupies its sender, in ns.
    pub(crate) fn of(self, link: &Link, bytes: usize) -> u64 {
        let start = match self {
            HoldRule::Time(time) => time,
            HoldRule::Share(share) => {
                let part = u128::from(link.latency) * u128::from(share) / 1_000_000;
                u64::try_from(part).unwrap_or(u64::MAX)
            }
        };
        start.saturating_add(link.transmission(bytes))
    }
}

impl fmt::Display for HoldRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HoldRule::Time(time) => write!(f, "{time} ns"),
            HoldRule::Share(share) => write!(f, "{} % of the latency", *share as f64 / 1e4),
        }
    }
}
