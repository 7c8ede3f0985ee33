//! Ranges of consecutive ranks.

/// Consecutive ranks; the first rank follows the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RankRange {
    first: usize,
    len: usize,
    ranks: usize,
}

impl RankRange {
    /// Creates a range of `len` of `ranks` ranks, beginning with `first`. `len` is at most `ranks`, `first` below it.
    pub const fn new(first: usize, len: usize, ranks: usize) -> Self {
        RankRange { first, len, ranks }
    }

    /// Returns the number of ranks in the range.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the range is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the same ranks as at most two runs of first rank and number, none of them empty.
    pub fn runs(self) -> impl Iterator<Item = (usize, usize)> + Clone {
        let before_the_end = if self.first + self.len > self.ranks {
            self.ranks - self.first
        } else {
            self.len
        };
        [(self.first, before_the_end), (0, self.len - before_the_end)]
            .into_iter()
            .filter(|&(_, len)| len > 0)
    }
}
