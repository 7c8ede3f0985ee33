//! Descriptors that `bootstrap` and its like own, and plain reads and writes.

use super::JobError;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

/// The descriptors of this process that have an owner here, one bit each: a forked child closes them, for whoever holds
/// one is taken for the rank. Numbers beyond stay with the child as well.
static OWNED: [AtomicU64; 1 << 10] = [const { AtomicU64::new(0) }; 1 << 10];

/// Where it is noted whether that descriptor has an owner.
fn note(number: c_int) -> Option<(&'static AtomicU64, u64)> {
    let number = usize::try_from(number).ok()?;
    Some((OWNED.get(number / 64)?, 1 << (number % 64)))
}

/// For a child that a process has forked which had joined: closes all connections to the job, so that nobody takes the
/// child for the rank. Nothing of the job may be used there any more. Safe in a handler of `pthread_atfork`.
pub fn let_go() {
    for (word, first) in OWNED.iter().zip((0..).step_by(64)) {
        let mut owned = word.swap(0, Ordering::Relaxed);
        while owned != 0 {
            // SAFETY: takes a number; the child has nobody who uses it.
            unsafe { libc::close(first + owned.trailing_zeros() as c_int) };
            owned &= owned - 1;
        }
    }
}

/// A descriptor of our own; closed when dropped.
#[derive(Debug)]
pub(crate) struct Descriptor(c_int);

impl Descriptor {
    /// Takes over what a system call has returned and nobody else will close.
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

    /// Reads some bytes; 0 at the end. Waits for them if the descriptor does.
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

    /// Writes all of it to a socket or a pipe. Nobody there to read is an error, no signal.
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

/// Turns a failed call into its error.
pub(crate) fn check(result: isize, doing: &'static str) -> Result<usize, JobError> {
    usize::try_from(result).map_err(|_| JobError::last(doing))
}
