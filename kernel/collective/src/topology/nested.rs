//! Any topology within the hosts of any other: hosts in a network, then ranks in a host.

use super::{Topology, Tree};
use core::iter::Chain;

/// `upper` over as many hosts as there are `lower` topologies; the ranks of a host are consecutive. The leader of a
/// host is its first rank, in the root's host the root itself.
#[derive(Clone, Copy, Debug)]
pub struct Nested<'a, U, L> {
    upper: U,
    lower: &'a [L],
}

impl<'a, U: Topology, L: Topology> Nested<'a, U, L> {
    /// Creates the topology from one lower topology for every rank of the upper one; `None` for more or fewer.
    pub fn new(upper: U, lower: &'a [L]) -> Option<Self> {
        (upper.ranks() == lower.len()).then_some(Nested { upper, lower })
    }

    /// Returns rank 0 of a host.
    fn first(&self, host: usize) -> usize {
        self.lower[..host].iter().map(Topology::ranks).sum()
    }

    /// Returns the host of a rank, and its number there.
    fn split(&self, rank: usize) -> (usize, usize) {
        let (mut host, mut inside) = (0, rank);
        while inside >= self.lower[host].ranks() {
            inside -= self.lower[host].ranks();
            host += 1;
        }
        (host, inside)
    }

    /// Returns the leader of a host, as its number there.
    fn leader(&self, host: usize, root: (usize, usize)) -> usize {
        if host == root.0 { root.1 } else { 0 }
    }
}

impl<'a, U: Topology, L: Topology> Topology for Nested<'a, U, L> {
    type Line = NestedLine<'a, U, L>;
    type Tree = NestedTree<'a, U, L>;

    fn ranks(&self) -> usize {
        self.first(self.lower.len())
    }

    /// Routes over the first rank of the host and the first rank of the destination's host.
    fn toward(&self, from: usize, to: usize) -> usize {
        let ((here, inside), (there, target)) = (self.split(from), self.split(to));
        let lower = self.lower[here];
        if here == there {
            return self.first(here) + lower.toward(inside, target);
        }
        match inside {
            0 => self.first(self.upper.toward(here, there)),
            _ => self.first(here) + lower.toward(inside, 0),
        }
    }

    fn line(&self, root: usize) -> NestedLine<'a, U, L> {
        let (host, inside) = self.split(root);
        NestedLine {
            nested: *self,
            hosts: Some(self.upper.line(host)),
            within: None,
            own: (host, inside),
        }
    }

    fn tree(&self, rank: usize, root: usize) -> NestedTree<'a, U, L> {
        let (root, (host, inside)) = (self.split(root), self.split(rank));
        NestedTree {
            nested: *self,
            root,
            host,
            inside,
            upper: self.upper.tree(host, root.0),
            lower: self.lower[host].tree(inside, self.leader(host, root)),
        }
    }

    fn at(&self, place: usize) -> usize {
        // The circle goes through the hosts in the order of the upper circle, and within each host along the lower one.
        let (mut host, mut inside) = (0, place);
        loop {
            let lower = &self.lower[self.upper.at(host)];
            if inside < lower.ranks() {
                return self.first(self.upper.at(host)) + lower.at(inside);
            }
            inside -= lower.ranks();
            host += 1;
        }
    }

    fn place(&self, rank: usize) -> usize {
        let (host, inside) = self.split(rank);
        let before = (0..self.upper.place(host)).map(|place| self.lower[self.upper.at(place)]);
        before.map(|lower| lower.ranks()).sum::<usize>() + self.lower[host].place(inside)
    }
}

/// The upper line with every host replaced by its ranks in the order of their own line, the leader last, because it is
/// the nearest. The root's own host comes at the end.
#[derive(Clone)]
pub struct NestedLine<'a, U: Topology, L: Topology> {
    nested: Nested<'a, U, L>,
    /// The hosts that remain; `None` during the root's own host.
    hosts: Option<U::Line>,
    /// The first rank of the host, its line, and its leader if that is still to come.
    within: Option<(usize, L::Line, Option<usize>)>,
    own: (usize, usize),
}

impl<U: Topology, L: Topology> Iterator for NestedLine<'_, U, L> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            if let Some((first, line, leader)) = &mut self.within
                && let Some(inside) = line.next().or_else(|| leader.take())
            {
                return Some(*first + inside);
            }
            let (host, from, leader) = match self.hosts.as_mut()?.next() {
                Some(host) => (host, 0, Some(0)),
                None => {
                    self.hosts = None;
                    (self.own.0, self.own.1, None)
                }
            };
            let line = self.nested.lower[host].line(from);
            self.within = Some((self.nested.first(host), line, leader));
        }
    }
}

/// The upper tree over the leaders, and below each leader the lower tree of its host.
#[derive(Clone)]
pub struct NestedTree<'a, U: Topology, L: Topology> {
    nested: Nested<'a, U, L>,
    root: (usize, usize),
    host: usize,
    inside: usize,
    upper: U::Tree,
    lower: L::Tree,
}

impl<'a, U: Topology, L: Topology> NestedTree<'a, U, L> {
    fn leader_of(&self, host: usize) -> usize {
        self.nested.first(host) + self.nested.leader(host, self.root)
    }

    fn is_leader(&self) -> bool {
        self.inside == self.nested.leader(self.host, self.root)
    }
}

impl<'a, U: Topology, L: Topology> Tree for NestedTree<'a, U, L> {
    type Children = Chain<LeaderRanks<'a, U, L>, Members<L>>;

    fn parent(&self) -> Option<usize> {
        if self.is_leader() {
            return self.upper.parent().map(|host| self.leader_of(host));
        }
        let first = self.nested.first(self.host);
        self.lower.parent().map(|inside| first + inside)
    }

    fn children(&self) -> Self::Children {
        let heads = LeaderRanks {
            hosts: self.is_leader().then(|| self.upper.children()),
            tree: self.clone(),
        };
        heads.chain(Members {
            first: self.nested.first(self.host),
            inside: self.lower.children(),
        })
    }
}

/// The children that lead other hosts.
#[derive(Clone)]
pub struct LeaderRanks<'a, U: Topology, L: Topology> {
    hosts: Option<<U::Tree as Tree>::Children>,
    tree: NestedTree<'a, U, L>,
}

impl<U: Topology, L: Topology> Iterator for LeaderRanks<'_, U, L> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let host = self.hosts.as_mut()?.next()?;
        Some(self.tree.leader_of(host))
    }
}

impl<U: Topology, L: Topology> DoubleEndedIterator for LeaderRanks<'_, U, L> {
    fn next_back(&mut self) -> Option<usize> {
        let host = self.hosts.as_mut()?.next_back()?;
        Some(self.tree.leader_of(host))
    }
}

/// The children in the same host.
#[derive(Clone)]
pub struct Members<L: Topology> {
    first: usize,
    inside: <L::Tree as Tree>::Children,
}

impl<L: Topology> Iterator for Members<L> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.inside.next().map(|inside| self.first + inside)
    }
}

impl<L: Topology> DoubleEndedIterator for Members<L> {
    fn next_back(&mut self) -> Option<usize> {
        self.inside.next_back().map(|inside| self.first + inside)
    }
}
