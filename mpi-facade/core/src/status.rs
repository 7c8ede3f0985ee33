//! `MPI_Status` as C lays it out, and where Pombo keeps the length of a message in it.
//!
//! `internal[0]` and `internal[1]` are the low and high half of the received bytes, bit 0 of `internal[2]` says that
//! the operation was cancelled, `internal[3]` and `internal[4]` are zero. Only this file uses them.

use crate::c_arguments::OutPointer;
use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL};
use core::ffi::c_int;
use core::mem::offset_of;
use static_assertions::const_assert_eq;

const CANCELLED: c_int = 1;
/// In place of an error that is not to be written. No error has this code.
const UNSAID: c_int = c_int::MIN;

/// The status of a completed operation: eight ints, as the ABI requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Status {
    /// Rank of the sender.
    pub source: c_int,
    /// Tag of the message.
    pub tag: c_int,
    /// Error class, meaningful in calls that complete several operations.
    pub error: c_int,
    internal: [c_int; 5],
}

const_assert_eq!(size_of::<Status>(), 32);
const_assert_eq!(align_of::<Status>(), 4);

const BYTES: usize = offset_of!(Status, internal);
const FLAGS: usize = BYTES + 2 * size_of::<c_int>();

impl Status {
    /// Byte offset of the sender's rank, for [`OutPointer::part`].
    pub const SOURCE: usize = offset_of!(Status, source);
    /// Byte offset of the tag.
    pub const TAG: usize = offset_of!(Status, tag);
    /// Byte offset of the error.
    pub const ERROR: usize = offset_of!(Status, error);

    /// The standard's empty status, of `MPI_REQUEST_NULL` and of an inactive persistent request: without an error.
    pub const EMPTY: Self = Self::SENT.with_error(0);

    /// The status of a send.
    pub const SENT: Self = Self::received(MPI_ANY_SOURCE, MPI_ANY_TAG, 0);

    /// The status of a receive from `MPI_PROC_NULL`.
    pub const PROC_NULL: Self = Self::received(MPI_PROC_NULL, MPI_ANY_TAG, 0);

    /// Returns the status of a message of `bytes` bytes.
    pub const fn received(source: c_int, tag: c_int, bytes: u64) -> Self {
        let internal = [bytes as c_int, (bytes >> 32) as c_int, 0, 0, 0];
        Self {
            source,
            tag,
            error: UNSAID,
            internal,
        }
    }

    /// Returns the status with an error, for calls that complete several operations.
    pub const fn with_error(self, error: c_int) -> Self {
        Self { error, ..self }
    }

    /// Returns the received bytes.
    pub const fn bytes(&self) -> u64 {
        self.internal[0] as u32 as u64 | (self.internal[1] as u32 as u64) << 32
    }

    /// Replaces the received bytes.
    pub const fn set_bytes(&mut self, bytes: u64) {
        self.internal[0] = bytes as c_int;
        self.internal[1] = (bytes >> 32) as c_int;
    }

    /// Returns whether the operation was cancelled.
    pub const fn cancelled(&self) -> bool {
        self.internal[2] & CANCELLED != 0
    }

    /// Marks the operation as cancelled, or not.
    pub const fn set_cancelled(&mut self, cancelled: bool) {
        self.internal[2] = self.internal[2] & !CANCELLED | cancelled as c_int;
    }

    /// Reads the received bytes of a status in C memory. It reads nothing else, as the rest may be uninitialised.
    pub fn load_bytes(from: OutPointer<Self>) -> u64 {
        let [low, high] = from.part::<[c_int; 2], BYTES>().get();
        low as u32 as u64 | (high as u32 as u64) << 32
    }

    /// Reads whether the operation of a status in C memory was cancelled. It reads nothing else.
    pub fn load_cancelled(from: OutPointer<Self>) -> bool {
        from.part::<c_int, FLAGS>().get() & CANCELLED != 0
    }

    /// Replaces the received bytes of a status in C memory, which may be uninitialised.
    pub fn store_bytes(to: OutPointer<Self>, bytes: u64) {
        let halves = [bytes as c_int, (bytes >> 32) as c_int];
        to.part::<[c_int; 2], BYTES>().set(halves);
    }

    /// Marks the operation of a status in C memory as cancelled, or not.
    pub fn store_cancelled(to: OutPointer<Self>, cancelled: bool) {
        to.part::<c_int, FLAGS>().set(cancelled.into());
    }

    /// Writes this status to C memory, except an `error` that is not set: calls that complete one operation must not
    /// change it, and it may be uninitialised.
    #[inline]
    pub fn store(self, to: OutPointer<Self>) {
        to.part::<c_int, { Self::SOURCE }>().set(self.source);
        to.part::<c_int, { Self::TAG }>().set(self.tag);
        to.part::<[c_int; 5], BYTES>().set(self.internal);
        if self.error != UNSAID {
            to.part::<c_int, { Self::ERROR }>().set(self.error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::MaybeUninit;

    #[test]
    fn bytes_and_cancelled_do_not_disturb_each_other() {
        for bytes in [
            0,
            1,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            1 << 32,
            u64::MAX - 5,
        ] {
            let mut status = Status::received(3, 4, bytes);
            assert_eq!((status.bytes(), status.cancelled()), (bytes, false));
            status.set_cancelled(true);
            assert_eq!((status.bytes(), status.cancelled()), (bytes, true));
            status.set_bytes(!bytes);
            status.set_cancelled(false);
            assert_eq!((status.bytes(), status.cancelled()), (!bytes, false));
        }
    }

    #[test]
    fn storing_leaves_the_error_field_alone() {
        let mut there = MaybeUninit::new(Status {
            error: 77,
            ..Status::EMPTY
        });
        let place = OutPointer::of(&mut there);
        for status in [
            Status::received(1, 2, 3 << 40),
            Status::SENT,
            Status::PROC_NULL,
        ] {
            status.store(place);
            assert_eq!(place.get(), status.with_error(77));
        }
        Status::EMPTY.store(place);
        assert_eq!(place.get(), Status::SENT.with_error(0));
    }

    #[test]
    fn parts_are_read_and_written_where_nothing_else_was() {
        let mut there = MaybeUninit::uninit();
        let place = OutPointer::of(&mut there);
        for (bytes, cancelled) in [(5 << 33, true), (u64::MAX, false)] {
            Status::store_bytes(place, bytes);
            Status::store_cancelled(place, cancelled);
            let read = (Status::load_bytes(place), Status::load_cancelled(place));
            assert_eq!(read, (bytes, cancelled));
        }
    }
}
