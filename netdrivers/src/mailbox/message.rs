//! Messages: what is packed to be posted, and the mailbox's buffer that a retrieved one refers to.

use super::heap::{Buffer, Heap, Packed};
use alloc::sync::Arc;
use core::fmt;
use pombo_kernel::Peer;
use pombo_kernel::mailbox::{self, Buffers, Error, Letter, Unpacker, Value};

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
    letter: Option<(Letter<Buffer>, Arc<dyn GiveBack>)>,
    /// The place of the next value to unpack.
    at: usize,
}

impl Message {
    /// Creates an empty message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value.
    #[inline]
    pub fn pack<T: Value>(&mut self, value: T) -> &mut Self {
        mailbox::pack(value, |bytes| self.packed.0.extend_from_slice(bytes));
        self
    }

    /// Adds the values of a slice.
    ///
    /// # Errors
    /// [`Error::TooLong`] if they are 2^32 or more.
    pub fn pack_slice<T: Value>(&mut self, values: &[T]) -> Result<&mut Self, Error> {
        let put = |bytes: &[u8]| self.packed.0.extend_from_slice(bytes);
        let fits = mailbox::pack_slice(values, put);
        self.fits(fits, values.len())
    }

    /// Adds bytes: a slice of `u8`, in one piece.
    ///
    /// # Errors
    /// As [`Self::pack_slice`].
    pub fn pack_bytes(&mut self, bytes: &[u8]) -> Result<&mut Self, Error> {
        let put = |piece: &[u8]| self.packed.0.extend_from_slice(piece);
        let fits = mailbox::pack_bytes(bytes, put);
        self.fits(fits, bytes.len())
    }

    /// Adds a text.
    ///
    /// # Errors
    /// As [`Self::pack_slice`].
    pub fn pack_text(&mut self, text: &str) -> Result<&mut Self, Error> {
        let put = |piece: &[u8]| self.packed.0.extend_from_slice(piece);
        let fits = mailbox::pack_text(text, put);
        self.fits(fits, text.len())
    }

    fn fits(&mut self, fits: bool, len: usize) -> Result<&mut Self, Error> {
        let limit = u32::MAX as usize;
        match fits {
            true => Ok(self),
            false => Err(Error::TooLong { len, limit }),
        }
    }

    /// Returns the number of bytes to post.
    pub fn packed_len(&self) -> usize {
        self.packed.0.len()
    }

    /// Returns the process that posted the retrieved message.
    pub fn from(&self) -> Option<Peer> {
        self.letter.as_ref().map(|(letter, _)| letter.from)
    }

    /// Returns the retrieved message's bytes, in the buffer of the mailbox; none if nothing was retrieved.
    pub fn bytes(&self) -> &[u8] {
        match &self.letter {
            Some((letter, _)) => Heap::bytes(&letter.buffer),
            None => &[],
        }
    }

    /// Returns the next value of the retrieved message.
    ///
    /// # Errors
    /// [`Error::WrongType`], [`Error::NoMoreValues`], [`Error::Malformed`]; the value stays the next one.
    #[inline]
    pub fn unpack<T: Value>(&mut self) -> Result<T, Error> {
        self.read(|values| values.value())
    }

    /// Copies the next values into a slice of exactly their number, which [`Self::count`] tells.
    ///
    /// # Errors
    /// As [`Self::unpack`], and [`Error::WrongCount`].
    pub fn unpack_slice<T: Value>(&mut self, into: &mut [T]) -> Result<(), Error> {
        self.read(|values| values.slice(into))
    }

    /// Returns the number of values of the slice that is next.
    ///
    /// # Errors
    /// As [`Self::unpack`].
    pub fn count<T: Value>(&self) -> Result<usize, Error> {
        Unpacker::new(self.bytes(), self.at).count::<T>()
    }

    /// Returns the next bytes, where they lie in the mailbox's buffer.
    ///
    /// # Errors
    /// As [`Self::unpack`].
    pub fn unpack_bytes(&mut self) -> Result<&[u8], Error> {
        let mut values = Unpacker::new(self.bytes(), self.at);
        let len = values.bytes()?.len();
        self.at = values.at();
        Ok(&self.bytes()[self.at - len..self.at])
    }

    /// Returns the next text, where it lies in the mailbox's buffer.
    ///
    /// # Errors
    /// As [`Self::unpack`].
    pub fn unpack_text(&mut self) -> Result<&str, Error> {
        let at = self.at;
        self.read(|values| values.text().map(drop))?;
        Unpacker::new(self.bytes(), at).text()
    }

    fn read<R>(
        &mut self,
        f: impl FnOnce(&mut Unpacker<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut values = Unpacker::new(self.bytes(), self.at);
        let value = f(&mut values)?;
        self.at = values.at();
        Ok(value)
    }

    /// Empties the message: the buffer returns to its mailbox, and nothing is to post.
    pub fn clear(&mut self) {
        self.packed.0.clear();
        self.give_back();
    }

    /// Returns the buffer to its mailbox.
    pub(super) fn give_back(&mut self) {
        self.at = 0;
        if let Some((letter, owner)) = self.letter.take() {
            owner.give_back(letter);
        }
    }

    /// Returns the letter if it belongs to that owner; that of another one returns to its mailbox.
    #[inline]
    pub(super) fn take_letter<O: GiveBack>(
        &mut self,
        owner: &Arc<O>,
    ) -> Option<(Letter<Buffer>, Arc<dyn GiveBack>)> {
        let is_its =
            |its: &Arc<dyn GiveBack>| core::ptr::addr_eq(Arc::as_ptr(its), Arc::as_ptr(owner));
        if self.letter.as_ref().is_some_and(|(_, its)| !is_its(its)) {
            self.give_back();
        }
        self.at = 0;
        self.letter.take()
    }

    /// Takes the letter.
    #[inline]
    pub(super) fn set_letter(&mut self, letter: Letter<Buffer>, owner: Arc<dyn GiveBack>) {
        self.give_back();
        self.letter = Some((letter, owner));
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Message");
        fields.field("packed", &self.packed.0.len());
        fields.field(
            "retrieved",
            &self.letter.as_ref().map(|(letter, _)| letter.from),
        );
        fields.finish()
    }
}
