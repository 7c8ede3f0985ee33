//! Buffers of mailboxes on the heap, whose memory is provided when the first message comes. `mailboxes` and `message` use
//! them.

use alloc::vec::Vec;
use pombo_kernel::mailbox::{Buffers, Use};
use pombo_kernel::{Memory, Sink, Source};

/// Memory of mailboxes: vectors that belong to the kernel while they are lent.
pub struct Heap;

/// A message to send.
#[derive(Debug, Default)]
pub struct Packed(pub(super) Vec<u8>);

/// A buffer of a mailbox.
#[derive(Debug)]
pub struct Buffer {
    /// The message so far.
    bytes: Vec<u8>,
    room: usize,
    what: Use,
}

impl Memory for Heap {
    type Out = Packed;
    type In = Buffer;
}

impl Buffers for Heap {
    fn provide(spare: Option<Buffer>, room: usize, what: Use) -> Option<Buffer> {
        let mut bytes = spare.map_or(Vec::new(), |spare| spare.bytes);
        bytes.clear();
        // A large message may be longer than memory is; the rest is small, and provided when it is filled.
        if what == Use::Large && bytes.try_reserve_exact(room).is_err() {
            return None;
        }
        Some(Buffer { bytes, room, what })
    }

    fn bytes(buffer: &Buffer) -> &[u8] {
        &buffer.bytes
    }
}

impl Source for Packed {
    #[inline]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        Some(&self.0)
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.0[offset..offset + into.len()]);
    }
}

impl Sink for Buffer {
    fn len(&self) -> usize {
        self.room
    }

    #[inline]
    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        if self.bytes.capacity() < self.room && self.what != Use::AnyClass {
            self.bytes.reserve_exact(self.room - self.bytes.len());
        }
        // Pieces come in order, so that nothing is filled twice.
        if offset == self.bytes.len() {
            return self.bytes.extend_from_slice(from);
        }
        let end = offset + from.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[offset..end].copy_from_slice(from);
    }
}
