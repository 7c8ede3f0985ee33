//! Messages: what is packed to be posted, and the mailbox's buffer that a retrieved one refers to.

use super::heap::{Buffer, Heap, Packed};
use alloc::sync::Arc;
use alloc::vec::Vec;
use pombo_kernel::Peer;
use pombo_kernel::mailbox::{self, Buffers, Error, Letter, Pack, Unpack};

/// Where the buffers of retrieved messages return to.
pub(super) trait GiveBack: Send + Sync {
    fn give_back(&self, letter: Letter<Buffer>);
}

/// A message. It has values to post, which [`pack`](Message::pack) adds, and refers to the mailbox's buffer that the
/// driver has filled, from which [`unpack`](Message::unpack) reads. The buffer returns to its mailbox when the message is
/// cleared, dropped, or used for the next retrieve.
#[derive(Default)]
pub struct Message {
    pub(super) packed: Packed,
    letter: Option<Owned>,
    /// The place of the next value to unpack.
    at: usize,
}

impl Message {
    /// Creates an empty message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a message of what has come back.
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        let mut message = Self::new();
        message.packed.bytes = bytes;
        message
    }

    /// Adds a value: a number, a slice of numbers, or a text.
    #[inline]
    pub fn pack(&mut self, value: impl Pack) -> &mut Self {
        value.pack(|bytes| self.packed.bytes.extend_from_slice(bytes));
        self
    }

    /// Returns the number of bytes to post.
    pub fn packed_len(&self) -> usize {
        self.packed.bytes.len()
    }

    /// Returns the process that posted the retrieved message.
    pub fn from(&self) -> Option<Peer> {
        Some(self.letter.as_ref()?.0.from)
    }

    /// Returns the retrieved message's bytes, in the buffer of the mailbox; none if nothing was retrieved.
    pub fn bytes(&self) -> &[u8] {
        let letter = self.letter.as_ref();
        letter.map_or(&[], |(letter, _)| Heap::bytes(&letter.buffer))
    }

    /// Returns the next value of the retrieved message: a number, the [`Numbers`](mailbox::Numbers) of a slice, or, where
    /// they lie in the mailbox's buffer, bytes (`&[u8]`) or a text (`&str`).
    ///
    /// # Errors
    /// [`Error::WrongType`], [`Error::NoMoreValues`], [`Error::Malformed`]; the value stays the next one.
    #[inline]
    pub fn unpack<'a, V: Unpack<'a>>(&'a mut self) -> Result<V, Error> {
        let letter = self.letter.as_ref();
        let bytes = letter.map_or(&[][..], |(letter, _)| Heap::bytes(&letter.buffer));
        mailbox::unpack(bytes, &mut self.at)
    }

    /// Empties the message: the buffer returns to its mailbox, and nothing is to post.
    pub fn clear(&mut self) {
        self.packed.bytes.clear();
        self.give_back();
    }

    /// Returns the buffer to its mailbox.
    pub(super) fn give_back(&mut self) {
        self.at = 0;
        if let Some((letter, owner)) = self.letter.take() {
            owner.give_back(letter);
        }
    }

    /// Takes the letter if it belongs to that owner; that of another one returns to its mailbox.
    #[inline]
    pub(super) fn take_letter<O>(&mut self, owner: &Arc<O>) -> Option<Owned> {
        self.at = 0;
        let letter = self
            .letter
            .take_if(|(_, its)| core::ptr::addr_eq(Arc::as_ptr(its), Arc::as_ptr(owner)));
        self.give_back();
        letter
    }

    /// Refers to a letter.
    #[inline]
    pub(super) fn set_letter(&mut self, letter: Letter<Buffer>, owner: Arc<dyn GiveBack>) {
        self.give_back();
        self.letter = Some((letter, owner));
    }
}

/// A letter, and where it returns to.
pub(super) type Owned = (Letter<Buffer>, Arc<dyn GiveBack>);

impl Drop for Message {
    fn drop(&mut self) {
        self.give_back();
    }
}
