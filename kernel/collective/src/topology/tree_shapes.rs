//! Shapes of trees. Ranks count from the root here.

use super::{Contiguous, Shape};

/// The flat tree: every rank is a child of the root.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential;

impl Shape for Sequential {
    fn parent(&self, _rank: usize, _ranks: usize) -> usize {
        0
    }

    fn degree(&self, rank: usize, ranks: usize) -> usize {
        if rank == 0 { ranks - 1 } else { 0 }
    }

    /// Descends, so that the rank that is served last directly follows the root.
    fn child(&self, _rank: usize, ranks: usize, index: usize) -> usize {
        ranks - 1 - index
    }
}

impl Contiguous for Sequential {
    fn size(&self, rank: usize, ranks: usize) -> usize {
        if rank == 0 { ranks } else { 1 }
    }
}

/// The chain: each rank is the child of the one before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain;

impl Shape for Chain {
    fn parent(&self, rank: usize, _ranks: usize) -> usize {
        rank - 1
    }

    fn degree(&self, rank: usize, ranks: usize) -> usize {
        usize::from(rank + 1 < ranks)
    }

    fn child(&self, rank: usize, _ranks: usize, _index: usize) -> usize {
        rank + 1
    }
}

impl Contiguous for Chain {
    fn size(&self, rank: usize, ranks: usize) -> usize {
        ranks - rank
    }
}

/// The tree of up to `K` children per rank, filled row by row: `Kary<2>` is the binary tree. `K` is 1 or more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kary<const K: usize>;

impl<const K: usize> Shape for Kary<K> {
    fn parent(&self, rank: usize, _ranks: usize) -> usize {
        (rank - 1) / K
    }

    fn degree(&self, rank: usize, ranks: usize) -> usize {
        ranks.saturating_sub(rank * K + 1).min(K)
    }

    fn child(&self, rank: usize, _ranks: usize, index: usize) -> usize {
        rank * K + 1 + index
    }
}

/// The binomial tree: each rank is a child of the one without its lowest set bit. Depth and number of the root's sends
/// are both the logarithm of the number of ranks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Binomial;

impl Binomial {
    /// Returns the distance to the first child: the largest power of two that stays below the rank's own lowest bit and
    /// within the ranks; 0 if there is none.
    #[inline]
    const fn reach(rank: usize, ranks: usize) -> usize {
        let room = ranks - rank;
        if room < 2 || rank & 1 == 1 {
            return 0;
        }
        let inside = 1 << (room - 1).ilog2();
        let own = rank & rank.wrapping_neg();
        if rank == 0 || inside < own {
            inside
        } else {
            own >> 1
        }
    }
}

impl Shape for Binomial {
    #[inline]
    fn parent(&self, rank: usize, _ranks: usize) -> usize {
        rank & (rank - 1)
    }

    #[inline]
    fn degree(&self, rank: usize, ranks: usize) -> usize {
        match Binomial::reach(rank, ranks) {
            0 => 0,
            reach => reach.ilog2() as usize + 1,
        }
    }

    #[inline]
    fn child(&self, rank: usize, ranks: usize, index: usize) -> usize {
        rank + (Binomial::reach(rank, ranks) >> index)
    }
}

impl Contiguous for Binomial {
    fn size(&self, rank: usize, ranks: usize) -> usize {
        let own = rank & rank.wrapping_neg();
        let room = ranks - rank;
        if rank == 0 || room < own { room } else { own }
    }
}

/// A binomial tree over the heads of blocks of `block` ranks; the other ranks of a block are children of its head. The
/// number of blocks is a power of two; the ranks that are left over are children of the first heads. Source: the
/// multicast of MPI-F.
#[derive(Clone, Copy, Debug)]
pub struct Blocked {
    /// Ranks in a block: 1 or more.
    pub block: usize,
}

impl Blocked {
    /// Returns the number of blocks and the number of ranks in them.
    const fn blocks(&self, ranks: usize) -> (usize, usize) {
        if ranks < self.block {
            return (1, ranks);
        }
        let blocks = 1 << (ranks / self.block).ilog2();
        (blocks, blocks * self.block)
    }

    /// Returns the number of children in the rank's own block, and the number of heads below it if it is a head.
    fn own(&self, rank: usize, ranks: usize) -> (usize, usize) {
        let (blocks, inside) = self.blocks(ranks);
        if rank >= inside || !rank.is_multiple_of(self.block) {
            return (0, 0);
        }
        let heads = Binomial.degree(rank / self.block, blocks);
        (self.block.min(inside) - 1, heads)
    }
}

impl Shape for Blocked {
    fn parent(&self, rank: usize, ranks: usize) -> usize {
        let (_, inside) = self.blocks(ranks);
        if rank >= inside {
            return (rank - inside) % inside;
        }
        match rank % self.block {
            0 => Binomial.parent(rank / self.block, ranks) * self.block,
            member => rank - member,
        }
    }

    fn degree(&self, rank: usize, ranks: usize) -> usize {
        let (_, inside) = self.blocks(ranks);
        let (members, heads) = self.own(rank, ranks);
        let left_over = (ranks - inside + inside - 1).saturating_sub(rank) / inside;
        let left_over = if rank < inside { left_over } else { 0 };
        heads + members + left_over
    }

    fn child(&self, rank: usize, ranks: usize, index: usize) -> usize {
        let (blocks, inside) = self.blocks(ranks);
        let (members, heads) = self.own(rank, ranks);
        if index < heads {
            return Binomial.child(rank / self.block, blocks, index) * self.block;
        }
        if index < heads + members {
            return rank + 1 + index - heads;
        }
        inside + rank + (index - heads - members) * inside
    }
}
