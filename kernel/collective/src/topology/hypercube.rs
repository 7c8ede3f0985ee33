//! Hypercubes: ranks whose numbers differ in one bit are linked.

use super::{FarthestFirst, NetworkMetrics, Topology, Tree};
use core::ops::Range;

/// A hypercube of 2 to the power of `dimensions` ranks.
#[derive(Clone, Copy, Debug)]
pub struct Hypercube {
    dimensions: u32,
}

impl Hypercube {
    /// Creates a hypercube of `dimensions` dimensions, fewer than the bits of a `usize`.
    pub const fn new(dimensions: u32) -> Self {
        Hypercube { dimensions }
    }

    /// Creates the largest hypercube of at most `ranks` ranks, which must be 1 or more.
    pub const fn within(ranks: usize) -> Self {
        Hypercube {
            dimensions: ranks.ilog2(),
        }
    }

    /// Returns the metrics of the hypercube.
    pub const fn metrics(&self) -> NetworkMetrics {
        if self.dimensions == 0 {
            return NetworkMetrics::ALONE;
        }
        let (dimensions, half) = (self.dimensions as usize, 1 << (self.dimensions - 1));
        NetworkMetrics {
            diameter: dimensions,
            connectivity: dimensions,
            bisection: half,
            cost: dimensions * half,
        }
    }

    /// Returns the partners of a rank, dimension by dimension: the nearest numbers first.
    pub fn partners(&self, rank: usize) -> impl DoubleEndedIterator<Item = usize> + Clone + use<> {
        (0..self.dimensions).map(move |dimension| rank ^ (1 << dimension))
    }
}

impl Topology for Hypercube {
    type Line = FarthestFirst<Self>;
    type Tree = CubeTree;

    fn ranks(&self) -> usize {
        1 << self.dimensions
    }

    /// Routes over the lowest bit that differs.
    fn toward(&self, from: usize, to: usize) -> usize {
        let differ = from ^ to;
        from ^ (differ & differ.wrapping_neg())
    }

    fn line(&self, root: usize) -> FarthestFirst<Self> {
        FarthestFirst::new(*self, root)
    }

    fn tree(&self, rank: usize, root: usize) -> CubeTree {
        let relative = rank ^ root;
        let free = if relative == 0 {
            self.dimensions
        } else {
            relative.trailing_zeros()
        };
        CubeTree {
            rank,
            root,
            bits: 0..free,
        }
    }

    fn hops(&self, from: usize, to: usize) -> usize {
        (from ^ to).count_ones() as usize
    }

    /// Uses the Gray code: neighbours on the circle differ in one bit.
    fn at(&self, place: usize) -> usize {
        place ^ (place >> 1)
    }

    fn place(&self, rank: usize) -> usize {
        let (mut place, mut rest) = (rank, rank >> 1);
        while rest != 0 {
            place ^= rest;
            rest >>= 1;
        }
        place
    }
}

/// The binomial tree whose edges are links of a [`Hypercube`].
#[derive(Clone, Debug)]
pub struct CubeTree {
    rank: usize,
    root: usize,
    /// The bits in which the children differ from this rank.
    bits: Range<u32>,
}

impl Tree for CubeTree {
    type Children = CubeTree;

    fn parent(&self) -> Option<usize> {
        let relative = self.rank ^ self.root;
        (relative != 0).then(|| self.rank ^ (relative & relative.wrapping_neg()))
    }

    fn children(&self) -> CubeTree {
        self.clone()
    }
}

impl Iterator for CubeTree {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.bits.next_back().map(|bit| self.rank ^ (1 << bit))
    }
}

impl DoubleEndedIterator for CubeTree {
    fn next_back(&mut self) -> Option<usize> {
        self.bits.next().map(|bit| self.rank ^ (1 << bit))
    }
}
