//! The map from ranks to hosts, which `bootstrap` determines.

use alloc::vec::Vec;
use pombo_kernel::Peer;

/// The host of every rank of the job. Hosts are numbered from 0, in the order of their first ranks.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// May be empty if there is one host.
    of: Vec<u16>,
    /// The ranks of every host in ascending order.
    members: Vec<Vec<Peer>>,
}

impl Hosts {
    /// Returns the map of ranks that are all on this machine.
    pub fn single(ranks: usize) -> Self {
        Hosts {
            of: Vec::new(),
            members: [(0..ranks as u16).map(Peer).collect()].into(),
        }
    }

    /// Returns the map in which ranks with equal names share a host.
    pub fn by_names(names: &[u64]) -> Self {
        let (mut known, mut hosts) = (Vec::new(), Hosts::default());
        for (rank, name) in names.iter().enumerate() {
            let host = known.iter().position(|other| *other == name);
            let host = host.unwrap_or_else(|| {
                known.push(name);
                hosts.members.push(Vec::new());
                known.len() - 1
            });
            hosts.of.push(host as u16);
            hosts.members[host].push(Peer(rank as u16));
        }
        hosts
    }

    /// Returns the number of hosts.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Returns whether all ranks share one host.
    pub fn is_single(&self) -> bool {
        cfg!(not(feature = "launchers")) || self.count() <= 1
    }

    /// Returns the host of a rank.
    pub fn of(&self, rank: Peer) -> usize {
        self.of.get(rank.index()).map_or(0, |host| (*host).into())
    }

    /// Returns the ranks of a host in ascending order.
    pub fn members(&self, host: usize) -> &[Peer] {
        self.members.get(host).map_or(&[], Vec::as_slice)
    }

    /// Returns the index of a rank among those of its host.
    pub fn place(&self, rank: Peer) -> Option<usize> {
        let mut members = self.members(self.of(rank)).iter();
        members.position(|member| *member == rank)
    }

    /// Returns whether both ranks are on one host and share memory.
    pub fn share_host(&self, one: Peer, other: Peer) -> bool {
        self.of(one) == self.of(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_by_their_first_ranks() {
        let hosts = Hosts::by_names(&[2, 1, 2, 3, 1]);
        assert_eq!(hosts.count(), 3);
        let of = |rank| hosts.of(Peer(rank));
        assert_eq!([of(0), of(1), of(2), of(3), of(4)], [0, 1, 0, 2, 1]);
        assert_eq!(hosts.members(1), [Peer(1), Peer(4)]);
        assert!(hosts.share_host(Peer(0), Peer(2)) && !hosts.share_host(Peer(0), Peer(1)));
    }

    #[test]
    fn one_host_has_all() {
        let hosts = Hosts::single(3);
        assert!(hosts.is_single());
        assert_eq!(hosts.members(0), [Peer(0), Peer(1), Peer(2)]);
        assert_eq!(hosts.members(1), []);
    }
}
