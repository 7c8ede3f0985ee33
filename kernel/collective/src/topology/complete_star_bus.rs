//! Networks in which all ranks are alike, or all but one; and networks that are trees.

use super::{Binomial, Kary, Links, NetworkMetrics, Rooted, Shape, Topology};

/// Every rank is linked to every other, or a switch makes it look so.
#[derive(Clone, Copy, Debug)]
pub struct Complete {
    ranks: usize,
}

impl Complete {
    /// Of so many ranks: 1 or more.
    pub const fn new(ranks: usize) -> Self {
        Complete { ranks }
    }

    /// Its figures.
    pub const fn metrics(&self) -> NetworkMetrics {
        let n = self.ranks;
        if n == 1 {
            return NetworkMetrics::ALONE;
        }
        NetworkMetrics {
            diameter: 1,
            connectivity: n - 1,
            bisection: (n / 2) * n.div_ceil(2),
            cost: n * (n - 1) / 2,
        }
    }
}

/// Rank 0 is linked to every other, and there are no other links.
#[derive(Clone, Copy, Debug)]
pub struct Star {
    ranks: usize,
}

impl Star {
    /// Of so many ranks: 1 or more.
    pub const fn new(ranks: usize) -> Self {
        Star { ranks }
    }

    /// Its figures.
    pub const fn metrics(&self) -> NetworkMetrics {
        let n = self.ranks;
        NetworkMetrics {
            diameter: if n > 2 { 2 } else { n - 1 },
            connectivity: if n > 1 { 1 } else { 0 },
            bisection: n / 2,
            cost: n - 1,
        }
    }
}

/// One medium that carries one message at a time, and every rank hears it.
#[derive(Clone, Copy, Debug)]
pub struct Bus {
    ranks: usize,
}

impl Bus {
    /// Of so many ranks: 1 or more.
    pub const fn new(ranks: usize) -> Self {
        Bus { ranks }
    }

    /// Its figures. The medium counts as one link.
    pub const fn metrics(&self) -> NetworkMetrics {
        if self.ranks == 1 {
            return NetworkMetrics::ALONE;
        }
        NetworkMetrics {
            diameter: 1,
            connectivity: 1,
            bisection: 1,
            cost: 1,
        }
    }
}

macro_rules! one_hop {
    ($($name:ident: $toward:expr;)*) => {$(
        impl Topology for $name {
            type Line = Others;
            type Tree = Rooted<Binomial>;

            fn ranks(&self) -> usize {
                self.ranks
            }

            fn toward(&self, from: usize, to: usize) -> usize {
                $toward(from, to)
            }

            fn line(&self, root: usize) -> Others {
                Others::new(root, self.ranks)
            }

            fn tree(&self, rank: usize, root: usize) -> Rooted<Binomial> {
                Rooted::new(Binomial, rank, self.ranks, root)
            }
        }
    )*};
}

one_hop! {
    Complete: |_, to| to;
    Bus: |_, to| to;
    Star: |from, to| if from == 0 { to } else { 0 };
}

/// Everybody but one rank, ascending from it, on behind the last with the first.
#[derive(Clone, Debug)]
pub struct Others {
    rank: usize,
    ranks: usize,
    left: usize,
}

impl Others {
    /// The others of `rank`.
    pub const fn new(rank: usize, ranks: usize) -> Self {
        Others {
            rank,
            ranks,
            left: ranks - 1,
        }
    }
}

impl Iterator for Others {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        self.rank += 1;
        if self.rank == self.ranks {
            self.rank = 0;
        }
        Some(self.rank)
    }
}

/// A network whose links are a tree: up to `K` ranks below each, rank 0 on top.
#[derive(Clone, Copy, Debug)]
pub struct TreeNetwork<const K: usize> {
    ranks: usize,
}

impl<const K: usize> TreeNetwork<K> {
    /// Of so many ranks: 1 or more.
    pub const fn new(ranks: usize) -> Self {
        TreeNetwork { ranks }
    }

    /// Its figures. The bisection is that of branches of equal size.
    pub const fn metrics(&self) -> NetworkMetrics {
        if self.ranks == 1 {
            return NetworkMetrics::ALONE;
        }
        // The rows fill from the left: is the last one longer than the first branch?
        let (mut depth, mut top) = (1, self.ranks - 1);
        while top > K {
            top = (top - 1) / K;
            depth += 1;
        }
        let other_side = if top > 1 { depth } else { depth - 1 };
        let branches = if self.ranks - 1 < K {
            self.ranks - 1
        } else {
            K
        };
        NetworkMetrics {
            diameter: depth + if K == 1 { 0 } else { other_side },
            connectivity: 1,
            bisection: if branches < 4 { 1 } else { branches / 2 },
            cost: self.ranks - 1,
        }
    }
}

impl<const K: usize> Links for TreeNetwork<K> {
    fn ranks(&self) -> usize {
        self.ranks
    }

    /// Down if `to` is below, else up.
    fn toward(&self, from: usize, to: usize) -> usize {
        let up = |rank| Kary::<K>.parent(rank, self.ranks);
        let mut at = to;
        while at > from {
            let above = up(at);
            if above == from {
                return at;
            }
            at = above;
        }
        up(from)
    }
}
