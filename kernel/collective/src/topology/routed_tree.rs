//! Orders that follow from the routing of any network.

use super::{Topology, Tree};
use core::ops::Range;

/// The routing of a network, from which its [`Topology`] follows.
pub trait Links: Copy {
    /// Returns the number of ranks: 1 or more.
    fn ranks(&self) -> usize;

    /// Returns the next rank on the way between two different ranks: the last one is `to` itself.
    fn toward(&self, from: usize, to: usize) -> usize;
}

impl<W: Links> Topology for W {
    type Line = FarthestFirst<W>;
    type Tree = Routed<W>;

    fn ranks(&self) -> usize {
        Links::ranks(self)
    }

    fn toward(&self, from: usize, to: usize) -> usize {
        Links::toward(self, from, to)
    }

    fn line(&self, root: usize) -> FarthestFirst<W> {
        FarthestFirst::new(*self, root)
    }

    fn tree(&self, rank: usize, root: usize) -> Routed<W> {
        Routed::new(*self, rank, root)
    }
}

/// The tree of all routes to the root: every link is used once, so there is no contention.
#[derive(Clone, Copy, Debug)]
pub struct Routed<T> {
    topology: T,
    rank: usize,
    root: usize,
}

impl<T> Routed<T> {
    /// Creates the tree below `root` as `rank` sees it.
    pub const fn new(topology: T, rank: usize, root: usize) -> Self {
        Routed {
            topology,
            rank,
            root,
        }
    }
}

impl<T: Topology> Tree for Routed<T> {
    type Children = UpstreamRanks<T>;

    fn parent(&self) -> Option<usize> {
        (self.rank != self.root).then(|| self.topology.toward(self.rank, self.root))
    }

    fn children(&self) -> UpstreamRanks<T> {
        UpstreamRanks {
            tree: *self,
            candidates: 0..self.topology.ranks(),
        }
    }
}

/// The ranks whose route to the root begins with a step to this rank.
#[derive(Clone, Debug)]
pub struct UpstreamRanks<T> {
    tree: Routed<T>,
    candidates: Range<usize>,
}

impl<T: Topology> UpstreamRanks<T> {
    fn is_child(tree: &Routed<T>, rank: usize) -> bool {
        rank != tree.root && tree.topology.toward(rank, tree.root) == tree.rank
    }
}

impl<T: Topology> Iterator for UpstreamRanks<T> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let Self { tree, candidates } = self;
        candidates.find(|&rank| Self::is_child(tree, rank))
    }
}

impl<T: Topology> DoubleEndedIterator for UpstreamRanks<T> {
    fn next_back(&mut self) -> Option<usize> {
        let Self { tree, candidates } = self;
        candidates.rfind(|&rank| Self::is_child(tree, rank))
    }
}

/// All ranks but the root, the farthest first; those at the same distance ascend from the root. Each step examines all
/// ranks, so that nothing need be stored.
#[derive(Clone, Debug)]
pub struct FarthestFirst<T> {
    topology: T,
    root: usize,
    /// The distance and the position behind the root of the last rank.
    last: (usize, usize),
}

impl<T> FarthestFirst<T> {
    /// Creates the order as seen from a root.
    pub const fn new(topology: T, root: usize) -> Self {
        FarthestFirst {
            topology,
            root,
            last: (usize::MAX, 0),
        }
    }
}

impl<T: Topology> Iterator for FarthestFirst<T> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let ranks = self.topology.ranks();
        let (hops, behind) = self.last;
        let comes_later = |(h, b): &(usize, usize)| *h < hops || (*h == hops && *b > behind);
        let others = (1..ranks).map(|behind| {
            let rank = (self.root + behind) % ranks;
            (self.topology.hops(self.root, rank), behind)
        });
        let next = others
            .filter(comes_later)
            .reduce(|best, other| if other.0 > best.0 { other } else { best })?;
        self.last = next;
        Some((self.root + next.1) % ranks)
    }
}
