//! Where a communicator keeps what was lent to it.

use crate::aspect::{Slice, Storage};
use crate::config::{Config, Sizes};
use crate::memory::{Bank, Loan, Memory, Part, Sink, Source, Ticket};

/// A bank that takes loans of one kind of memory.
pub trait Lender<M: Memory> {
    /// Keeps what a send reads; it comes back when there is no room.
    fn lend_out(&mut self, ticket: Ticket, out: M::Out) -> Result<(), M::Out>;
    /// Keeps what a receive fills; it comes back when there is no room.
    fn lend_in(&mut self, ticket: Ticket, into: M::In) -> Result<(), M::In>;
    /// Is this ticket's loan here?
    fn holds(&self, ticket: Ticket) -> bool;
    /// Gives a loan back.
    fn give_back(&mut self, ticket: Ticket) -> Option<Loan<M>>;
}

/// One place per operation, found by the ticket's slot.
pub struct Loans<M: Memory, C: Config> {
    places: <C::Storage as Storage>::Slice<Option<(u32, Loan<M>)>, <C::Sizes as Sizes>::Operations>,
}

impl<M: Memory, C: Config> Loans<M, C> {
    pub(crate) fn new() -> Self {
        Loans {
            places: Slice::new(),
        }
    }

    /// The place of a ticket's slot. `None` beyond the bound.
    #[inline]
    fn place(&mut self, ticket: Ticket) -> Option<&mut Option<(u32, Loan<M>)>> {
        while self.places.as_ref().len() <= ticket.slot as usize {
            self.places.push(None).ok()?;
        }
        self.places.as_mut().get_mut(ticket.slot as usize)
    }

    #[inline]
    fn loan(&self, ticket: Ticket) -> Option<&Loan<M>> {
        match self.places.as_ref().get(ticket.slot as usize)? {
            Some((generation, loan)) if *generation == ticket.generation => Some(loan),
            _ => None,
        }
    }
}

impl<M: Memory, C: Config> Lender<M> for Loans<M, C> {
    #[inline]
    fn lend_out(&mut self, ticket: Ticket, out: M::Out) -> Result<(), M::Out> {
        match self.place(ticket) {
            Some(place) => *place = Some((ticket.generation, Loan::Sent(out))),
            None => return Err(out),
        }
        Ok(())
    }

    #[inline]
    fn lend_in(&mut self, ticket: Ticket, into: M::In) -> Result<(), M::In> {
        match self.place(ticket) {
            Some(place) => *place = Some((ticket.generation, Loan::Received(into))),
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
        let place = self.places.as_mut().get_mut(ticket.slot as usize)?;
        if place.as_ref()?.0 != ticket.generation {
            return None;
        }
        place.take().map(|(_, loan)| loan)
    }
}

impl<M: Memory, C: Config> Bank for Loans<M, C> {
    #[inline]
    fn room(&self, ticket: Ticket) -> Option<usize> {
        room(self.loan(ticket)?)
    }

    #[inline]
    fn copy_in(&mut self, ticket: Ticket, offset: usize, from: &[u8]) -> bool {
        match self.places.as_mut().get_mut(ticket.slot as usize) {
            Some(Some((generation, loan))) if *generation == ticket.generation => {
                copy_in(loan, offset, from)
            }
            _ => false,
        }
    }

    #[inline]
    fn part(&self, ticket: Ticket, offset: usize, len: usize) -> Option<Part<'_>> {
        part(self.loan(ticket)?, offset, len)
    }
}

pub(super) fn room<M: Memory>(loan: &Loan<M>) -> Option<usize> {
    match loan {
        Loan::Received(sink) => Some(sink.len()),
        Loan::Sent(_) => None,
    }
}

#[inline]
pub(super) fn copy_in<M: Memory>(loan: &mut Loan<M>, offset: usize, from: &[u8]) -> bool {
    match loan {
        Loan::Received(sink) => {
            sink.copy_in(offset, from);
            true
        }
        Loan::Sent(_) => false,
    }
}

#[inline]
pub(super) fn part<M: Memory>(loan: &Loan<M>, offset: usize, len: usize) -> Option<Part<'_>> {
    match loan {
        Loan::Sent(source) if offset + len <= source.len() => Some(Part::Held {
            source,
            offset,
            len,
        }),
        _ => None,
    }
}
