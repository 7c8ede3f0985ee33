//! The width of a message's length: 4 bytes on small systems, 8 where messages may exceed 4 GiB.

use crate::header::Wire;
use zerocopy::little_endian::{U32, U64};

/// The type that carries lengths and offsets, in bytes, in envelopes and frames.
pub trait Length: Wire {
    /// Converts a number of bytes; `None` if it does not fit.
    fn new(bytes: usize) -> Option<Self>;

    /// Returns the number of bytes, cut to what this machine can address.
    fn get(self) -> usize;
}

impl Length for U32 {
    fn new(bytes: usize) -> Option<Self> {
        u32::try_from(bytes).ok().map(U32::new)
    }

    fn get(self) -> usize {
        usize::try_from(U32::get(self)).unwrap_or(usize::MAX)
    }
}

impl Length for U64 {
    fn new(bytes: usize) -> Option<Self> {
        u64::try_from(bytes).ok().map(U64::new)
    }

    fn get(self) -> usize {
        usize::try_from(U64::get(self)).unwrap_or(usize::MAX)
    }
}
