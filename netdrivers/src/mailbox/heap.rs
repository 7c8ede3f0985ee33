//! Buffers of mailboxes on the heap, whose memory is provided when the first message comes. `mailboxes` and `message` use
//! them.

use alloc::vec::Vec;
use pombo_kernel::mailbox::Buffers;
use pombo_kernel::{Memory, Sink, Source};

/// Memory of mailboxes: vectors that belong to the kernel while they are lent.
pub struct Heap;

/// A message to send.
#[derive(Default)]
pub struct Packed {
    pub(super) bytes: Vec<u8>,
    /// A large message stays where it is until its receiver has read it: no call takes it back before.
    pub(super) is_large: bool,
}

/// A buffer of a mailbox.
pub struct Buffer {
    /// All of the memory, once the first message has come.
    bytes: Vec<u8>,
    room: usize,
    /// Length of the message so far.
    filled: usize,
}

impl Memory for Heap {
    type Out = Packed;
    type In = Buffer;
}

impl Buffers for Heap {
    fn provide(spare: Option<Buffer>, room: usize, is_large: bool) -> Option<Buffer> {
        let mut bytes = spare.map_or(Vec::new(), |spare| spare.bytes);
        // A large message may be longer than memory is; the rest is small, and provided when it is filled.
        if is_large && bytes.len() < room {
            bytes.try_reserve_exact(room - bytes.len()).ok()?;
        }
        Some(Buffer {
            bytes,
            room,
            filled: 0,
        })
    }

    fn bytes(buffer: &Buffer) -> &[u8] {
        &buffer.bytes[..buffer.filled]
    }
}

impl Source for Packed {
    #[inline]
    fn len(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        Some(&self.bytes)
    }

    fn fixed(&self, offset: usize, len: usize) -> Option<*const u8> {
        let bytes = self.bytes.get(offset..)?.get(..len)?;
        self.is_large.then_some(bytes.as_ptr())
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.bytes[offset..offset + into.len()]);
    }
}

impl Buffer {
    #[inline]
    fn part(&mut self, offset: usize, len: usize) -> &mut [u8] {
        if self.bytes.len() < self.room {
            self.bytes.resize(self.room, 0);
        }
        self.filled = self.filled.max(offset + len);
        &mut self.bytes[offset..offset + len]
    }
}

impl Sink for Buffer {
    fn len(&self) -> usize {
        self.room
    }

    #[inline]
    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        self.part(offset, from.len()).copy_from_slice(from);
    }
}
