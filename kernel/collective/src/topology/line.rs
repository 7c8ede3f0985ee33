//! Ranks in a line, and the line closed to a ring.

use super::{NetworkMetrics, Routed, Topology};

/// A line: each rank has links to the one before and the one behind it.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    ranks: usize,
}

impl Linear {
    /// Creates a line of `ranks` ranks: 1 or more.
    pub const fn new(ranks: usize) -> Self {
        Linear { ranks }
    }

    /// Returns the metrics of the line.
    pub const fn metrics(&self) -> NetworkMetrics {
        let one = if self.ranks > 1 { 1 } else { 0 };
        NetworkMetrics {
            diameter: self.ranks - 1,
            connectivity: one,
            bisection: one,
            cost: self.ranks - 1,
        }
    }
}

impl Topology for Linear {
    type Line = BothSides;
    type Tree = Routed<Linear>;

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn toward(&self, from: usize, to: usize) -> usize {
        if to > from { from + 1 } else { from - 1 }
    }

    fn line(&self, root: usize) -> BothSides {
        BothSides::new(root, self.ranks, self.ranks - 1 - root, root)
    }

    fn tree(&self, rank: usize, root: usize) -> Routed<Linear> {
        Routed::new(*self, rank, root)
    }

    fn hops(&self, from: usize, to: usize) -> usize {
        from.abs_diff(to)
    }
}

/// A line whose last rank is linked to the first.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    ranks: usize,
}

impl Ring {
    /// Creates a ring of `ranks` ranks: 1 or more.
    pub const fn new(ranks: usize) -> Self {
        Ring { ranks }
    }

    /// Returns the metrics of the ring. A ring of two ranks is a line.
    pub const fn metrics(&self) -> NetworkMetrics {
        if self.ranks < 3 {
            return Linear::new(self.ranks).metrics();
        }
        NetworkMetrics {
            diameter: self.ranks / 2,
            connectivity: 2,
            bisection: 2,
            cost: self.ranks,
        }
    }

    /// Returns the number of links on the way up, through rising ranks. The way down uses the other links.
    const fn up(&self, from: usize, to: usize) -> usize {
        (to + self.ranks - from) % self.ranks
    }
}

impl Topology for Ring {
    type Line = BothSides;
    type Tree = Routed<Ring>;

    fn ranks(&self) -> usize {
        self.ranks
    }

    /// Routes in the shorter direction; up if both are equal.
    fn toward(&self, from: usize, to: usize) -> usize {
        let up = self.up(from, to);
        let step = if 2 * up <= self.ranks {
            1
        } else {
            self.ranks - 1
        };
        (from + step) % self.ranks
    }

    fn line(&self, root: usize) -> BothSides {
        BothSides::new(root, self.ranks, self.ranks / 2, (self.ranks - 1) / 2)
    }

    fn tree(&self, rank: usize, root: usize) -> Routed<Ring> {
        Routed::new(*self, rank, root)
    }

    fn hops(&self, from: usize, to: usize) -> usize {
        let up = self.up(from, to);
        up.min(self.ranks - up)
    }
}

/// The ranks on both sides of a root, alternating between the sides, each from its far end. The longer side begins.
#[derive(Clone, Debug)]
pub struct BothSides {
    root: usize,
    ranks: usize,
    above: usize,
    below: usize,
    upward: bool,
}

impl BothSides {
    const fn new(root: usize, ranks: usize, above: usize, below: usize) -> Self {
        BothSides {
            root,
            ranks,
            above,
            below,
            upward: above >= below,
        }
    }
}

impl Iterator for BothSides {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let upward = match (self.above, self.below) {
            (0, 0) => return None,
            (_, 0) => true,
            (0, _) => false,
            _ => self.upward,
        };
        self.upward = !upward;
        let arm = if upward {
            &mut self.above
        } else {
            &mut self.below
        };
        let steps = *arm;
        *arm -= 1;
        let steps = if upward { steps } else { self.ranks - steps };
        Some((self.root + steps) % self.ranks)
    }
}
