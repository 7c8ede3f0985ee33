//! The placement of a communicator's ranks on hosts, which collective operations use.

use alloc::rc::Rc;
use alloc::vec::Vec;
use pombo_job::Hosts;
use pombo_kernel::Peer;

/// A communicator whose ranks are on several hosts, as one of them sees it.
#[derive(Debug)]
pub(crate) struct HostLayout {
    /// The hosts, with the communicator's ranks in place of those of `MPI_COMM_WORLD`.
    hosts: Hosts,
    /// Number of ranks.
    ranks: usize,
    /// Whether the ranks of every host are consecutive.
    in_order: bool,
    /// The peers of this host, in the order of their ranks.
    on_host: Rc<[Peer]>,
    /// The first peer of every host.
    leaders: Rc<[Peer]>,
}

impl HostLayout {
    /// Returns the layout of these peers, the ranks of a communicator that includes this one; `None` if they share one
    /// host.
    pub(crate) fn of(world: &Hosts, peers: &[Peer], own: Peer) -> Option<Rc<Self>> {
        if world.is_single() {
            return None;
        }
        let names: Vec<u64> = peers.iter().map(|peer| world.of(*peer) as u64).collect();
        let hosts = Hosts::by_names(&names);
        let rank = peers.iter().position(|peer| *peer == own)?;
        let peer = |rank: &Peer| peers[rank.index()];
        let here = hosts.of(Peer(rank as u16));
        (!hosts.is_single()).then(|| {
            let all = (0..hosts.count()).map(|host| hosts.members(host));
            let ranks = (0..peers.len()).map(|rank| Peer(rank as u16));
            Rc::new(HostLayout {
                on_host: hosts.members(here).iter().map(peer).collect(),
                leaders: all.map(|members| peer(&members[0])).collect(),
                in_order: ranks.is_sorted_by_key(|rank| hosts.of(rank)),
                ranks: peers.len(),
                hosts,
            })
        })
    }

    /// Returns a rank's host and its place on that host.
    pub(crate) fn place(&self, rank: usize) -> (usize, usize) {
        let rank = Peer(rank as u16);
        let host = self.hosts.of(rank);
        let place = self.hosts.members(host).binary_search(&rank);
        (host, place.unwrap_or(0))
    }

    /// Returns the peers of this host, in the order of their ranks.
    pub(crate) fn on_host(&self) -> &Rc<[Peer]> {
        &self.on_host
    }

    /// Returns the first peer of every host.
    pub(crate) fn leaders(&self) -> &Rc<[Peer]> {
        &self.leaders
    }

    /// Returns whether any host has several ranks.
    pub(crate) fn has_shared_host(&self) -> bool {
        self.hosts.count() < self.ranks
    }

    /// Returns whether the ranks of every host are consecutive.
    pub(crate) fn in_order(&self) -> bool {
        self.in_order
    }

    /// Returns for each host the number of ranks up to and including it.
    pub(crate) fn ends(&self) -> Vec<usize> {
        let ends = (0..self.hosts.count()).scan(0, |end, host| {
            *end += self.hosts.members(host).len();
            Some(*end)
        });
        ends.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_communicator_lies_on_hosts_as_its_nodes_do() {
        let hosts = Hosts::by_names(&[0, 0, 0, 1, 2, 2]);
        let peers = |peers: &[u16]| peers.iter().map(|peer| Peer(*peer)).collect::<Vec<_>>();
        let layout = |of: &[u16], own| HostLayout::of(&hosts, &peers(of), Peer(own));
        assert!(layout(&[2, 0], 0).is_none());

        // Rank 0 is on the third host, ranks 1 to 4 on the first, the second, the first and the third.
        let some = layout(&[5, 0, 3, 1, 4], 1).expect("several hosts");
        assert_eq!((some.leaders().len(), some.place(1)), (3, (1, 0)));
        assert_eq!(some.leaders()[..], peers(&[5, 0, 3]));
        assert_eq!(some.on_host()[..], peers(&[0, 1]));
        assert_eq!(
            [0, 1, 2, 3, 4].map(|rank| some.place(rank)),
            [(0, 0), (1, 0), (2, 0), (1, 1), (0, 1)]
        );
        assert!(some.has_shared_host() && !some.in_order());

        let apart = layout(&[3, 4], 4).expect("several hosts");
        assert!(!apart.has_shared_host());
        let sorted = layout(&[0, 1, 3, 4, 5], 3).expect("several hosts");
        assert!(sorted.in_order());
        assert_eq!(sorted.ends(), [2, 3, 5]);
    }
}
