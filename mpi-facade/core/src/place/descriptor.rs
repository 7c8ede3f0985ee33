//! Descriptors that `place` and its like own, and plain reads and writes.

use super::PlaceError;
use core::ffi::c_int;

/// A descriptor of our own; closed when dropped.
#[derive(Debug)]
pub(crate) struct Descriptor(c_int);

impl Descriptor {
    /// Takes over what a system call has returned and nobody else will close.
    pub(crate) fn returned(number: c_int, doing: &'static str) -> Result<Self, PlaceError> {
        check(number as isize, doing)?;
        Ok(Self(number))
    }

    pub(crate) fn number(&self) -> c_int {
        self.0
    }

    /// Reads some bytes; 0 at the end. Waits for them if the descriptor does.
    pub(crate) fn read(&self, into: &mut [u8]) -> Result<usize, PlaceError> {
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
    pub(crate) fn write_all(&self, mut bytes: &[u8]) -> Result<(), PlaceError> {
        while !bytes.is_empty() {
            let (from, len) = (bytes.as_ptr().cast(), bytes.len());
            // SAFETY: the bytes are valid for their length.
            let mut wrote = unsafe { libc::send(self.0, from, len, libc::MSG_NOSIGNAL) };
            if wrote < 0 && PlaceError::last("write").is(libc::ENOTSOCK) {
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
        // SAFETY: the descriptor is ours, and this is its last use.
        unsafe { libc::close(self.0) };
    }
}

/// Turns a failed call into its error.
pub(crate) fn check(result: isize, doing: &'static str) -> Result<usize, PlaceError> {
    usize::try_from(result).map_err(|_| PlaceError::last(doing))
}
