//! The order in which receives were posted, for compositions that need it.

/// Tells which of two receives was posted first. It is needed to merge classes of patterns, and to query peers that
/// hold messages.
pub trait Sequence: Copy {
    /// Creates the sequence number of a receive.
    fn new(number: u64) -> Self;
    /// Returns the number; 0 in compositions that need no order.
    fn get(self) -> u64;
}

impl Sequence for u64 {
    #[inline]
    fn new(number: u64) -> Self {
        number
    }

    #[inline]
    fn get(self) -> u64 {
        self
    }
}

impl Sequence for () {
    #[inline]
    fn new(_: u64) -> Self {}

    #[inline]
    fn get(self) -> u64 {
        0
    }
}
