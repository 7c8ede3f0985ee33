//! Lending of user memory to the kernel, for sends as well as receives, and its return.
//!
//! A [`Memory`] is a family of two types: what a send reads ([`Source`]) and what a receive fills ([`Sink`]). [`Lent`]
//! is the safe one over slices. A facade with foreign memory (C, a device) brings its own. Loans live beside the queues
//! in a [`BufferAccess`], named by [`Ticket`]s; the kernel never stores an address.

mod long_copy;
mod typed;
mod with_layout;
mod word_width;

pub use long_copy::{COPY_ALIGN, COPY_PIECE, copy_piece};
pub use typed::{Items, Repeated, Typed, Values, ValuesMut};
pub use with_layout::{LayoutSink, LayoutSource, WithLayout};

use crate::aspect::Level;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Memory that a send reads: `len` bytes in any layout.
pub trait Source {
    /// Returns the number of bytes.
    fn len(&self) -> usize;

    /// Returns whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all bytes if they are contiguous in the form in which they are sent; the kernel then needs no
    /// `copy_out`.
    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        None
    }

    /// Returns the address of these bytes if they are contiguous and stay until the send is complete, whatever scope
    /// ends: a peer may then read them in place. No slice promises that.
    fn fixed(&self, offset: usize, len: usize) -> Option<*const u8> {
        let _ = (offset, len);
        None
    }

    /// Copies `into.len()` bytes starting at `offset`. Callers stay within `len`.
    fn copy_out(&self, offset: usize, into: &mut [u8]);

    /// Copies as [`Source::copy_out`] does, with the bytes of every value reversed. Plain bytes have no order.
    fn copy_out_swapped(&self, offset: usize, into: &mut [u8]) {
        self.copy_out(offset, into);
    }
}

/// Memory that a receive fills: `len` bytes in any layout.
pub trait Sink {
    /// Returns the number of bytes.
    fn len(&self) -> usize;

    /// Returns whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory of these bytes if it is contiguous and may hold any bytes.
    fn space(&mut self, offset: usize, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        let _ = (offset, len);
        None
    }

    /// Copies `from` to `offset`. Callers stay within `len`.
    fn copy_in(&mut self, offset: usize, from: &[u8]);

    /// Copies as [`Sink::copy_in`] does, from values whose bytes are reversed. Plain bytes have no order.
    fn copy_in_swapped(&mut self, offset: usize, from: &[u8]) {
        self.copy_in(offset, from);
    }
}

impl Source for &[u8] {
    #[inline]
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }

    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        Some(self)
    }

    #[inline]
    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        long_copy::copy(&self[offset..offset + into.len()], into);
    }
}

impl Sink for &mut [u8] {
    #[inline]
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }

    #[inline]
    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        let room = self.get_mut(offset..);
        if let Some(room) = room.and_then(|room| room.get_mut(..from.len())) {
            long_copy::copy(from, room);
        }
    }
}

/// A family of memory: what sends read and what receives fill.
pub trait Memory {
    /// The level of datatypes that the memory needs; a composition must support at least this level.
    const LEVEL: Level = Level::Bytes;
    /// Memory lent for a send.
    type Out: Source;
    /// Memory lent for a receive.
    type In: Sink;
}

/// Plain slices that outlive the communicator (or the scope) that holds them.
///
/// Bytes that are lent do not change before they come back. This is refused by the compiler,
/// ```compile_fail,E0506
/// # use pombo_kernel::prelude::*;
/// # header! { struct Topic { number: u8 } }
/// # fn main() -> Result<(), Error> {
/// # let channel = pombo_kernel::channel::SelfChannel::<1024>::new();
/// # let mut bytes = *b"hello";
/// # let mut comm = Communicator::<Topic, _, Lent<'_>>::new(channel)?;
/// let ticket = comm.isend(Peer(0), Topic { number: 1 }, &bytes)?;
/// bytes[0] = b'j';
/// comm.wait(ticket)?.outcome?;
/// # Ok(()) }
/// ```
/// and this is not:
/// ```
/// # use pombo_kernel::prelude::*;
/// # header! { struct Topic { number: u8 } }
/// # fn main() -> Result<(), Error> {
/// # let channel = pombo_kernel::channel::SelfChannel::<1024>::new();
/// # let mut bytes = *b"hello";
/// # let mut comm = Communicator::<Topic, _, Lent<'_>>::new(channel)?;
/// let ticket = comm.isend(Peer(0), Topic { number: 1 }, &bytes)?;
/// comm.wait(ticket)?.outcome?;
/// drop(comm);
/// bytes[0] = b'j';
/// # Ok(()) }
/// ```
pub struct Lent<'buf>(PhantomData<&'buf mut [u8]>);

impl<'buf> Memory for Lent<'buf> {
    type Out = &'buf [u8];
    type In = &'buf mut [u8];
}

/// One part of a frame, which the driver gathers.
#[derive(Clone, Copy)]
pub enum Part<'a> {
    /// Bytes in place.
    Bytes(&'a [u8]),
    /// `len` bytes of a loan, starting at `offset`.
    Held {
        /// Whether the bytes of every value are reversed on the wire.
        swapped: bool,
        /// The lender's memory.
        source: &'a dyn Source,
        /// First byte.
        offset: usize,
        /// Number of bytes.
        len: usize,
    },
}

impl Part<'_> {
    /// Returns the number of bytes of this part.
    #[inline]
    pub fn len(&self) -> usize {
        match *self {
            Part::Bytes(bytes) => bytes.len(),
            Part::Held { len, .. } => len,
        }
    }

    /// Returns whether there are no bytes in this part.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the address of these bytes if they stay there; see [`Source::fixed`].
    pub fn fixed(&self) -> Option<*const u8> {
        match *self {
            Part::Held {
                source,
                offset,
                len,
                swapped: false,
            } => source.fixed(offset, len),
            _ => None,
        }
    }

    /// Copies `into.len()` bytes from `at` of this part. Callers stay within [`Part::len`].
    #[inline(always)]
    pub fn copy_to(&self, at: usize, into: &mut [u8]) {
        match *self {
            Part::Bytes(bytes) => long_copy::copy(&bytes[at..at + into.len()], into),
            Part::Held {
                source,
                offset,
                swapped: false,
                ..
            } => source.copy_out(offset + at, into),
            Part::Held { source, offset, .. } => source.copy_out_swapped(offset + at, into),
        }
    }

    /// Returns the number of bytes of all parts together.
    #[inline]
    pub fn total(parts: &[Part<'_>]) -> usize {
        parts.iter().map(Part::len).sum()
    }
}

/// Names a loan. Generations do not repeat within a communicator before 2^32 operations on the same slot, so an old
/// ticket is recognised.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

impl Ticket {
    #[inline]
    pub(crate) const fn new(slot: u32, generation: u32) -> Self {
        Ticket((generation as u64) << 32 | slot as u64)
    }

    #[inline]
    pub(crate) const fn slot(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(crate) const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns the ticket as one number, for facades whose handles are numbers: the generation above 32 bits of slot.
    /// The number is never below 2^32.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Returns the ticket of a number. Any number is safe: one that names nothing is refused when it is used.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Ticket(bits)
    }
}

impl core::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Ticket({} of slot {})", self.generation(), self.slot())
    }
}

/// Memory that returns to its lender.
#[derive(Debug)]
pub enum Loan<M: Memory> {
    /// Memory that was lent for a send.
    Sent(M::Out),
    /// Memory that was lent for a receive.
    Received(M::In),
}

/// Access to loans. Scopes chain: an inner table asks the outer one for tickets that it does not hold, so progress
/// within a scope completes outer receives too. `None` means that the loan has ended.
pub trait BufferAccess {
    /// Returns the number of bytes that a receive can take.
    fn room(&self, ticket: Ticket) -> Option<usize>;
    /// Fills a receive from its beginning, as far as there is space, and returns the number of bytes copied. `swapped`
    /// says that the bytes of every value are reversed.
    fn fill(&mut self, ticket: Ticket, from: &[u8], swapped: bool) -> usize {
        let stored = self.room(ticket).unwrap_or(0).min(from.len());
        self.copy_in(ticket, 0, &from[..stored], swapped);
        stored
    }
    /// Fills a receive from `offset` on. Returns false if the loan has ended.
    fn copy_in(&mut self, ticket: Ticket, offset: usize, from: &[u8], swapped: bool) -> bool;
    /// Returns the memory of some bytes of a receive; see [`Sink::space`].
    fn space(&mut self, ticket: Ticket, at: usize, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        let _ = (ticket, at, len);
        None
    }
    /// Stores a copy of a message, which [`BufferAccess::part`] then reads. Returns false if there is no space.
    fn copy(&mut self, ticket: Ticket, source: &dyn Source) -> bool;
    /// Drops the copy of a message that has left. Returns false if there is none.
    fn drop_copy(&mut self, ticket: Ticket) -> bool;
    /// Returns a part of a send.
    fn part(&self, ticket: Ticket, offset: usize, len: usize) -> Option<Part<'_>>;
}
