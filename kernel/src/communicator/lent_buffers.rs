//! The table of the buffers that users have lent to a communicator.

use super::send_copies::SendCopies;
use crate::aspect::{Buffering, Maybe, Representation, Slice, Storage};
use crate::config::{Config, Sizes};
use crate::memory::{BufferAccess, Loan, Memory, Part, Sink, Source, Ticket};
use core::mem::MaybeUninit;

/// Keeps lent buffers of one kind of memory.
pub trait BufferLending: BufferAccess {
    /// The kind of memory.
    type Memory: Memory;
    /// Keeps the source of a send; returns it as the error if the table is full.
    fn lend_send(&mut self, ticket: Ticket, out: Out<Self>) -> Result<(), Out<Self>>;
    /// Keeps the buffer of a receive; returns it as the error if the table is full.
    fn lend_recv(&mut self, ticket: Ticket, into: In<Self>) -> Result<(), In<Self>>;
    /// Returns whether the table holds the loan of this ticket.
    fn holds(&self, ticket: Ticket) -> bool;
    /// Removes a loan and returns it.
    fn give_back(&mut self, ticket: Ticket) -> Option<Loan<Self::Memory>>;
    /// Copies the source of a send, which stays lent; returns false if there is no room for the copy.
    fn copy_loan(&mut self, ticket: Ticket) -> bool;
}

pub(super) type Out<B> = <<B as BufferLending>::Memory as Memory>::Out;
pub(super) type In<B> = <<B as BufferLending>::Memory as Memory>::In;

/// One entry per operation, indexed by the ticket's slot.
pub(super) struct BufferTable<M: Memory, C: Config> {
    places: <C::Storage as Storage>::Slice<Place<M>, <C::Sizes as Sizes>::Operations>,
    copies: <C::Buffering as Buffering>::Held<SendCopies<C>>,
}

/// A generation and its loan; `None` once the loan has been given back.
type Place<M> = Option<(u32, Loan<M>)>;

impl<M: Memory, C: Config> BufferTable<M, C> {
    /// Creates an empty table with room for `copies` bytes of copied messages.
    pub(crate) fn new(copies: Option<usize>) -> Self {
        BufferTable {
            places: Slice::new(),
            copies: Maybe::new(|| SendCopies::new(copies)),
        }
    }

    /// Returns the entry of a ticket's slot; `None` beyond the bound.
    #[inline]
    fn place(&mut self, ticket: Ticket) -> Option<&mut Place<M>> {
        if self.places.as_ref().len() <= ticket.slot() as usize {
            self.grow(ticket.slot() as usize)?;
        }
        self.places.as_mut().get_mut(ticket.slot() as usize)
    }

    #[inline]
    fn grow(&mut self, slot: usize) -> Option<()> {
        while self.places.as_ref().len() <= slot {
            self.places.push(None).ok()?;
        }
        Some(())
    }

    #[inline]
    fn loan(&self, ticket: Ticket) -> Option<&Loan<M>> {
        match self.places.as_ref().get(ticket.slot() as usize)? {
            Some((generation, loan)) if *generation == ticket.generation() => Some(loan),
            _ => None,
        }
    }

    #[inline(always)]
    fn loan_mut(&mut self, ticket: Ticket) -> Option<&mut Loan<M>> {
        match self.places.as_mut().get_mut(ticket.slot() as usize)? {
            Some((generation, loan)) if *generation == ticket.generation() => Some(loan),
            _ => None,
        }
    }
}

impl<M: Memory, C: Config> BufferLending for BufferTable<M, C> {
    type Memory = M;

    #[inline]
    fn lend_send(&mut self, ticket: Ticket, out: M::Out) -> Result<(), M::Out> {
        match self.place(ticket) {
            Some(place) => *place = Some((ticket.generation(), Loan::Sent(out))),
            None => return Err(out),
        }
        Ok(())
    }

    #[inline]
    fn lend_recv(&mut self, ticket: Ticket, into: M::In) -> Result<(), M::In> {
        match self.place(ticket) {
            Some(place) => *place = Some((ticket.generation(), Loan::Received(into))),
            None => return Err(into),
        }
        Ok(())
    }

    #[inline]
    fn holds(&self, ticket: Ticket) -> bool {
        self.loan(ticket).is_some()
    }

    #[inline]
    fn give_back(&mut self, ticket: Ticket) -> Option<Loan<M>> {
        self.loan(ticket)?;
        let place = self.places.as_mut().get_mut(ticket.slot() as usize)?;
        place.take().map(|(_, loan)| loan)
    }

    fn copy_loan(&mut self, ticket: Ticket) -> bool {
        let place = self.places.as_ref().get(ticket.slot() as usize);
        match (place, self.copies.get_mut()) {
            (Some(Some((generation, Loan::Sent(source)))), Some(copies))
                if *generation == ticket.generation() =>
            {
                copies.keep(ticket, source)
            }
            _ => false,
        }
    }
}

/// Returns whether values are transmitted in the external representation and this machine's byte order differs from it.
pub(super) const fn swaps<C: Config>() -> bool {
    <C::Representation as Representation>::CANONICAL
        && !<C::Representation as Representation>::BIG_ENDIAN
}

impl<M: Memory, C: Config> BufferAccess for BufferTable<M, C> {
    #[inline]
    fn room(&self, ticket: Ticket) -> Option<usize> {
        room(self.loan(ticket)?)
    }

    #[inline]
    fn fill(&mut self, ticket: Ticket, from: &[u8], swapped: bool) -> usize {
        let loan = self.loan_mut(ticket);
        loan.map_or(0, |loan| fill(loan, from, swapped))
    }

    #[inline(always)]
    fn copy_in(&mut self, ticket: Ticket, offset: usize, from: &[u8], swapped: bool) -> bool {
        match self.loan_mut(ticket) {
            Some(loan) => copy_in(loan, offset, from, swapped),
            None => false,
        }
    }

    fn space(&mut self, ticket: Ticket, at: usize, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        match self.loan_mut(ticket)? {
            Loan::Received(sink) => sink.space(at, len),
            Loan::Sent(_) => None,
        }
    }

    fn copy(&mut self, ticket: Ticket, source: &dyn Source) -> bool {
        let copies = self.copies.get_mut();
        copies.is_some_and(|copies| copies.keep(ticket, source))
    }

    fn drop_copy(&mut self, ticket: Ticket) -> bool {
        let copies = self.copies.get_mut();
        copies.is_some_and(|copies| copies.forget(ticket))
    }

    #[inline]
    fn part(&self, ticket: Ticket, offset: usize, len: usize) -> Option<Part<'_>> {
        // A detached send has already given its memory back: its bytes are in the copy.
        if let Some(copies) = self.copies.get()
            && let Some(copy) = copies.find(ticket)
        {
            return Some(Part::Bytes(copy.get(offset..offset + len)?));
        }
        part(self.loan(ticket)?, offset, len, swaps::<C>())
    }
}

pub(super) fn room<M: Memory>(loan: &Loan<M>) -> Option<usize> {
    match loan {
        Loan::Received(sink) => Some(sink.len()),
        Loan::Sent(_) => None,
    }
}

#[inline]
pub(super) fn fill<M: Memory>(loan: &mut Loan<M>, from: &[u8], swapped: bool) -> usize {
    let Loan::Received(sink) = loan else {
        return 0;
    };
    let stored = from.len().min(sink.len());
    copy_in(loan, 0, &from[..stored], swapped);
    stored
}

#[inline(always)]
pub(super) fn copy_in<M: Memory>(
    loan: &mut Loan<M>,
    offset: usize,
    from: &[u8],
    swapped: bool,
) -> bool {
    match loan {
        Loan::Received(sink) if swapped => sink.copy_in_swapped(offset, from),
        Loan::Received(sink) => sink.copy_in(offset, from),
        Loan::Sent(_) => return false,
    }
    true
}

#[inline]
pub(super) fn part<M: Memory>(
    loan: &Loan<M>,
    offset: usize,
    len: usize,
    swapped: bool,
) -> Option<Part<'_>> {
    match loan {
        Loan::Sent(source) => piece(source, offset, len, swapped),
        Loan::Received(_) => None,
    }
}

/// Returns a part of a send's source, borrowed if it is contiguous.
#[inline]
pub(super) fn piece(
    source: &impl Source,
    offset: usize,
    len: usize,
    swapped: bool,
) -> Option<Part<'_>> {
    if !swapped && let Some(bytes) = source.bytes() {
        return Some(Part::Bytes(bytes.get(offset..offset + len)?));
    }
    (offset + len <= source.len()).then_some(Part::Held {
        source,
        offset,
        len,
        swapped,
    })
}
