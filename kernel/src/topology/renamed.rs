//! Any topology with its ranks in any order.

use super::{Topology, Tree};

/// A topology whose place `i` is taken by rank `ranks[i]`. With [`Nested`](super::Nested): hosts whose ranks do not
/// follow each other. Who has a place is looked for in the list.
#[derive(Clone, Copy, Debug)]
pub struct Renamed<'a, T> {
    topology: T,
    ranks: &'a [u16],
}

impl<'a, T: Topology> Renamed<'a, T> {
    /// Every rank of the topology once; `None` for other lists.
    pub fn new(topology: T, ranks: &'a [u16]) -> Option<Self> {
        let renamed = Renamed { topology, ranks };
        let all = 0..topology.ranks();
        let fits = all.len() == ranks.len() && all.clone().all(|rank| renamed.find(rank) < all.end);
        fits.then_some(renamed)
    }

    /// The place of a rank; behind the last one if it has none.
    fn find(&self, rank: usize) -> usize {
        let place = self
            .ranks
            .iter()
            .position(|taken| usize::from(*taken) == rank);
        place.unwrap_or(self.ranks.len())
    }
}

/// Who is at a place.
fn at(ranks: &[u16], place: usize) -> usize {
    ranks[place].into()
}

impl<'a, T: Topology> Topology for Renamed<'a, T> {
    type Line = RenamedOrder<'a, T::Line>;
    type Tree = RenamedTree<'a, T::Tree>;

    fn ranks(&self) -> usize {
        self.ranks.len()
    }

    fn toward(&self, from: usize, to: usize) -> usize {
        let next = self.topology.toward(self.find(from), self.find(to));
        at(self.ranks, next)
    }

    fn line(&self, root: usize) -> Self::Line {
        let (order, ranks) = (self.topology.line(self.find(root)), self.ranks);
        RenamedOrder { order, ranks }
    }

    fn tree(&self, rank: usize, root: usize) -> Self::Tree {
        let tree = self.topology.tree(self.find(rank), self.find(root));
        let ranks = self.ranks;
        RenamedTree { tree, ranks }
    }

    fn at(&self, place: usize) -> usize {
        at(self.ranks, self.topology.at(place))
    }

    fn place(&self, rank: usize) -> usize {
        self.topology.place(self.find(rank))
    }
}

/// The tree with its ranks renamed.
#[derive(Clone, Copy, Debug)]
pub struct RenamedTree<'a, T> {
    tree: T,
    ranks: &'a [u16],
}

impl<'a, T: Tree> Tree for RenamedTree<'a, T> {
    type Children = RenamedOrder<'a, T::Children>;

    fn parent(&self) -> Option<usize> {
        self.tree.parent().map(|place| at(self.ranks, place))
    }

    fn children(&self) -> Self::Children {
        RenamedOrder {
            order: self.tree.children(),
            ranks: self.ranks,
        }
    }
}

/// Who is at some places, in their order.
#[derive(Clone, Debug)]
pub struct RenamedOrder<'a, I> {
    order: I,
    ranks: &'a [u16],
}

impl<I: Iterator<Item = usize>> Iterator for RenamedOrder<'_, I> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.order.next().map(|place| at(self.ranks, place))
    }
}

impl<I: DoubleEndedIterator<Item = usize>> DoubleEndedIterator for RenamedOrder<'_, I> {
    fn next_back(&mut self) -> Option<usize> {
        self.order.next_back().map(|place| at(self.ranks, place))
    }
}
