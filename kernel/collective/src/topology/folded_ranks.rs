//! A hypercube for any number of ranks.

use super::Hypercube;

/// The largest hypercube that fits, with the excess ranks folded onto others: of the first ranks every even one leaves
/// its part to its right neighbour. The order of the ranks is the order of the cube's numbers.
#[derive(Clone, Copy, Debug)]
pub struct FoldedRanks {
    rank: usize,
    cube: Hypercube,
    extra: usize,
}

/// The role of a rank in a [`FoldedRanks`] hypercube.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoldedRole {
    /// A rank that sends its data to this rank and receives the result from it.
    Folded(usize),
    /// A rank with this number in the cube that acts for this folded rank too.
    Proxy(usize, usize),
    /// A rank with this number in the cube.
    Member(usize),
}

impl FoldedRanks {
    /// Creates the hypercube as `rank` of `ranks` sees it; `rank` is below `ranks`.
    pub const fn new(rank: usize, ranks: usize) -> Self {
        let cube = Hypercube::within(ranks);
        FoldedRanks {
            rank,
            cube,
            extra: ranks - (1 << ranks.ilog2()),
        }
    }

    /// Returns the cube.
    pub const fn cube(&self) -> Hypercube {
        self.cube
    }

    /// Returns the role of this rank.
    pub const fn role(&self) -> FoldedRole {
        if self.rank >= 2 * self.extra {
            return FoldedRole::Member(self.rank - self.extra);
        }
        match self.rank % 2 {
            0 => FoldedRole::Folded(self.rank + 1),
            _ => FoldedRole::Proxy(self.rank / 2, self.rank - 1),
        }
    }

    /// Returns the rank that has a number of the cube.
    pub const fn rank_of(&self, number: usize) -> usize {
        if number < self.extra {
            2 * number + 1
        } else {
            number + self.extra
        }
    }
}
