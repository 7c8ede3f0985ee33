//! The progress engine: a call polls the channel, flushes what is due, and loops over both. Only
//! [`PointToPoint`](super::point_to_point::PointToPoint) and the types that lend it their parts use this module.

use super::completed_operation::Completed;
use super::direct_receive::{DirectReceive, Received};
use super::lent_buffers::{BufferLending, In, Out};
use super::operation::{OpState, Owner};
use super::port_mux::PortMux;
use super::post::Mode;
use super::state::State;
use crate::aspect::{Buffering, Capacity, Transfer};
use crate::channel::{Arrival, Channel, Event, FrameHandler};
use crate::config::{Config, Sizes};
use crate::envelope::Envelope;
use crate::error::{Error, Refused};
use crate::header::{Header, Peer};
use crate::memory::{BufferAccess, Sink, Source, Ticket};

/// The parts of a communicator that a call needs.
#[doc(hidden)]
pub struct Engine<'e, H: Header, L: Channel, C: Config, B, W> {
    pub(crate) state: &'e mut State<H, C>,
    pub(crate) channel: &'e mut L,
    pub(crate) buffers: &'e mut B,
    pub(crate) mux: W,
}

/// The port whose call makes progress.
struct ActivePort<'a, H: Header, C: Config, B> {
    state: &'a mut State<H, C>,
    buffers: &'a mut B,
}

impl<H: Header, C: Config, B: BufferAccess> FrameHandler for ActivePort<'_, H, C, B> {
    #[inline(always)]
    fn handle<A: Arrival>(&mut self, event: Event<A>) {
        self.state.handle(event, self.buffers);
    }

    #[inline(always)]
    fn take(&mut self, from: Peer, frame: &[u8]) -> bool {
        self.state.take_eager(from, frame, self.buffers)
    }
}

impl<H: Header, L: Channel, C: Config, B: BufferLending, W: PortMux<L>> Engine<'_, H, L, C, B, W> {
    #[inline]
    pub(super) fn progress(&mut self) -> Result<bool, Error> {
        let (state, buffers) = (&mut *self.state, &mut *self.buffers);
        let arrived = self
            .mux
            .poll(self.channel, &mut ActivePort { state, buffers })?;
        let left = self.flush()?;
        Ok(self.mux.flush_others(self.channel)? || arrived || left)
    }

    #[inline]
    pub(super) fn flush(&mut self) -> Result<bool, Error> {
        let mut tx = self.mux.tx(self.channel);
        self.state.flush(&mut tx, self.buffers)
    }

    /// Sends what is due now or with the next call that makes progress: that call reports a broken channel, because the
    /// operation posted here is valid. Inlined down to [`State::flush`]: otherwise the caller keeps the engine in
    /// memory.
    #[inline(always)]
    pub(super) fn flush_lazily(&mut self) {
        let mut tx = self.mux.tx(self.channel);
        let _ = self.state.flush(&mut tx, self.buffers);
    }

    #[inline(always)]
    pub(super) fn isend(
        &mut self,
        mode: Mode,
        to: Peer,
        header: H,
        out: Out<B>,
    ) -> Result<Ticket, Refused<Out<B>>> {
        let ticket = match self.open_send(to, header, mode, out.len()) {
            Ok(ticket) => ticket,
            Err(error) => return Err(Refused { loan: out, error }),
        };
        if let Err(loan) = self.buffers.lend_send(ticket, out) {
            self.state.operations.remove(ticket.slot());
            let error = Error::Full;
            return Err(Refused { loan, error });
        }
        self.enqueue_send(to, ticket);
        Ok(ticket)
    }

    #[inline(always)]
    pub(super) fn try_inject(
        &mut self,
        to: Peer,
        header: H,
        message: &impl Source,
    ) -> Result<bool, Error> {
        let mut tx = self.mux.tx(self.channel);
        self.state.try_inject(&mut tx, to, header, message)
    }

    pub(super) fn send_buffered(
        &mut self,
        to: Peer,
        header: H,
        message: &impl Source,
    ) -> Result<(), Error> {
        if !<C::Buffering as Buffering>::ON {
            return Err(Error::FeatureDisabled("buffering"));
        }
        let limit = <C::Sizes as Sizes>::Cell::N;
        if message.len() > limit {
            return Err(Error::TooLong { limit });
        }
        let ticket = self.open_send(to, header, Mode::Standard, message.len())?;
        if !self.buffers.copy(ticket, message) {
            self.state.operations.remove(ticket.slot());
            return Err(Error::Full);
        }
        self.state.give_copy(ticket, Owner::Kernel);
        self.enqueue_send(to, ticket);
        Ok(())
    }

    /// Opens a send that the channel can carry; [`Engine::enqueue_send`] must follow.
    #[inline(always)]
    fn open_send(&mut self, to: Peer, header: H, mode: Mode, len: usize) -> Result<Ticket, Error> {
        let tx = self.mux.tx(self.channel);
        self.state.open_send(&tx, to, header, mode, len)
    }

    /// Enqueues an opened send, whose loan is already in the buffer table.
    #[inline(always)]
    fn enqueue_send(&mut self, to: Peer, ticket: Ticket) {
        self.state.enqueue_send(to, ticket);
        self.flush_lazily();
    }

    /// Lends a buffer to a new receive and matches or posts it.
    #[inline(always)]
    pub(super) fn post(
        &mut self,
        pattern: H::Pattern,
        into: In<B>,
    ) -> Result<Ticket, Refused<In<B>>> {
        let ticket = match self.state.open_receive(pattern, into.len()) {
            Ok(ticket) => ticket,
            Err(error) => return Err(Refused { loan: into, error }),
        };
        if let Err(loan) = self.buffers.lend_recv(ticket, into) {
            self.state.operations.remove(ticket.slot());
            let error = Error::Full;
            return Err(Refused { loan, error });
        }
        self.state.match_or_post(pattern, ticket, self.buffers);
        Ok(ticket)
    }

    /// Receives a message that arrives while the queues are empty, straight into the buffer. `received`,
    /// which is `None` before, stays so when anything else has arrived, after `polls` polls, or if the queues are in use:
    /// then the receive is to be posted.
    #[inline(always)]
    pub(super) fn recv_direct(
        &mut self,
        pattern: &H::Pattern,
        into: &mut impl Sink,
        polls: u32,
        received: &mut Option<Received<H, C>>,
    ) -> Result<(), Error> {
        match self.state.allows_direct_receive(pattern) {
            true => self.poll_direct(pattern, into, polls, received),
            false => Ok(()),
        }
    }

    /// Receives as [`Engine::recv_direct`] the message that a posted receive waits for, which stays posted.
    #[inline(always)]
    pub(super) fn recv_instead(
        &mut self,
        posted: Ticket,
        into: &mut impl Sink,
        polls: u32,
        received: &mut Option<Received<H, C>>,
    ) -> Result<(), Error> {
        match self.state.posted_pattern(posted) {
            Some(pattern) if self.state.knows_all_receives() => {
                self.poll_direct(&pattern, into, polls, received)
            }
            _ => Ok(()),
        }
    }

    /// Polls up to `polls` times for the message. Its envelope is written in place: returned by value it would be copied in
    /// other pieces than it was written in, and a processor does not forward such loads from its stores.
    #[inline(always)]
    fn poll_direct(
        &mut self,
        pattern: &H::Pattern,
        into: &mut impl Sink,
        polls: u32,
        received: &mut Option<Received<H, C>>,
    ) -> Result<(), Error> {
        for idle in 0..polls {
            let (state, buffers) = (&mut *self.state, &mut *self.buffers);
            let mut receive = DirectReceive::new(state, buffers, pattern, into, received);
            let polled = self.mux.poll(self.channel, &mut receive);
            let is_open = receive.is_open;
            if received.is_some() {
                // The message is in the buffer: the next call that makes progress reports a broken channel.
                self.flush_lazily();
                let _ = self.mux.flush_others(self.channel);
                return Ok(());
            }
            polled?;
            let left = self.flush()? || self.mux.flush_others(self.channel)?;
            if !is_open {
                break;
            }
            if !left {
                self.channel.wait(idle)?;
            }
        }
        Ok(())
    }

    /// Waits if the last round made no progress, until the deadline at the latest.
    #[inline]
    pub(super) fn pause(
        &mut self,
        moved: bool,
        idle: &mut u32,
        deadline: Option<u64>,
    ) -> Result<(), Error> {
        if moved {
            *idle = 0;
            return Ok(());
        }
        match deadline {
            None => self.channel.wait(*idle)?,
            Some(deadline) => {
                let left = deadline.saturating_sub(self.channel.now());
                self.channel.wait_timeout(*idle, left)?;
            }
        }
        *idle = idle.saturating_add(1);
        Ok(())
    }

    /// Returns the time of the channel's clock in `nanoseconds` ns.
    pub(super) fn after(&self, nanoseconds: u64) -> u64 {
        self.channel.now().saturating_add(nanoseconds)
    }

    pub(super) fn is_over(&self, deadline: Option<u64>) -> bool {
        deadline.is_some_and(|deadline| self.channel.now() >= deadline)
    }

    /// Makes progress until `f` returns a result; returns `None` if the deadline passes first.
    #[inline]
    pub(super) fn until<R>(
        &mut self,
        deadline: Option<u64>,
        mut look: impl FnMut(&mut Self) -> Result<Option<R>, Error>,
    ) -> Result<Option<R>, Error> {
        let mut idle = 0;
        loop {
            let found = look(self)?;
            if found.is_some() || self.is_over(deadline) {
                return Ok(found);
            }
            let moved = self.progress()?;
            self.pause(moved, &mut idle, deadline)?;
        }
    }

    #[inline]
    pub(super) fn wait(
        &mut self,
        ticket: Ticket,
        deadline: Option<u64>,
    ) -> Result<Option<Completed<H, B::Memory, C>>, Error> {
        // The loop returns only a flag: the completion is moved once, not in every round.
        let over = self.until(deadline, |engine| {
            Ok(engine.has_ended(ticket)?.then_some(()))
        })?;
        over.map(|()| self.take(ticket)).transpose()
    }

    #[inline(always)]
    pub(super) fn claim(
        &mut self,
        ticket: Ticket,
    ) -> Result<Option<Completed<H, B::Memory, C>>, Error> {
        let over = self.has_ended(ticket)?;
        over.then(|| self.take(ticket)).transpose()
    }

    /// Returns whether the operation is complete for its user.
    #[inline(always)]
    fn has_ended(&mut self, ticket: Ticket) -> Result<bool, Error> {
        let operation = self.state.operation(ticket).ok_or(Error::UnknownTicket)?;
        let over = operation.has_ended();
        if !over && !self.buffers.holds(ticket) {
            return Err(Error::UnknownTicket);
        }
        Ok(over)
    }

    /// Returns the loan and the outcome of a complete operation to the user. A detached send goes on with the kernel's
    /// copy if it has not left.
    #[inline(always)]
    fn take(&mut self, ticket: Ticket) -> Result<Completed<H, B::Memory, C>, Error> {
        let loan = self.buffers.give_back(ticket).ok_or(Error::UnknownTicket)?;
        let operation = self.state.operation(ticket).ok_or(Error::UnknownTicket)?;
        let completed = Completed {
            loan,
            envelope: operation.envelope,
            outcome: match operation.state {
                OpState::Done(outcome) => outcome,
                _ => Ok(operation.envelope.as_ref().map_or(0, Envelope::len)),
            },
        };
        if operation.is_detached() {
            self.state.release(ticket);
        } else {
            self.state.operations.remove(ticket.slot());
        }
        Ok(completed)
    }

    pub(super) fn cancel(&mut self, ticket: Ticket) -> Result<(), Error> {
        if !self.buffers.holds(ticket) {
            return Err(Error::UnknownTicket);
        }
        self.state.cancel(ticket)?;
        self.flush()?;
        Ok(())
    }

    /// Returns whether a cancelled message to this peer itself needs progress here, which only rendezvous can cause.
    #[inline]
    pub(super) fn is_revoked_here(&mut self, ticket: Ticket) -> bool {
        <C::Transfer as Transfer>::RENDEZVOUS && self.state.is_revoked_here(ticket)
    }

    pub(super) fn probe(&mut self, pattern: H::Pattern) -> Result<Option<Envelope<H, C>>, Error> {
        let known = self.state.probe(pattern)?;
        self.flush()?;
        Ok(known)
    }

    pub(super) fn matched_probe(
        &mut self,
        pattern: H::Pattern,
    ) -> Result<Option<(Ticket, Envelope<H, C>)>, Error> {
        let matched = self.state.matched_probe(pattern)?;
        // The message is taken already; the next call that makes progress reports a broken channel.
        let flushed = self.flush();
        if matched.is_none() {
            flushed?;
        }
        Ok(matched)
    }

    pub(super) fn irecv_matched(
        &mut self,
        ticket: Ticket,
        into: In<B>,
    ) -> Result<(), Refused<In<B>>> {
        if !self.state.is_matched(ticket) {
            let error = Error::UnknownTicket;
            return Err(Refused { loan: into, error });
        }
        if let Err(loan) = self.buffers.lend_recv(ticket, into) {
            let error = Error::Full;
            return Err(Refused { loan, error });
        }
        self.state.irecv_matched(ticket, self.buffers);
        self.flush_lazily();
        Ok(())
    }
}
