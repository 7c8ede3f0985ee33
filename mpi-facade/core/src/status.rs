//! `MPI_Status` as C lays it out, and where Pombo keeps the length of a message in it.
//!
//! `internal[0]` and `internal[1]` are the low and high half of the received bytes, bit 0 of `internal[2]`
//! says that the operation was cancelled, `internal[3]` and `internal[4]` are zero. Only this file knows.

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL};
use core::ffi::c_int;
use static_assertions::const_assert_eq;

const CANCELLED: c_int = 1;
/// In place of an error: nobody has asked for it. No error has this code.
const UNSAID: c_int = c_int::MIN;

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

const_assert_eq!(size_of::<Status>(), 32);
const_assert_eq!(align_of::<Status>(), 4);

impl Status {
    /// The standard's empty status, of `MPI_REQUEST_NULL` and of an inactive persistent request: without an error.
    pub const EMPTY: Self = Self::SENT.with_error(0);

    /// Of a send.
    pub const SENT: Self = Self::received(MPI_ANY_SOURCE, MPI_ANY_TAG, 0);

    /// Of a receive from `MPI_PROC_NULL`.
    pub const PROC_NULL: Self = Self::received(MPI_PROC_NULL, MPI_ANY_TAG, 0);

    /// Of a message of `bytes` bytes.
    pub const fn received(source: c_int, tag: c_int, bytes: u64) -> Self {
        let internal = [bytes as c_int, (bytes >> 32) as c_int, 0, 0, 0];
        Self {
            source,
            tag,
            error: UNSAID,
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

    /// The received bytes of a status in C memory. Reads nothing else, as nobody may have written the rest.
    ///
    /// # Safety
    /// The bytes of that status were written, by a call or by [`Status::store_bytes`].
    pub unsafe fn load_bytes(from: *const Self) -> u64 {
        let mut status = Self::EMPTY;
        // SAFETY: the caller's promise.
        unsafe {
            status.internal[0] = (&raw const (*from).internal[0]).read();
            status.internal[1] = (&raw const (*from).internal[1]).read();
        }
        status.bytes()
    }

    /// Whether the operation of a status in C memory was cancelled. Reads nothing else.
    ///
    /// # Safety
    /// As for [`Status::load_bytes`], with [`Status::store_cancelled`].
    pub unsafe fn load_cancelled(from: *const Self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { (&raw const (*from).internal[2]).read() & CANCELLED != 0 }
    }

    /// Replaces the received bytes of a status in C memory, of which nothing needs to be written yet.
    ///
    /// # Safety
    /// `to` may be written as an `MPI_Status`.
    pub unsafe fn store_bytes(to: *mut Self, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe {
            (&raw mut (*to).internal[0]).write(bytes as c_int);
            (&raw mut (*to).internal[1]).write((bytes >> 32) as c_int);
        }
    }

    /// Marks the operation of a status in C memory as cancelled, or not.
    ///
    /// # Safety
    /// As for [`Status::store_bytes`].
    pub unsafe fn store_cancelled(to: *mut Self, cancelled: bool) {
        // SAFETY: the caller's promise.
        unsafe { (&raw mut (*to).internal[2]).write(cancelled.into()) };
    }

    /// Writes this status to C memory, `error` excepted unless it is known: calls that complete one operation must
    /// leave it alone. Does nothing for `MPI_STATUS_IGNORE`.
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
            if self.error != UNSAID {
                (&raw mut (*to).error).write(self.error);
            }
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
        for status in [
            Status::received(1, 2, 3 << 40),
            Status::SENT,
            Status::PROC_NULL,
        ] {
            // SAFETY: `there` is a live status.
            unsafe { status.store(&mut there) };
            assert_eq!(there, status.with_error(77));
        }
        // SAFETY: null is allowed.
        unsafe { Status::EMPTY.store(core::ptr::null_mut()) };
        // SAFETY: as above.
        unsafe { Status::EMPTY.store(&mut there) };
        assert_eq!(there, Status::SENT.with_error(0));
    }

    #[test]
    fn parts_are_read_and_written_where_nothing_else_was() {
        let mut there = core::mem::MaybeUninit::<Status>::uninit();
        let place = there.as_mut_ptr();
        for (bytes, cancelled) in [(5 << 33, true), (u64::MAX, false)] {
            // SAFETY: memory for a status, of which only what was written is read.
            let read = unsafe {
                Status::store_bytes(place, bytes);
                Status::store_cancelled(place, cancelled);
                (Status::load_bytes(place), Status::load_cancelled(place))
            };
            assert_eq!(read, (bytes, cancelled));
        }
    }
}
