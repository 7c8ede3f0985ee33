//! Loans that live shorter than the communicator.
//!
//! A [`Scope`] chains to the loans outside of it, so progress inside completes outer receives too. When it ends,
//! normally, by `?` or by a panic, every operation that is not over is taken back: receives are unposted, sends are
//! withdrawn, and a peer that had already matched one learns [`Error::Revoked`]. Nothing waits for the peer.

use super::engine::Engine;
use super::lane::{Alone, Lane};
use super::loans::{Lender, copy_in, fill, part, room};
use super::operate::Operate;
use super::state::State;
use crate::channel::Channel;
use crate::config::Config;
use crate::header::Header;
use crate::memory::{Bank, Lent, Loan, Part, Source, Ticket};

/// Operations with loans that one scope holds at a time, at most; then [`Error::Full`](crate::Error::Full).
pub const SCOPE_LOANS: usize = 16;

/// Operations with buffers of lifetime `'buf`.
pub struct Scope<'a, 'buf, H: Header, L: Channel, C: Config, W: Lane<L> = Alone> {
    state: &'a mut State<H, C>,
    channel: &'a mut L,
    bank: Chain<'a, 'buf>,
    lane: W,
}

impl<'a, H: Header, L: Channel, C: Config, W: Lane<L>> Scope<'a, '_, H, L, C, W> {
    pub(crate) fn new(
        state: &'a mut State<H, C>,
        channel: &'a mut L,
        outer: &'a mut (dyn Bank + 'a),
        lane: W,
    ) -> Self {
        Scope {
            state,
            channel,
            bank: Chain {
                own: heapless::Vec::new(),
                outer,
            },
            lane,
        }
    }
}

impl<H: Header, L: Channel, C: Config, W: Lane<L>> Drop for Scope<'_, '_, H, L, C, W> {
    fn drop(&mut self) {
        while let Some((ticket, _)) = self.bank.own.pop() {
            self.state.release(ticket);
        }
        self.engine().flush_or_later();
    }
}

impl<'buf, H: Header, L: Channel, C: Config, W: Lane<L>> Operate for Scope<'_, 'buf, H, L, C, W> {
    type Header = H;
    type Channel = L;
    type Memory = Lent<'buf>;
    type Config = C;

    type Lane<'x>
        = W::Again<'x>
    where
        Self: 'x;

    #[inline]
    fn engine(&mut self) -> Engine<'_, H, L, C, impl Lender<Lent<'buf>> + Bank, W::Again<'_>> {
        Engine {
            state: self.state,
            channel: self.channel,
            bank: &mut self.bank,
            lane: self.lane.again(),
        }
    }
}

/// A scope's loans in front of the outer ones.
struct Chain<'a, 'buf> {
    own: heapless::Vec<(Ticket, Loan<Lent<'buf>>), SCOPE_LOANS>,
    outer: &'a mut (dyn Bank + 'a),
}

impl<'buf> Chain<'_, 'buf> {
    fn loan(&self, ticket: Ticket) -> Option<&Loan<Lent<'buf>>> {
        let (_, loan) = self.own.iter().find(|(own, _)| *own == ticket)?;
        Some(loan)
    }
}

impl<'buf> Lender<Lent<'buf>> for Chain<'_, 'buf> {
    fn lend_out(&mut self, ticket: Ticket, out: &'buf [u8]) -> Result<(), &'buf [u8]> {
        let pushed = self.own.push((ticket, Loan::Sent(out)));
        pushed.map_err(|_| out)
    }

    fn lend_in(&mut self, ticket: Ticket, into: &'buf mut [u8]) -> Result<(), &'buf mut [u8]> {
        if self.own.is_full() {
            return Err(into);
        }
        // There is room, so nothing comes back.
        let _ = self.own.push((ticket, Loan::Received(into)));
        Ok(())
    }

    fn holds(&self, ticket: Ticket) -> bool {
        self.loan(ticket).is_some()
    }

    fn give_back(&mut self, ticket: Ticket) -> Option<Loan<Lent<'buf>>> {
        let at = self.own.iter().position(|(own, _)| *own == ticket)?;
        Some(self.own.swap_remove(at).1)
    }

    fn copy_lent(&mut self, ticket: Ticket) -> bool {
        match self.own.iter().find(|(own, _)| *own == ticket) {
            // The copy may outlive this scope.
            Some((_, Loan::Sent(source))) => self.outer.copy(ticket, source),
            _ => false,
        }
    }
}

impl Bank for Chain<'_, '_> {
    fn room(&self, ticket: Ticket) -> Option<usize> {
        match self.loan(ticket) {
            Some(loan) => room(loan),
            None => self.outer.room(ticket),
        }
    }

    // A scope lends bytes, and bytes have no order.
    fn fill(&mut self, ticket: Ticket, from: &[u8], swapped: bool) -> usize {
        match self.own.iter_mut().find(|(own, _)| *own == ticket) {
            Some((_, loan)) => fill(loan, from, false),
            None => self.outer.fill(ticket, from, swapped),
        }
    }

    fn copy_in(&mut self, ticket: Ticket, offset: usize, from: &[u8], swapped: bool) -> bool {
        match self.own.iter_mut().find(|(own, _)| *own == ticket) {
            Some((_, loan)) => copy_in(loan, offset, from, false),
            None => self.outer.copy_in(ticket, offset, from, swapped),
        }
    }

    fn copy(&mut self, ticket: Ticket, source: &dyn Source) -> bool {
        // The copy may outlive this scope.
        self.outer.copy(ticket, source)
    }

    fn drop_copy(&mut self, ticket: Ticket) -> bool {
        self.outer.drop_copy(ticket)
    }

    fn part(&self, ticket: Ticket, offset: usize, len: usize) -> Option<Part<'_>> {
        match self.loan(ticket) {
            // Bytes have no order.
            Some(loan) => part(loan, offset, len, false),
            None => self.outer.part(ticket, offset, len),
        }
    }
}
