//! Sites of hosts, the links between them, and when links change: the model that the simulator and the launcher of
//! simulated hosts share. `file` reads it from TOML.

mod file;
mod links;
#[cfg(test)]
mod tests;
mod units;

use std::path::Path;

use crate::error::Error;

pub(crate) use links::{Change, Event, HoldRule, Link, When};
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
