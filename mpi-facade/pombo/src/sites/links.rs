//! Links between hosts, what a send over them costs, and their changes.

use std::fmt;

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
