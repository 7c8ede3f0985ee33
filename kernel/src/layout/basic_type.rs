//! The types of single values, of which layouts are made.

use crate::aspect::Element;

/// A basic type: a value of one size in memory and one size in a message.
pub trait BasicType: Copy + PartialEq + core::fmt::Debug + 'static {
    /// Returns the bytes of a value in memory, at least 1.
    fn size(self) -> u64;

    /// Returns the bytes of a value in a message, at least 1.
    fn packed_size(self) -> u64 {
        self.size()
    }

    /// Returns the alignment of a value in memory, in bytes.
    fn alignment(self) -> u64 {
        self.size()
    }
}

impl BasicType for Element {
    fn size(self) -> u64 {
        self.extent() as u64
    }

    fn packed_size(self) -> u64 {
        self.travelling(self.extent()) as u64
    }
}
