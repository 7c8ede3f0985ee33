//! Owned descriptors of `bootstrap` and its users, with plain reads and writes.

use super::JobError;
use alloc::boxed::Box;
#[cfg(feature = "hosts")]
use alloc::vec::Vec;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "hosts")]
use core::time::Duration;
use pombo_netdrivers::Errno;
#[cfg(feature = "hosts")]
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io;
use rustix::net::{SendFlags, send};

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
            unsafe { io::close(first + owned.trailing_zeros() as c_int) };
            owned &= owned - 1;
        }
    }
}

/// A descriptor of our own; closed when dropped.
#[derive(Debug)]
pub(crate) struct Descriptor(OwnedFd);

impl Descriptor {
    /// Takes ownership of a descriptor that a call of the C library has returned.
    pub(crate) fn returned(number: c_int, doing: &'static str) -> Result<Self, Box<JobError>> {
        let number = Errno::check(number).map_err(JobError::failed(doing))?;
        // SAFETY: the number is no error, and nobody else closes it.
        Ok(Self::from(unsafe { OwnedFd::from_raw_fd(number) }))
    }

    /// Reads some bytes; returns 0 at the end. A blocking descriptor waits for them.
    pub(crate) fn read(&self, into: &mut [u8]) -> Result<usize, Box<JobError>> {
        io::retry_on_intr(|| io::read(self, &mut *into)).map_err(JobError::failed("read"))
    }

    /// Writes all bytes to a socket or a pipe. A closed peer is an error, not a signal.
    pub(crate) fn write_all(&self, mut bytes: &[u8]) -> Result<(), Box<JobError>> {
        while !bytes.is_empty() {
            let wrote = io::retry_on_intr(|| match send(self, bytes, SendFlags::NOSIGNAL) {
                Err(io::Errno::NOTSOCK) => io::write(self, bytes),
                sent => sent,
            });
            let wrote = wrote.map_err(JobError::failed("write"))?;
            bytes = bytes.get(wrote..).unwrap_or_default();
        }
        Ok(())
    }
}

impl From<OwnedFd> for Descriptor {
    fn from(owned: OwnedFd) -> Self {
        if let Some((word, bit)) = note(owned.as_raw_fd()) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Self(owned)
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if let Some((word, bit)) = note(self.0.as_raw_fd()) {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }
}

/// Waits until one of the descriptors has something to read or has ended, for that time at most, and returns for each
/// whether it has.
#[cfg(feature = "hosts")]
#[inline(never)]
pub(crate) fn poll_readable(
    among: &mut dyn Iterator<Item = &Descriptor>,
    limit: Duration,
) -> io::Result<Vec<bool>> {
    let (mut polled, mut readable) = (Vec::new(), Vec::new());
    for one in among {
        polled.push(PollFd::new(one, PollFlags::IN));
    }
    poll(&mut polled, limit.try_into().ok().as_ref())?;
    for one in &polled {
        readable.push(!one.revents().is_empty());
    }
    Ok(readable)
}
