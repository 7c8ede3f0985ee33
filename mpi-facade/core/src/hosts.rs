//! Which ranks are on which host: collectives ask, `place` finds out.

use alloc::rc::Rc;
use alloc::vec::Vec;
use pombo_kernel::Node;

/// For every rank of `MPI_COMM_WORLD` its host. Hosts have numbers from 0, in the order of their first ranks.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    of: Vec<u16>,
    /// The ranks of every host in ascending order.
    members: Vec<Vec<Node>>,
}

impl Hosts {
    /// All ranks on this machine.
    pub fn one(ranks: usize) -> Self {
        Self::by(&alloc::vec![0; ranks])
    }

    /// Ranks with equal names share a host.
    pub fn by(names: &[u64]) -> Self {
        let (mut known, mut hosts) = (Vec::new(), Hosts::default());
        for (rank, name) in names.iter().enumerate() {
            let host = known.iter().position(|other| *other == name);
            let host = host.unwrap_or_else(|| {
                known.push(name);
                hosts.members.push(Vec::new());
                known.len() - 1
            });
            hosts.of.push(host as u16);
            hosts.members[host].push(Node(rank as u16));
        }
        hosts
    }

    /// How many hosts.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Shares every rank one host?
    pub fn is_one(&self) -> bool {
        self.count() <= 1
    }

    /// The host of a rank.
    pub fn of(&self, rank: Node) -> usize {
        self.of.get(rank.index()).map_or(0, |host| (*host).into())
    }

    /// The ranks of a host in ascending order.
    pub fn members(&self, host: usize) -> &[Node] {
        self.members.get(host).map_or(&[], Vec::as_slice)
    }

    /// The place of a rank among those of its host.
    pub fn place(&self, rank: Node) -> Option<usize> {
        let mut members = self.members(self.of(rank)).iter();
        members.position(|member| *member == rank)
    }

    /// Do both reach each other through memory?
    pub fn are_near(&self, one: Node, other: Node) -> bool {
        self.of(one) == self.of(other)
    }

    /// How these nodes, the ranks of a communicator with this one among them, lie on several hosts. `None` if they
    /// share one.
    pub(crate) fn levels(&self, nodes: &[Node], own: Node) -> Option<Rc<Levels>> {
        if self.is_one() {
            return None;
        }
        let names: Vec<u64> = nodes.iter().map(|node| self.of(*node) as u64).collect();
        let hosts = Hosts::by(&names);
        let rank = nodes.iter().position(|node| *node == own)?;
        let node = |rank: &Node| nodes[rank.index()];
        let here = hosts.of(Node(rank as u16));
        (!hosts.is_one()).then(|| {
            Rc::new(Levels {
                near: hosts.members(here).iter().map(node).collect(),
                first: hosts
                    .members
                    .iter()
                    .map(|members| node(&members[0]))
                    .collect(),
                in_order: hosts.of.is_sorted(),
                hosts,
            })
        })
    }
}

/// A communicator whose ranks are on several hosts, as one of them sees it.
#[derive(Debug)]
pub(crate) struct Levels {
    /// The communicator's ranks in place of those of `MPI_COMM_WORLD`.
    hosts: Hosts,
    /// Every host's ranks follow each other.
    in_order: bool,
    /// The nodes of this host, in the order of their ranks.
    near: Rc<[Node]>,
    /// The first node of every host.
    first: Rc<[Node]>,
}

impl Levels {
    /// A rank's host, and its place there.
    pub(crate) fn place(&self, rank: usize) -> (usize, usize) {
        let rank = Node(rank as u16);
        let host = self.hosts.of(rank);
        let place = self.hosts.members(host).binary_search(&rank);
        (host, place.unwrap_or(0))
    }

    /// The nodes of this host, in the order of their ranks.
    pub(crate) fn near(&self) -> &Rc<[Node]> {
        &self.near
    }

    /// The first node of every host.
    pub(crate) fn first(&self) -> &Rc<[Node]> {
        &self.first
    }

    /// Has any host several ranks?
    pub(crate) fn is_deep(&self) -> bool {
        self.hosts.count() < self.hosts.of.len()
    }

    /// Do every host's ranks follow each other?
    pub(crate) fn in_order(&self) -> bool {
        self.in_order
    }

    /// How many ranks the hosts up to each one have.
    pub(crate) fn ends(&self) -> Vec<usize> {
        let ends = self.hosts.members.iter().scan(0, |end, members| {
            *end += members.len();
            Some(*end)
        });
        ends.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_by_their_first_ranks() {
        let hosts = Hosts::by(&[2, 1, 2, 3, 1]);
        assert_eq!(hosts.count(), 3);
        let of = |rank| hosts.of(Node(rank));
        assert_eq!([of(0), of(1), of(2), of(3), of(4)], [0, 1, 0, 2, 1]);
        assert_eq!(hosts.members(1), [Node(1), Node(4)]);
        assert!(hosts.are_near(Node(0), Node(2)) && !hosts.are_near(Node(0), Node(1)));
    }

    #[test]
    fn a_communicator_lies_on_hosts_as_its_nodes_do() {
        let hosts = Hosts::by(&[0, 0, 0, 1, 2, 2]);
        let nodes = |nodes: &[u16]| nodes.iter().map(|node| Node(*node)).collect::<Vec<_>>();
        let levels = |of: &[u16], own| hosts.levels(&nodes(of), Node(own));
        assert!(levels(&[2, 0], 0).is_none());

        // Ranks 0 to 4 are on the third host, the first, the second, the first, the third.
        let some = levels(&[5, 0, 3, 1, 4], 1).expect("several hosts");
        assert_eq!((some.first().len(), some.place(1)), (3, (1, 0)));
        assert_eq!(some.first()[..], nodes(&[5, 0, 3]));
        assert_eq!(some.near()[..], nodes(&[0, 1]));
        assert_eq!(
            [0, 1, 2, 3, 4].map(|rank| some.place(rank)),
            [(0, 0), (1, 0), (2, 0), (1, 1), (0, 1)]
        );
        assert!(some.is_deep() && !some.in_order());

        let apart = levels(&[3, 4], 4).expect("several hosts");
        assert!(!apart.is_deep());
        let sorted = levels(&[0, 1, 3, 4, 5], 3).expect("several hosts");
        assert!(sorted.in_order());
        assert_eq!(sorted.ends(), [2, 3, 5]);
    }

    #[test]
    fn one_host_has_all() {
        let hosts = Hosts::one(3);
        assert!(hosts.is_one());
        assert_eq!(hosts.members(0), [Node(0), Node(1), Node(2)]);
        assert_eq!(hosts.members(1), []);
    }
}
