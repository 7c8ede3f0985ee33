//! Standard streams that the program was started without: what the library opens must not get their numbers, where the
//! program would write to it.

use alloc::vec::Vec;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};

/// Keeps the numbers 0 to 2 from being given to descriptors that are opened, as long as it exists.
pub struct ClosedStreams(#[expect(dead_code, reason = "they are only held")] Vec<OwnedFd>);

impl ClosedStreams {
    /// Takes those numbers that are free.
    pub fn take() -> Self {
        let null = || open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok();
        let low = core::iter::from_fn(|| null().filter(|file| file.as_raw_fd() <= 2));
        ClosedStreams(low.collect())
    }
}
