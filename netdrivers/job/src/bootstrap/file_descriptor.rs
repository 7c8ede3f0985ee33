//! Owned descriptors of `bootstrap` and its users, with plain reads and writes.

use super::JobError;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

/// The descriptors of this process that have an owner here, one bit each: a forked child closes them, because a process
/// that holds one is taken for the rank. Higher numbers stay open in the child.
static OWNED: [AtomicU64; 1 << 10] = [const { AtomicU64::new(0) }; 1 << 10];

/// Returns the word and the bit of a descriptor in [`OWNED`].
fn note(number: c_int) -> Option<(&'static AtomicU64, u64)> {
    let number = usize::try_from(number).ok()?;
    Some((OWNED.get(number / 64)?, 1 << (number % 64)))
}

/// Closes all connections to the job in a child that a joined process has forked, so that the child is not taken for
/// the rank. The child must not use the job any more. Safe in a handler of `pthread_atfork`.
pub fn let_go() {
    for (word, first) in OWNED.iter().zip((0..).step_by(64)) {
        let mut owned = word.swap(0, Ordering::Relaxed);
        while owned != 0 {
            // SAFETY: the call takes a number; nothing in the child uses the descriptor.
            unsafe { libc::close(first + owned.trailing_zeros() as c_int) };
            owned &= owned - 1;
        }
    }
}

/// A descriptor of our own; closed when dropped.
#[derive(Debug)]
pub(crate) struct Descriptor(c_int);

impl Descriptor {
    /// Takes ownership of a descriptor that a system call has returned.
    pub(crate) fn returned(number: c_int, doing: &'static str) -> Result<Self, JobError> {
        check(number as isize, doing)?;
        if let Some((word, bit)) = note(number) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(Self(number))
    }

    pub(crate) fn number(&self) -> c_int {
        self.0
    }

    /// Reads some bytes; returns 0 at the end. A blocking descriptor waits for them.
    pub(crate) fn read(&self, into: &mut [u8]) -> Result<usize, JobError> {
        loop {
            // SAFETY: the buffer is valid for its length.
            let read = unsafe { libc::read(self.0, into.as_mut_ptr().cast(), into.len()) };
            match check(read, "read") {
                Err(error) if error.is(libc::EINTR) => {}
                read => return read,
            }
        }
    }

    /// Writes all bytes to a socket or a pipe. A closed peer is an error, not a signal.
    pub(crate) fn write_all(&self, mut bytes: &[u8]) -> Result<(), JobError> {
        while !bytes.is_empty() {
            let (from, len) = (bytes.as_ptr().cast(), bytes.len());
            // SAFETY: the bytes are valid for their length.
            let mut wrote = unsafe { libc::send(self.0, from, len, libc::MSG_NOSIGNAL) };
            if wrote < 0 && JobError::last("write").is(libc::ENOTSOCK) {
                // SAFETY: as before.
                wrote = unsafe { libc::write(self.0, from, len) };
            }
            match check(wrote, "write") {
                Err(error) if error.is(libc::EINTR) => {}
                wrote => bytes = bytes.get(wrote?..).unwrap_or_default(),
            }
        }
        Ok(())
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if let Some((word, bit)) = note(self.0) {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
        // SAFETY: the descriptor is ours, and this is its last use.
        unsafe { libc::close(self.0) };
    }
}

/// Converts the result of a system call.
pub(crate) fn check(result: isize, doing: &'static str) -> Result<usize, JobError> {
    usize::try_from(result).map_err(|_| JobError::last(doing))
}
