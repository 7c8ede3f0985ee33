//! The memory that the device reads and writes. Images have it as a static variable.

use static_assertions::const_assert;

/// Bytes of a buffer: the header of virtio (12), a frame of Ethernet (1514), and padding to a multiple of 8. The crate
/// `virtio-drivers` refuses less than 1526 for arriving frames.
pub const BUFFER_BYTES: usize = 1528;

const_assert!(BUFFER_BYTES >= 1526);

/// `SLOTS` buffers for frames that leave and as many for frames that arrive; `SLOTS` is a power of two.
#[repr(C, align(8))]
pub struct Buffers<const SLOTS: usize> {
    pub(super) tx: [[u8; BUFFER_BYTES]; SLOTS],
    pub(super) rx: [[u8; BUFFER_BYTES]; SLOTS],
}

impl<const SLOTS: usize> Buffers<SLOTS> {
    /// Creates empty buffers, for the initial value of a static variable.
    pub const fn new() -> Self {
        Buffers {
            tx: [[0; BUFFER_BYTES]; SLOTS],
            rx: [[0; BUFFER_BYTES]; SLOTS],
        }
    }
}

impl<const SLOTS: usize> Default for Buffers<SLOTS> {
    fn default() -> Self {
        Self::new()
    }
}

// What 16 frames each way take.
const_assert!(size_of::<Buffers<16>>() == 48_896);
