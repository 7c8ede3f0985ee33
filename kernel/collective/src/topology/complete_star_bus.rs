//! Networks in which all ranks, or all but one, are equivalent; and networks that are trees.

use super::{Binomial, Kary, Links, NetworkMetrics, Rooted, Shape, Topology};

/// A network in which every rank has a link to every other, or a switch has the same effect.
#[derive(Clone, Copy, Debug)]
pub struct Complete {
    ranks: usize,
}

impl Complete {
    /// Creates a network of `ranks` ranks: 1 or more.
    pub const fn new(ranks: usize) -> Self {
        Complete { ranks }
    }

    /// Returns the metrics of the network.
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

/// A network in which rank 0 has a link to every other rank, and there are no other links.
#[derive(Clone, Copy, Debug)]
pub struct Star {
    ranks: usize,
}

impl Star {
    /// Creates a network of `ranks` ranks: 1 or more.
    pub const fn new(ranks: usize) -> Self {
        Star { ranks }
    }

    /// Returns the metrics of the network.
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

/// A shared medium that carries one message at a time, which every rank receives.
#[derive(Clone, Copy, Debug)]
pub struct Bus {
    ranks: usize,
}

impl Bus {
    /// Creates a network of `ranks` ranks: 1 or more.
    pub const fn new(ranks: usize) -> Self {
        Bus { ranks }
    }

    /// Returns the metrics of the network. The medium counts as one link.
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

/// All ranks but one, ascending from it; the first rank follows the last.
#[derive(Clone, Debug)]
pub struct Others {
    rank: usize,
    ranks: usize,
    left: usize,
}

impl Others {
    /// Creates the sequence of all ranks but `rank`.
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

/// A network whose links form a tree: rank 0 is the root, and every rank has up to `K` children.
#[derive(Clone, Copy, Debug)]
pub struct TreeNetwork<const K: usize> {
    ranks: usize,
}

impl<const K: usize> TreeNetwork<K> {
    /// Creates a network of `ranks` ranks: 1 or more.
    pub const fn new(ranks: usize) -> Self {
        TreeNetwork { ranks }
    }

    /// Returns the metrics of the network. The bisection is that of branches of equal size.
    pub const fn metrics(&self) -> NetworkMetrics {
        if self.ranks == 1 {
            return NetworkMetrics::ALONE;
        }
        // Rows fill from the left: if the last rank is in the first branch, the other branches are one row shorter.
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

    /// Goes down if `to` is below `from`, else up.
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
