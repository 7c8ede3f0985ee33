//! Cross-memory attach: the descriptor of another process' memory in a frame, and how it is read. Only `Connection` and
//! `Frame` use it.
//!
//! Frames do not name the process: it is the one that the segment names for the rank. The descriptor is copied once, as
//! its sender may still write to it.
//!
//! Every read also reads a token: a random word that only that rank has at that address. So the read itself
//! distinguishes the rank from a process that may not be read, one in another PID namespace, and one that reuses the
//! PID of a dead rank; no probe is needed before.

use crate::tuning::{FAST_PATHS, REMOTE_READ_CHUNK};
use core::cell::Cell;
use core::mem::MaybeUninit;
use core::{ptr, slice};

use pombo_kernel::channel::CopyTarget;

use super::process_token::ProcessToken;
use super::read_acks::ReadAck;

/// Bytes that a rank exposes for reading.
#[derive(Clone, Debug)]
pub(super) struct RemoteBuffer {
    /// The process to read; `None`: nothing is read.
    process: Option<i32>,
    address: usize,
    len: usize,
    /// The address of the token, and its value.
    token: (usize, u64),
    failed: Cell<bool>,
}

/// Size in bytes of a descriptor, which follows the head of a frame.
pub(super) const DESCRIPTOR_LEN: usize = 4 * size_of::<u64>();

/// Bound of one read in bytes; the system's bound is a page less than 2 GiB.
const MAX_READ: usize = 1 << 30;

/// Returns the descriptor of bytes of this process.
pub(super) fn describe(bytes: *const u8, len: usize, token: &ProcessToken) -> [u8; DESCRIPTOR_LEN] {
    let (at, word) = token.address_and_value();
    let fields = [
        bytes.expose_provenance() as u64,
        len as u64,
        at as u64,
        word,
    ];
    let mut descriptor = [0; DESCRIPTOR_LEN];
    for (place, field) in descriptor.chunks_exact_mut(size_of::<u64>()).zip(fields) {
        place.copy_from_slice(&field.to_ne_bytes());
    }
    descriptor
}

impl RemoteBuffer {
    /// Parses the head of a frame and the descriptor of that process' memory behind it; returns an empty frame if there
    /// is no valid one. Without a process every read is refused.
    #[cold]
    pub(super) fn parse(bytes: &[u8], process: Option<i32>) -> (&[u8], Self) {
        let (head, descriptor) = bytes
            .split_last_chunk::<DESCRIPTOR_LEN>()
            .unwrap_or((&[], &[0; DESCRIPTOR_LEN]));
        let field = |number: usize| {
            let place = descriptor[number * size_of::<u64>()..].first_chunk();
            place.map_or(0, |place| u64::from_ne_bytes(*place))
        };
        let remote = Self {
            process,
            address: field(0) as usize,
            // No allocation is longer.
            len: (field(1) as usize).min(isize::MAX as usize),
            token: (field(2) as usize, field(3)),
            failed: Cell::new(process.is_none()),
        };
        (head, remote)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Makes the acknowledgement a refusal.
    pub(super) fn refuse(&self) {
        self.failed.set(true);
    }

    /// Returns the acknowledgement for the sender.
    pub(super) fn ack(&self) -> ReadAck {
        if self.failed.get() {
            ReadAck::Refused
        } else {
            ReadAck::Read
        }
    }

    /// Copies `len` bytes from `at`; returns false if they could not be read.
    #[inline(never)]
    pub(super) fn read_into(&self, at: usize, len: usize, into: &mut impl CopyTarget) -> bool {
        let inside = at.checked_add(len).is_some_and(|end| end <= self.len);
        let fetched = FAST_PATHS && inside && !self.failed.get() && self.copy(at, len, into);
        self.failed.set(!fetched);
        fetched
    }

    fn copy(&self, at: usize, len: usize, into: &mut impl CopyTarget) -> bool {
        if let Some(room) = into.spare_capacity(len)
            && room.len() == len
        {
            let mut chunks = (at..).step_by(MAX_READ).zip(room.chunks_mut(MAX_READ));
            return chunks.all(|(at, chunk)| self.read(at, chunk).is_some());
        }
        self.copy_in_chunks(at, len, into)
    }

    /// Copies through memory of the stack. Apart, as reads straight into the target must work on the smallest stacks.
    #[inline(never)]
    fn copy_in_chunks(&self, at: usize, len: usize, into: &mut impl CopyTarget) -> bool {
        let mut chunk = [MaybeUninit::uninit(); REMOTE_READ_CHUNK];
        (at..at + len).step_by(REMOTE_READ_CHUNK).all(|start| {
            let chunk = &mut chunk[..REMOTE_READ_CHUNK.min(at + len - start)];
            let read = self.read(start, chunk);
            read.map(|bytes| into.append(bytes)).is_some()
        })
    }

    /// Fills `into` from offset `at`, all or nothing.
    fn read<'a>(&self, at: usize, into: &'a mut [MaybeUninit<u8>]) -> Option<&'a [u8]> {
        let process = self.process?;
        let mut word = 0_u64;
        let size = size_of_val(&word);
        let here = [
            iovec(into.as_mut_ptr().cast(), into.len()),
            iovec((&raw mut word).cast(), size),
        ];
        let there = [
            iovec(
                ptr::without_provenance_mut(self.address.wrapping_add(at)),
                into.len(),
            ),
            iovec(ptr::without_provenance_mut(self.token.0), size),
        ];
        // SAFETY: the call writes to the local areas, which are valid for their lengths and used by nobody else during
        // the call; the remote ones are mere numbers, addresses in the other process.
        let read =
            unsafe { libc::process_vm_readv(process, here.as_ptr(), 2, there.as_ptr(), 2, 0) };
        if usize::try_from(read) != Ok(into.len() + size) || word != self.token.1 {
            return None;
        }
        // SAFETY: the call has written all of them.
        Some(unsafe { slice::from_raw_parts(into.as_ptr().cast(), into.len()) })
    }
}

fn iovec(start: *mut libc::c_void, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: start,
        iov_len: len,
    }
}
