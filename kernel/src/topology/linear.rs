//! Ranks in a line, and the line closed to a ring.

use super::Tree;

/// A root and everybody else, in ascending order from the root, modulo the number of ranks.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    rank: usize,
    ranks: usize,
    root: usize,
}

impl Linear {
    /// As `rank` of `ranks` sees it. All are below `ranks`.
    pub const fn new(rank: usize, ranks: usize, root: usize) -> Self {
        Linear { rank, ranks, root }
    }
}

impl Tree for Linear {
    type Children = Others;

    fn parent(&self) -> Option<usize> {
        (self.rank != self.root).then_some(self.root)
    }

    fn children(&self) -> Others {
        let ring = Ring::new(self.rank, self.ranks);
        let mut others = ring.others();
        if self.rank != self.root {
            others.step = others.ring.ranks;
        }
        others
    }
}

/// Every rank has one before and one behind it.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    rank: usize,
    ranks: usize,
}

impl Ring {
    /// As `rank` of `ranks` sees it; `rank` is below `ranks`.
    pub const fn new(rank: usize, ranks: usize) -> Self {
        Ring { rank, ranks }
    }

    /// The rank `steps` behind this one; steps are at most `ranks`.
    pub const fn behind(&self, steps: usize) -> usize {
        (self.rank + steps) % self.ranks
    }

    /// The rank `steps` before this one; steps are at most `ranks`.
    pub const fn before(&self, steps: usize) -> usize {
        (self.rank + self.ranks - steps) % self.ranks
    }

    /// How many there are.
    pub const fn ranks(&self) -> usize {
        self.ranks
    }

    /// All others, beginning behind this one.
    pub const fn others(&self) -> Others {
        Others {
            ring: *self,
            step: 1,
        }
    }
}

/// All other ranks, beginning behind this one.
#[derive(Clone, Debug)]
pub struct Others {
    ring: Ring,
    step: usize,
}

impl Iterator for Others {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.step >= self.ring.ranks {
            return None;
        }
        let rank = self.ring.behind(self.step);
        self.step += 1;
        Some(rank)
    }
}
