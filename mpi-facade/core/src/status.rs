//! `MPI_Status` as C lays it out, and where Pombo keeps the length of a message in it.
//!
//! `internal[0]` and `internal[1]` are the low and high half of the received bytes, bit 0 of `internal[2]`
//! says that the operation was cancelled, `internal[3]` and `internal[4]` are zero. Only this file knows.

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL};
use core::ffi::c_int;

const CANCELLED: c_int = 1;

/// What is known of a finished operation: eight ints, as the ABI demands.
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

const _: () = assert!(size_of::<Status>() == 32 && align_of::<Status>() == 4);

impl Status {
    /// Of a send, of `MPI_REQUEST_NULL` and of an inactive persistent request.
    pub const EMPTY: Self = Self::received(MPI_ANY_SOURCE, MPI_ANY_TAG, 0);

    /// Of a receive from `MPI_PROC_NULL`.
    pub const PROC_NULL: Self = Self::received(MPI_PROC_NULL, MPI_ANY_TAG, 0);

    /// Of a message of `bytes` bytes.
    pub const fn received(source: c_int, tag: c_int, bytes: u64) -> Self {
        let internal = [bytes as c_int, (bytes >> 32) as c_int, 0, 0, 0];
        Self {
            source,
            tag,
            error: 0,
            internal,
        }
    }

    /// The same with an error, for calls that complete several operations.
    pub const fn with_error(self, error: c_int) -> Self {
        Self { error, ..self }
    }

    /// The received bytes.
    pub const fn bytes(&self) -> u64 {
        self.internal[0] as u32 as u64 | (self.internal[1] as u32 as u64) << 32
    }

    /// Replaces the received bytes.
    pub const fn set_bytes(&mut self, bytes: u64) {
        self.internal[0] = bytes as c_int;
        self.internal[1] = (bytes >> 32) as c_int;
    }

    /// Whether the operation was cancelled.
    pub const fn cancelled(&self) -> bool {
        self.internal[2] & CANCELLED != 0
    }

    /// Marks the operation as cancelled, or not.
    pub const fn set_cancelled(&mut self, cancelled: bool) {
        self.internal[2] = self.internal[2] & !CANCELLED | cancelled as c_int;
    }

    /// Reads a status from C memory, with 0 for `error`, which may be uninitialised.
    ///
    /// # Safety
    /// `from` is a status that MPI filled in.
    pub unsafe fn load(from: *const Self) -> Self {
        // SAFETY: the caller's promise; `error` is not touched.
        unsafe {
            Self {
                source: (&raw const (*from).source).read(),
                tag: (&raw const (*from).tag).read(),
                error: 0,
                internal: (&raw const (*from).internal).read(),
            }
        }
    }

    /// Writes this status to C memory, `error` excepted: calls that complete one operation must leave it alone.
    /// Does nothing for `MPI_STATUS_IGNORE`.
    ///
    /// # Safety
    /// `to` is null or may be written as an `MPI_Status`.
    pub unsafe fn store(self, to: *mut Self) {
        if to.is_null() {
            return;
        }
        // SAFETY: not null, so writable by the caller's promise; fields are written one by one because the
        // caller's `error` may be uninitialised and must stay as it is.
        unsafe {
            (&raw mut (*to).source).write(self.source);
            (&raw mut (*to).tag).write(self.tag);
            (&raw mut (*to).internal).write(self.internal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut there = Status {
            error: 77,
            ..Status::EMPTY
        };
        // SAFETY: `there` is a live status.
        unsafe { Status::received(1, 2, 3).store(&mut there) };
        assert_eq!(
            there,
            Status {
                error: 77,
                ..Status::received(1, 2, 3)
            }
        );
        // SAFETY: as above.
        assert_eq!(unsafe { Status::load(&there) }, Status::received(1, 2, 3));
        // SAFETY: null is allowed.
        unsafe { Status::EMPTY.store(core::ptr::null_mut()) };
    }
}
