//! The order in which receives were posted, where somebody asks for it.

/// Tells which of two receives was posted first, where somebody asks: to join classes of patterns, or to ask holders.
pub trait Sequence: Copy {
    /// The receive of that number.
    fn new(number: u64) -> Self;
    /// Its number; 0 where nobody asks.
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
