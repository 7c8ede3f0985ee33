//! Storage of loans: the twin's own by the slot of their operation, a scope's in front of the outer ones.

use super::state::parts;
use crate::protocol::OPERATIONS;
use heapless::Vec;
use pombo_kernel::{Lent, Loan, SCOPE_LOANS, Ticket};

type Slice<'buf> = Loan<Lent<'buf>>;

/// Access to loans during progress.
pub(crate) trait BufferAccess {
    /// Returns the bytes that a send reads.
    fn bytes(&self, ticket: Ticket) -> Option<&[u8]>;
    /// Returns the memory that a receive fills.
    fn room(&mut self, ticket: Ticket) -> Option<&mut [u8]>;
}

/// Lending and returning.
pub(crate) trait BufferLending<'buf> {
    /// Stores a loan; returns it if there is no slot for it.
    fn lend(&mut self, ticket: Ticket, loan: Slice<'buf>) -> Option<Slice<'buf>>;
    fn holds(&self, ticket: Ticket) -> bool;
    fn give_back(&mut self, ticket: Ticket) -> Option<Slice<'buf>>;
}

/// For each slot, a generation and its loan.
pub(crate) struct BufferTable<'buf>(Vec<Option<(u32, Slice<'buf>)>, OPERATIONS>);

impl<'buf> BufferTable<'buf> {
    pub(crate) fn new() -> Self {
        BufferTable(Vec::new())
    }

    #[inline]
    fn get(&self, ticket: Ticket) -> Option<&Slice<'buf>> {
        let (slot, generation) = parts(ticket);
        match self.0.get(slot as usize)? {
            Some((own, loan)) if *own == generation => Some(loan),
            _ => None,
        }
    }
}

impl BufferAccess for BufferTable<'_> {
    #[inline]
    fn bytes(&self, ticket: Ticket) -> Option<&[u8]> {
        sent(self.get(ticket)?)
    }

    #[inline]
    fn room(&mut self, ticket: Ticket) -> Option<&mut [u8]> {
        let (slot, generation) = parts(ticket);
        match self.0.get_mut(slot as usize)? {
            Some((own, loan)) if *own == generation => received(loan),
            _ => None,
        }
    }
}

impl<'buf> BufferLending<'buf> for BufferTable<'buf> {
    #[inline]
    fn lend(&mut self, ticket: Ticket, loan: Slice<'buf>) -> Option<Slice<'buf>> {
        let (slot, generation) = parts(ticket);
        while self.0.len() <= slot as usize && self.0.push(None).is_ok() {}
        match self.0.get_mut(slot as usize) {
            Some(place) => *place = Some((generation, loan)),
            None => return Some(loan),
        }
        None
    }

    #[inline]
    fn holds(&self, ticket: Ticket) -> bool {
        self.get(ticket).is_some()
    }

    #[inline]
    fn give_back(&mut self, ticket: Ticket) -> Option<Slice<'buf>> {
        self.get(ticket)?;
        let (slot, _) = parts(ticket);
        let (_, loan) = self.0.get_mut(slot as usize)?.take()?;
        Some(loan)
    }
}

/// A scope's loans in front of the outer ones.
pub(crate) struct Chain<'a, 'buf> {
    pub(crate) own: Vec<(Ticket, Slice<'buf>), SCOPE_LOANS>,
    outer: &'a mut (dyn BufferAccess + 'a),
}

impl<'a> Chain<'a, '_> {
    #[inline]
    pub(crate) fn before(outer: &'a mut (dyn BufferAccess + 'a)) -> Self {
        Chain {
            own: Vec::new(),
            outer,
        }
    }
}

impl BufferAccess for Chain<'_, '_> {
    #[inline]
    fn bytes(&self, ticket: Ticket) -> Option<&[u8]> {
        match self.own.iter().find(|(own, _)| *own == ticket) {
            Some((_, loan)) => sent(loan),
            None => self.outer.bytes(ticket),
        }
    }

    #[inline]
    fn room(&mut self, ticket: Ticket) -> Option<&mut [u8]> {
        match self.own.iter_mut().find(|(own, _)| *own == ticket) {
            Some((_, loan)) => received(loan),
            None => self.outer.room(ticket),
        }
    }
}

impl<'buf> BufferLending<'buf> for Chain<'_, 'buf> {
    #[inline]
    fn lend(&mut self, ticket: Ticket, loan: Slice<'buf>) -> Option<Slice<'buf>> {
        let pushed = self.own.push((ticket, loan));
        pushed.err().map(|(_, loan)| loan)
    }

    #[inline]
    fn holds(&self, ticket: Ticket) -> bool {
        self.own.iter().any(|(own, _)| *own == ticket)
    }

    #[inline]
    fn give_back(&mut self, ticket: Ticket) -> Option<Slice<'buf>> {
        let at = self.own.iter().position(|(own, _)| *own == ticket)?;
        Some(self.own.swap_remove(at).1)
    }
}

#[inline]
fn sent<'a>(loan: &'a Slice<'_>) -> Option<&'a [u8]> {
    match loan {
        Loan::Sent(bytes) => Some(bytes),
        Loan::Received(_) => None,
    }
}

#[inline]
fn received<'a>(loan: &'a mut Slice<'_>) -> Option<&'a mut [u8]> {
    match loan {
        Loan::Received(room) => Some(room),
        Loan::Sent(_) => None,
    }
}
