//! Where the buffers of mailboxes come from: the one thing that a package with an allocator, or a program with memory of
//! its own, brings along.

use crate::memory::Memory;

/// The use of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// The first message of any size class: memory as long as the message.
    AnyClass,
    /// Messages of one size class: memory of the whole room, once the first of them comes.
    Class,
    /// One large message: memory of the whole room now.
    Large,
}

/// Memory with the buffers of mailboxes.
pub trait Buffers: Memory + 'static {
    /// Provides an empty buffer for messages of up to `room` bytes, whose [`Sink::len`](crate::Sink::len) is `room`. The
    /// memory of `spare`, an earlier buffer, may be used again. Returns `None` if there is no memory.
    fn provide(spare: Option<Self::In>, room: usize, what: Use) -> Option<Self::In>;

    /// Returns the bytes of the message in the buffer.
    fn bytes(buffer: &Self::In) -> &[u8];
}
