//! How the ranks of a communicator lie on hosts: collectives ask.

use alloc::rc::Rc;
use alloc::vec::Vec;
use pombo_job::Hosts;
use pombo_kernel::Node;

/// A communicator whose ranks are on several hosts, as one of them sees it.
#[derive(Debug)]
pub(crate) struct HostLayout {
    /// The communicator's ranks in place of those of `MPI_COMM_WORLD`.
    hosts: Hosts,
    /// How many.
    ranks: usize,
    /// Every host's ranks follow each other.
    in_order: bool,
    /// The nodes of this host, in the order of their ranks.
    on_host: Rc<[Node]>,
    /// The first node of every host.
    leaders: Rc<[Node]>,
}

impl HostLayout {
    /// How these nodes, the ranks of a communicator with this one among them, lie on several hosts. `None` if they share
    /// one.
    pub(crate) fn of(world: &Hosts, nodes: &[Node], own: Node) -> Option<Rc<Self>> {
        if world.is_single() {
            return None;
        }
        let names: Vec<u64> = nodes.iter().map(|node| world.of(*node) as u64).collect();
        let hosts = Hosts::by_names(&names);
        let rank = nodes.iter().position(|node| *node == own)?;
        let node = |rank: &Node| nodes[rank.index()];
        let here = hosts.of(Node(rank as u16));
        (!hosts.is_single()).then(|| {
            let all = (0..hosts.count()).map(|host| hosts.members(host));
            let ranks = (0..nodes.len()).map(|rank| Node(rank as u16));
            Rc::new(HostLayout {
                on_host: hosts.members(here).iter().map(node).collect(),
                leaders: all.map(|members| node(&members[0])).collect(),
                in_order: ranks.is_sorted_by_key(|rank| hosts.of(rank)),
                ranks: nodes.len(),
                hosts,
            })
        })
    }

    /// A rank's host, and its place there.
    pub(crate) fn place(&self, rank: usize) -> (usize, usize) {
        let rank = Node(rank as u16);
        let host = self.hosts.of(rank);
        let place = self.hosts.members(host).binary_search(&rank);
        (host, place.unwrap_or(0))
    }

    /// The nodes of this host, in the order of their ranks.
    pub(crate) fn on_host(&self) -> &Rc<[Node]> {
        &self.on_host
    }

    /// The first node of every host.
    pub(crate) fn leaders(&self) -> &Rc<[Node]> {
        &self.leaders
    }

    /// Has any host several ranks?
    pub(crate) fn has_shared_host(&self) -> bool {
        self.hosts.count() < self.ranks
    }

    /// Do every host's ranks follow each other?
    pub(crate) fn in_order(&self) -> bool {
        self.in_order
    }

    /// How many ranks the hosts up to each one have.
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
        let nodes = |nodes: &[u16]| nodes.iter().map(|node| Node(*node)).collect::<Vec<_>>();
        let layout = |of: &[u16], own| HostLayout::of(&hosts, &nodes(of), Node(own));
        assert!(layout(&[2, 0], 0).is_none());

        // Ranks 0 to 4 are on the third host, the first, the second, the first, the third.
        let some = layout(&[5, 0, 3, 1, 4], 1).expect("several hosts");
        assert_eq!((some.leaders().len(), some.place(1)), (3, (1, 0)));
        assert_eq!(some.leaders()[..], nodes(&[5, 0, 3]));
        assert_eq!(some.on_host()[..], nodes(&[0, 1]));
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
