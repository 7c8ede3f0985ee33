//! The bounds of a layout in memory.

/// The bounds of an item, in bytes from its address. Source: MPI 5.0, sections 5.1.7 and 5.1.8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Where the item begins.
    pub lower: i64,
    /// Where the item ends; below `lower` if its extent is negative.
    pub upper: i64,
    /// Where the first byte of data lies, and where the last one ends; both 0 without data.
    pub true_lower: i64,
    /// See `true_lower`.
    pub true_upper: i64,
    /// Whether `lower` and `upper` were set, so that the bounds of what contains the item follow them alone.
    pub(super) set: bool,
    /// Whether the item has data, or bounds that were set.
    pub(super) counts: bool,
    /// The largest alignment of its values, in bytes.
    pub(super) alignment: u64,
}

impl Bounds {
    /// Returns the bytes from one item to the next.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.upper.wrapping_sub(self.lower)
    }

    /// Returns the bytes from the first byte of data to the end of the last one.
    pub fn true_extent(&self) -> i64 {
        self.true_upper.wrapping_sub(self.true_lower)
    }

    /// Returns the bounds of a value.
    pub(super) fn of_value(size: i64, alignment: u64) -> Self {
        Bounds {
            lower: 0,
            upper: size,
            true_lower: 0,
            true_upper: size,
            set: false,
            counts: true,
            alignment,
        }
    }

    /// Returns the bounds of `count` copies, the first one at `offset`; `None` on overflow.
    pub(super) fn repeated(&self, offset: i64, count: u64, stride: i64) -> Option<Self> {
        if count == 0 || !self.counts {
            return Some(Bounds::default());
        }
        let last = i128::from(stride) * i128::from(count - 1);
        let moved =
            |bound: i64, by: i128| i64::try_from(i128::from(bound) + i128::from(offset) + by).ok();
        let data = self.true_lower != self.true_upper;
        Some(Bounds {
            lower: moved(self.lower, last.min(0))?,
            upper: moved(self.upper, last.max(0))?,
            true_lower: if data {
                moved(self.true_lower, last.min(0))?
            } else {
                0
            },
            true_upper: if data {
                moved(self.true_upper, last.max(0))?
            } else {
                0
            },
            ..*self
        })
    }

    /// Returns the bounds of both together.
    pub(super) fn and(&self, other: &Self) -> Self {
        let has_data = |bounds: &Self| bounds.true_lower != bounds.true_upper;
        let (true_lower, true_upper) = match (has_data(self), has_data(other)) {
            (true, true) => (
                self.true_lower.min(other.true_lower),
                self.true_upper.max(other.true_upper),
            ),
            (true, false) => (self.true_lower, self.true_upper),
            (false, _) => (other.true_lower, other.true_upper),
        };
        let (lower, upper) = match (self, other) {
            (one, none) | (none, one) if !none.counts => (one.lower, one.upper),
            (set, unset) | (unset, set) if set.set && !unset.set => (set.lower, set.upper),
            _ => (self.lower.min(other.lower), self.upper.max(other.upper)),
        };
        Bounds {
            lower,
            upper,
            true_lower,
            true_upper,
            set: self.set || other.set,
            counts: self.counts || other.counts,
            alignment: self.alignment.max(other.alignment),
        }
    }
}
