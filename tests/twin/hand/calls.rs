//! The calls of the twin's user, outside of scopes and inside.

use super::loans::{BufferAccess, BufferLending};
use super::state::{ANY, Envelope, Owner, State, Step, parts};
use crate::protocol::{Tagged, Wanted};
use pombo_kernel::{Channel, Error, Event, Lent, Loan, Pattern, Peer, Refused, Ticket};

/// The state that a call works with.
pub(crate) struct Engine<'e, L, B> {
    pub(crate) state: &'e mut State,
    pub(crate) channel: &'e mut L,
    pub(crate) buffers: &'e mut B,
}

/// A complete operation.
pub(crate) struct Completed<'buf> {
    pub(crate) loan: Loan<Lent<'buf>>,
    pub(crate) envelope: Option<Envelope>,
    pub(crate) outcome: Result<usize, Error>,
}

impl<'buf, L: Channel, B: BufferAccess + BufferLending<'buf>> Engine<'_, L, B> {
    #[inline]
    pub(crate) fn isend(
        self,
        to: Peer,
        header: Tagged,
        out: &'buf [u8],
    ) -> Result<Ticket, Refused<&'buf [u8]>> {
        let limit = self.channel.limit(to);
        let opened = self.state.open_send(to, header, out.len(), limit);
        let ticket = match opened {
            Ok(ticket) => ticket,
            Err(error) => return Err(Refused { loan: out, error }),
        };
        if self.buffers.lend(ticket, Loan::Sent(out)).is_some() {
            self.state.operations.remove(parts(ticket).0);
            let error = Error::Full;
            return Err(Refused { loan: out, error });
        }
        self.state.launch(to, ticket);
        // A broken channel is reported by the next call that makes progress; the ticket is valid.
        let _ = self.state.flush(self.channel, self.buffers);
        Ok(ticket)
    }

    #[inline]
    pub(crate) fn irecv(
        self,
        pattern: Wanted,
        into: &'buf mut [u8],
    ) -> Result<Ticket, Refused<&'buf mut [u8]>> {
        let source = pattern.source();
        if let Some(peer) = source
            && peer.index() >= self.state.peer_states.len()
        {
            let error = Error::NoSuchPeer(peer);
            return Err(Refused { loan: into, error });
        }
        let error = Error::Full;
        let step = Step::Posted { place: u32::MAX };
        let Ok(ticket) = self.state.open(source.unwrap_or(ANY), step, None) else {
            return Err(Refused { loan: into, error });
        };
        if let Some(Loan::Received(loan)) = self.buffers.lend(ticket, Loan::Received(into)) {
            self.state.operations.remove(parts(ticket).0);
            return Err(Refused { loan, error });
        }
        self.state.enlist(pattern, source, ticket, self.buffers);
        let _ = self.state.flush(self.channel, self.buffers);
        Ok(ticket)
    }

    #[inline]
    pub(crate) fn check_messages(&mut self) -> Result<bool, Error> {
        let (state, buffers) = (&mut *self.state, &mut *self.buffers);
        let arrived = self.channel.poll(|event| match event {
            Event::Arrival(arrival) => state.arrival(&arrival, buffers),
            Event::Completed(cookie) => state.landed(cookie),
            Event::PeerLost(peer) => state.lose(peer),
            _ => {}
        })?;
        Ok(self.state.flush(self.channel, self.buffers)? || arrived)
    }

    /// Makes progress, or waits if there is none.
    #[inline]
    fn progress_or_wait(&mut self, idle: &mut u32) -> Result<(), Error> {
        if self.check_messages()? {
            *idle = 0;
        } else {
            self.channel.wait(*idle)?;
            *idle = idle.saturating_add(1);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn claim(&mut self, ticket: Ticket) -> Result<Option<Completed<'buf>>, Error> {
        let operation = self.state.operation(ticket).ok_or(Error::UnknownTicket)?;
        let Step::Done(outcome) = operation.step else {
            let held = self.buffers.holds(ticket).then_some(None);
            return held.ok_or(Error::UnknownTicket);
        };
        let envelope = operation.envelope;
        let loan = self.buffers.give_back(ticket).ok_or(Error::UnknownTicket)?;
        self.state.operations.remove(parts(ticket).0);
        Ok(Some(Completed {
            loan,
            envelope,
            outcome,
        }))
    }

    #[inline]
    pub(crate) fn wait(&mut self, ticket: Ticket) -> Result<Completed<'buf>, Error> {
        let mut idle = 0;
        loop {
            if let Some(completed) = self.claim(ticket)? {
                return Ok(completed);
            }
            self.progress_or_wait(&mut idle)?;
        }
    }

    #[inline]
    pub(crate) fn cancel(self, ticket: Ticket) -> Result<(), Error> {
        if !self.buffers.holds(ticket) {
            return Err(Error::UnknownTicket);
        }
        self.state.cancel(ticket)?;
        self.state.flush(self.channel, self.buffers).map(drop)
    }

    #[inline]
    pub(crate) fn probe(self, pattern: Wanted) -> Result<Option<Envelope>, Error> {
        let known = self.state.probe(&pattern)?;
        self.state.flush(self.channel, self.buffers)?;
        Ok(known)
    }

    #[inline]
    pub(crate) fn matched_probe(
        self,
        pattern: Wanted,
    ) -> Result<Option<(Ticket, Envelope)>, Error> {
        let matched = self.state.matched_probe(&pattern)?;
        // The message is accepted; a broken channel is reported by the next call that makes progress.
        let flushed = self.state.flush(self.channel, self.buffers);
        if matched.is_none() {
            flushed?;
        }
        Ok(matched)
    }

    #[inline]
    pub(crate) fn irecv_matched(
        self,
        ticket: Ticket,
        into: &'buf mut [u8],
    ) -> Result<(), Refused<&'buf mut [u8]>> {
        let operation = self.state.operation(ticket);
        if operation.is_none_or(|operation| operation.owner != Owner::Probe) {
            let error = Error::UnknownTicket;
            return Err(Refused { loan: into, error });
        }
        if let Some(Loan::Received(loan)) = self.buffers.lend(ticket, Loan::Received(into)) {
            let error = Error::Full;
            return Err(Refused { loan, error });
        }
        self.state.irecv_matched(ticket, self.buffers);
        let _ = self.state.flush(self.channel, self.buffers);
        Ok(())
    }

    #[inline]
    fn again(&mut self) -> Engine<'_, L, B> {
        Engine {
            state: self.state,
            channel: self.channel,
            buffers: self.buffers,
        }
    }

    #[inline]
    pub(crate) fn send(mut self, to: Peer, header: Tagged, bytes: &'buf [u8]) -> Result<(), Error> {
        let mut idle = 0;
        if self.state.try_inject(self.channel, to, header, bytes)? {
            return Ok(());
        }
        loop {
            match self.again().isend(to, header, bytes) {
                Ok(ticket) => return self.wait(ticket)?.outcome.map(drop),
                Err(Refused {
                    error: Error::NoCredit(_),
                    ..
                }) => self.progress_or_wait(&mut idle)?,
                Err(refused) => return Err(refused.error),
            }
        }
    }

    #[inline]
    pub(crate) fn recv(
        mut self,
        pattern: Wanted,
        bytes: &'buf mut [u8],
    ) -> Result<Envelope, Error> {
        let ticket = self.again().irecv(pattern, bytes)?;
        let completed = self.wait(ticket)?;
        completed.outcome?;
        completed.envelope.ok_or(Error::UnknownTicket)
    }
}
