//! How user memory is lent to the kernel, for sends as well as receives, and how it comes back.
//!
//! A [`Memory`] is a family of two types: what a send reads ([`Source`]) and what a receive fills ([`Sink`]).
//! [`Lent`] is the safe one over slices. A facade with foreign memory (C, a device) brings its own.
//! Loans live beside the queues in a [`BufferAccess`], named by [`Ticket`]s; the kernel never keeps an address.

mod machine_words;
mod typed;

pub use typed::{Items, Repeated, Segmented, Segments, Typed, Values, ValuesMut};

use crate::aspect::Level;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// What a send reads: `len` bytes, in any layout the memory likes.
pub trait Source {
    /// Bytes in all.
    fn len(&self) -> usize;

    /// No bytes at all?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of it, where it lies in one piece as it is to be sent: then it is not asked for copies.
    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        None
    }

    /// Where these bytes lie in one piece that stays until the send is over, whatever scope ends: then a peer may read
    /// them there. No slice promises that.
    fn fixed(&self, offset: usize, len: usize) -> Option<*const u8> {
        let _ = (offset, len);
        None
    }

    /// Copies `into.len()` bytes starting at `offset`. Callers stay inside `len`.
    fn copy_out(&self, offset: usize, into: &mut [u8]);

    /// As [`Source::copy_out`], every value with its bytes in reverse order. Bytes have no order.
    fn copy_out_swapped(&self, offset: usize, into: &mut [u8]) {
        self.copy_out(offset, into);
    }
}

/// What a receive fills: room for `len` bytes.
pub trait Sink {
    /// Room in bytes.
    fn len(&self) -> usize;

    /// No room at all?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of these bytes, where it is one piece of memory in which any bytes may stand.
    fn space(&mut self, offset: usize, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        let _ = (offset, len);
        None
    }

    /// Copies `from` to `offset`. Callers stay inside `len`.
    fn copy_in(&mut self, offset: usize, from: &[u8]);

    /// As [`Sink::copy_in`] of values whose bytes come in reverse order. Bytes have no order.
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
        into.copy_from_slice(&self[offset..offset + into.len()]);
    }
}

impl Sink for &mut [u8] {
    #[inline]
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }

    #[inline]
    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        self[offset..offset + from.len()].copy_from_slice(from);
    }
}

/// A family of memory: what sends read and what receives fill.
pub trait Memory {
    /// What it knows of its contents; a composition must carry at least that much of datatypes.
    const LEVEL: Level = Level::Bytes;
    /// Lent for a send.
    type Out: Source;
    /// Lent for a receive.
    type In: Sink;
}

/// Plain slices that outlive the communicator (or the scope) that holds them.
///
/// Bytes that are lent do not change before they come back. This is refused by the compiler,
/// ```compile_fail,E0506
/// # use pombo_kernel::prelude::*;
/// # header! { struct Topic { number: u8 } }
/// # fn main() -> Result<(), Error> {
/// # let channel = pombo_netdrivers::Loopback::world(1).remove(0);
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
/// # let channel = pombo_netdrivers::Loopback::world(1).remove(0);
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

/// One piece of a frame, to be gathered by the driver.
#[derive(Clone, Copy)]
pub enum Part<'a> {
    /// Bytes in place.
    Bytes(&'a [u8]),
    /// `len` bytes of a loan, starting at `offset`.
    Held {
        /// Reverse the bytes of every value on the way?
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
    /// Bytes of this piece.
    #[inline]
    pub fn len(&self) -> usize {
        match *self {
            Part::Bytes(bytes) => bytes.len(),
            Part::Held { len, .. } => len,
        }
    }

    /// Nothing in it?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where it lies and stays, see [`Source::fixed`].
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

    /// Copies `into.len()` bytes from `at` of this piece. Callers stay inside [`Part::len`].
    #[inline(always)]
    pub fn copy_to(&self, at: usize, into: &mut [u8]) {
        match *self {
            Part::Bytes(bytes) => into.copy_from_slice(&bytes[at..at + into.len()]),
            Part::Held {
                source,
                offset,
                swapped: false,
                ..
            } => source.copy_out(offset + at, into),
            Part::Held { source, offset, .. } => source.copy_out_swapped(offset + at, into),
        }
    }

    /// Bytes of all the pieces together.
    #[inline]
    pub fn total(parts: &[Part<'_>]) -> usize {
        parts.iter().map(Part::len).sum()
    }
}

/// Names a loan. Generations never repeat within a communicator before 2^32 operations on the same slot, so an old
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

    /// As one number, for facades whose handles are numbers: the generation above 32 bits of slot. Never below 2^32.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The ticket behind a number. Any number is safe: one that names nothing is refused when it is used.
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

/// Memory on its way back to its lender.
#[derive(Debug)]
pub enum Loan<M: Memory> {
    /// It was lent for a send.
    Sent(M::Out),
    /// It was lent for a receive.
    Received(M::In),
}

/// Where loans lie. Scopes chain: an inner table asks the outer one for tickets that it does not hold, so progress
/// inside a scope completes outer receives too. `None` says that the loan is dead.
pub trait BufferAccess {
    /// Bytes a receive can take.
    fn room(&self, ticket: Ticket) -> Option<usize>;
    /// Fills a receive from its beginning, as far as there is room; the bytes that it took. `swapped`: the bytes of
    /// every value come in reverse order.
    fn fill(&mut self, ticket: Ticket, from: &[u8], swapped: bool) -> usize {
        let stored = self.room(ticket).unwrap_or(0).min(from.len());
        self.copy_in(ticket, 0, &from[..stored], swapped);
        stored
    }
    /// Fills a receive. False when the loan is dead.
    fn copy_in(&mut self, ticket: Ticket, offset: usize, from: &[u8], swapped: bool) -> bool;
    /// The place of some bytes of a receive, see [`Sink::space`].
    fn space(&mut self, ticket: Ticket, at: usize, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        let _ = (ticket, at, len);
        None
    }
    /// Keeps a copy of a message, which [`BufferAccess::part`] then reads. False when there is no room.
    fn copy(&mut self, ticket: Ticket, source: &dyn Source) -> bool;
    /// Forgets a copy that has left. False if there is none.
    fn drop_copy(&mut self, ticket: Ticket) -> bool;
    /// A piece of a send.
    fn part(&self, ticket: Ticket, offset: usize, len: usize) -> Option<Part<'_>>;
}
