//! A hypercube for any number of ranks.

use super::Hypercube;

/// The largest hypercube that fits, with the ranks that are too many folded onto others: of the first ranks every even
/// one leaves its part to its right neighbour. The order of the ranks is the order of the cube's numbers.
#[derive(Clone, Copy, Debug)]
pub struct FoldedRanks {
    rank: usize,
    cube: Hypercube,
    extra: usize,
}

/// What a rank does in a [`FoldedRanks`] hypercube.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoldedRole {
    /// It gives its data to this rank and gets the result from there.
    Folded(usize),
    /// It has this number in the cube, and this guest.
    Proxy(usize, usize),
    /// It has this number in the cube.
    Member(usize),
}

impl FoldedRanks {
    /// As `rank` of `ranks` sees it; `rank` is below `ranks`.
    pub const fn new(rank: usize, ranks: usize) -> Self {
        let cube = Hypercube::within(ranks);
        FoldedRanks {
            rank,
            cube,
            extra: ranks - (1 << ranks.ilog2()),
        }
    }

    /// The cube.
    pub const fn cube(&self) -> Hypercube {
        self.cube
    }

    /// What this rank does.
    pub const fn role(&self) -> FoldedRole {
        if self.rank >= 2 * self.extra {
            return FoldedRole::Member(self.rank - self.extra);
        }
        match self.rank % 2 {
            0 => FoldedRole::Folded(self.rank + 1),
            _ => FoldedRole::Proxy(self.rank / 2, self.rank - 1),
        }
    }

    /// The rank behind a number of the cube.
    pub const fn rank_of(&self, number: usize) -> usize {
        if number < self.extra {
            2 * number + 1
        } else {
            number + self.extra
        }
    }
}
