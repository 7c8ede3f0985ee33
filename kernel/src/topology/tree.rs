//! Trees.

use super::Tree;

/// Rank r (counted from the root) hangs below r without its lowest set bit. Depth and sends of the root are both
/// the logarithm of the number of ranks.
#[derive(Clone, Copy, Debug)]
pub struct Binomial {
    rank: usize,
    ranks: usize,
    root: usize,
}

impl Binomial {
    /// As `rank` of `ranks` sees it. All are below `ranks`.
    pub const fn new(rank: usize, ranks: usize, root: usize) -> Self {
        Binomial { rank, ranks, root }
    }

    /// Counted from the root.
    const fn relative(&self) -> usize {
        (self.rank + self.ranks - self.root) % self.ranks
    }

    const fn absolute(&self, relative: usize) -> usize {
        (relative + self.root) % self.ranks
    }
}

impl Tree for Binomial {
    type Children = BinomialChildren;

    fn parent(&self) -> Option<usize> {
        let relative = self.relative();
        (relative != 0).then(|| self.absolute(relative & (relative - 1)))
    }

    /// The largest subtree first, because it takes longest.
    fn children(&self) -> BinomialChildren {
        let relative = self.relative();
        let reach = if relative == 0 {
            self.ranks.next_power_of_two()
        } else {
            relative & relative.wrapping_neg()
        };
        BinomialChildren {
            tree: *self,
            bit: reach >> 1,
        }
    }
}

/// The ranks below one rank of a [`Binomial`] tree.
#[derive(Clone, Debug)]
pub struct BinomialChildren {
    tree: Binomial,
    bit: usize,
}

impl Iterator for BinomialChildren {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.bit != 0 {
            let child = self.tree.relative() + self.bit;
            self.bit >>= 1;
            if child < self.tree.ranks {
                return Some(self.tree.absolute(child));
            }
        }
        None
    }
}
