//! What a user can do with a communicator, and inside a scope of it.

use super::buffer_table::BufferLending;
use super::completed::{Completed, Peeked};
use super::engine::Engine;
use super::operation::{OpState, Owner};
use super::port_mux::PortMux;
use super::post::Mode;
use super::scope::Scope;
use crate::aspect::{Buffering, Capacity, Transfer};
use crate::channel::Channel;
use crate::composition::{Config, Sizes};
use crate::envelope::Envelope;
use crate::error::{Error, Refused};
use crate::header::{Header, Peer};
use crate::memory::{BufferAccess, Loan, Memory, Source, Ticket};

/// Sends, receives and their completion. Nothing here blocks but the calls whose names say so (`wait`, `send`,
/// `recv`, `wait_probe`); progress happens inside calls.
pub trait PointToPoint {
    /// The upper protocol's header.
    type Header: Header;
    /// The transport below.
    type Channel: Channel;
    /// What can be lent here.
    type Memory: Memory;
    /// The composition.
    type Config: Config;

    #[doc(hidden)]
    type PortMux<'x>: PortMux<Self::Channel>
    where
        Self: 'x;

    #[doc(hidden)]
    fn engine(
        &mut self,
    ) -> Engine<
        '_,
        Self::Header,
        Self::Channel,
        Self::Config,
        impl BufferLending<Self::Memory> + BufferAccess,
        Self::PortMux<'_>,
    >;

    /// Sends; by size at once or by rendezvous. Complete when the buffer may be reused.
    ///
    /// Bytes that are lent do not change before they come back. This is refused by the compiler,
    /// ```compile_fail,E0506
    /// # use pombo_kernel::{Communicator, Error, Header, Lent, Pattern, Peer, PointToPoint};
    /// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
    /// # #[derive(Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    /// # #[repr(C)]
    /// # struct Tag(u8);
    /// # impl Header for Tag { const NAME: &str = "Tag"; type Pattern = Tag; }
    /// # impl Pattern<Tag> for Tag {
    /// #     fn matches(&self, _: Peer, header: &Tag) -> bool { self == header }
    /// #     fn source(&self) -> Option<Peer> { None }
    /// # }
    /// # fn main() -> Result<(), Error> {
    /// # let channel = pombo_kernel::channel::SelfChannel::<1024>::new();
    /// # let mut bytes = *b"hello";
    /// # let mut comm = Communicator::<Tag, _, Lent<'_>>::new(channel)?;
    /// let ticket = comm.isend(Peer(0), Tag(1), &bytes)?;
    /// bytes[0] = b'j';
    /// comm.wait(ticket)?.outcome?;
    /// # Ok(()) }
    /// ```
    /// and this is not:
    /// ```
    /// # use pombo_kernel::{Communicator, Error, Header, Lent, Pattern, Peer, PointToPoint};
    /// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
    /// # #[derive(Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    /// # #[repr(C)]
    /// # struct Tag(u8);
    /// # impl Header for Tag { const NAME: &str = "Tag"; type Pattern = Tag; }
    /// # impl Pattern<Tag> for Tag {
    /// #     fn matches(&self, _: Peer, header: &Tag) -> bool { self == header }
    /// #     fn source(&self) -> Option<Peer> { None }
    /// # }
    /// # fn main() -> Result<(), Error> {
    /// # let channel = pombo_kernel::channel::SelfChannel::<1024>::new();
    /// # let mut bytes = *b"hello";
    /// # let mut comm = Communicator::<Tag, _, Lent<'_>>::new(channel)?;
    /// let ticket = comm.isend(Peer(0), Tag(1), &bytes)?;
    /// comm.wait(ticket)?.outcome?;
    /// drop(comm);
    /// bytes[0] = b'j';
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The buffer comes back with [`Error::Full`], [`Error::NoSuchPeer`], [`Error::PeerLost`], [`Error::TooLong`],
    /// or, in a composition without rendezvous, [`Error::NoCredit`].
    fn isend(
        &mut self,
        to: Peer,
        header: Self::Header,
        out: <Self::Memory as Memory>::Out,
    ) -> Result<Ticket, Refused<<Self::Memory as Memory>::Out>> {
        self.isend_as(Mode::Standard, to, header, out)
    }

    /// Sends in a mode of choice.
    ///
    /// # Errors
    /// As [`PointToPoint::isend`]; [`Error::FeatureDisabled`] for a synchronous send without rendezvous.
    fn isend_as(
        &mut self,
        mode: Mode,
        to: Peer,
        header: Self::Header,
        out: <Self::Memory as Memory>::Out,
    ) -> Result<Ticket, Refused<<Self::Memory as Memory>::Out>> {
        let mut engine = self.engine();
        let ticket = match engine.open_send(to, header, mode, out.len()) {
            Ok(ticket) => ticket,
            Err(error) => return Err(Refused { loan: out, error }),
        };
        if let Err(loan) = engine.buffers.lend_send(ticket, out) {
            engine.state.operations.remove(ticket.slot());
            let error = Error::Full;
            return Err(Refused { loan, error });
        }
        engine.enqueue_send(to, ticket);
        Ok(ticket)
    }

    /// Sends a short message if it can leave this moment: nothing is lent, there is nothing to claim. `false` says that
    /// it cannot, because it is long, or has to wait for others, for credit or for room: then [`PointToPoint::isend`].
    ///
    /// # Errors
    /// [`Error::NoSuchPeer`], [`Error::PeerLost`], [`Error::Channel`].
    #[inline(always)]
    fn try_inject(
        &mut self,
        to: Peer,
        header: Self::Header,
        message: &impl Source,
    ) -> Result<bool, Error> {
        let Engine {
            state,
            channel,
            mux,
            ..
        } = self.engine();
        state.try_inject(&mut mux.tx(channel), to, header, message)
    }

    /// Copies the message and sends the copy: nothing is lent, nothing is to be claimed (MPI's buffered mode).
    ///
    /// # Errors
    /// As [`PointToPoint::isend`]; [`Error::TooLong`] beyond a cell of the composition; [`Error::Full`] also when there is no
    /// memory for the copy; [`Error::FeatureDisabled`] without buffering.
    fn send_buffered(
        &mut self,
        to: Peer,
        header: Self::Header,
        message: &impl Source,
    ) -> Result<(), Error> {
        if !<<Self::Config as Config>::Buffering as Buffering>::ON {
            return Err(Error::FeatureDisabled("buffering"));
        }
        let limit = <<Self::Config as Config>::Sizes as Sizes>::Cell::N;
        if message.len() > limit {
            return Err(Error::TooLong { limit });
        }
        let mut engine = self.engine();
        let ticket = engine.open_send(to, header, Mode::Standard, message.len())?;
        if !engine.buffers.copy(ticket, message) {
            engine.state.operations.remove(ticket.slot());
            return Err(Error::Full);
        }
        engine.state.give_copy(ticket, Owner::Kernel);
        engine.enqueue_send(to, ticket);
        Ok(())
    }

    /// Are there copies of messages to that peer that have not gone? Then a copy of the next one
    /// ([`PointToPoint::send_buffered`]) costs its sender less than to wait once more.
    fn has_unsent_copies(&mut self, to: Peer) -> bool {
        <<Self::Config as Config>::Buffering as Buffering>::ON
            && self.engine().state.has_unsent_copies(to)
    }

    /// Copies a short send that waits for a receive, or for credit: it is over for its user, whose memory may be used
    /// again, and the kernel sends the copy. False, and nothing has changed, for all else: what has left, a
    /// [synchronous](Mode::Synchronous) send, one that is longer than a cell, and compositions without buffering.
    ///
    /// # Errors
    /// [`Error::Full`] where there is no room for the copy ([`Limits::copies`](crate::Limits::copies)).
    fn detach(&mut self, ticket: Ticket) -> Result<bool, Error> {
        if !<<Self::Config as Config>::Buffering as Buffering>::ON {
            return Ok(false);
        }
        let Engine { state, buffers, .. } = self.engine();
        if !buffers.holds(ticket) || !state.may_detach(ticket) {
            return Ok(false);
        }
        if !buffers.copy_loan(ticket) {
            return Err(Error::Full);
        }
        state.give_copy(ticket, Owner::Detached);
        Ok(true)
    }

    /// Gives a loan back at once, whatever has become of its operation, which nobody claims any more: a receive is
    /// taken back, or what still comes for it is dropped; a send is withdrawn if no receive has matched it, else its
    /// receive ends with [`Error::Revoked`]. `None` if this level holds no such operation.
    ///
    /// Memory that is [fixed](crate::Part::fixed) may still be read by a peer that was offered it: its lender sees to that.
    fn release(&mut self, ticket: Ticket) -> Option<Loan<Self::Memory>> {
        let mut engine = self.engine();
        let loan = engine.buffers.give_back(ticket)?;
        engine.state.release(ticket);
        engine.flush_lazily();
        Some(loan)
    }

    /// Posts a receive for the first message that matches.
    ///
    /// # Errors
    /// The buffer comes back with [`Error::Full`] or [`Error::NoSuchPeer`], and, in a composition without queues, with
    /// [`Error::FeatureDisabled`] when no message is here.
    fn irecv(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
        into: <Self::Memory as Memory>::In,
    ) -> Result<Ticket, Refused<<Self::Memory as Memory>::In>> {
        let mut engine = self.engine();
        let ticket = engine.post(pattern, into)?;
        engine.flush_lazily();
        Ok(ticket)
    }

    /// The same as a part of its caller, for who posts many.
    ///
    /// # Errors
    /// As [`PointToPoint::irecv`].
    #[inline(always)]
    fn irecv_inline(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
        into: <Self::Memory as Memory>::In,
    ) -> Result<Ticket, Refused<<Self::Memory as Memory>::In>> {
        let mut engine = self.engine();
        let ticket = engine.post(pattern, into)?;
        if engine.state.tx_pending {
            engine.flush_lazily();
        }
        Ok(ticket)
    }

    /// Takes what has arrived and sends what is due (the paper's `check_messages`); true if anything moved.
    ///
    /// # Errors
    /// [`Error::Channel`] when the channel is broken.
    fn check_messages(&mut self) -> Result<bool, Error> {
        self.engine().progress()
    }

    /// Makes progress, or lets the channel wait when there is none: for loops of a user's own. `idle` counts the
    /// rounds without progress; begin with 0.
    ///
    /// # Errors
    /// [`Error::Channel`] when the channel is broken.
    fn progress_or_wait(&mut self, idle: &mut u32) -> Result<(), Error> {
        let moved = self.check_messages()?;
        self.engine().pause(moved, idle, None)
    }

    /// Takes back a finished operation's buffer and outcome; `None` while it is not over. Makes no progress itself.
    ///
    /// # Errors
    /// [`Error::UnknownTicket`] if this level holds no such operation.
    #[inline(always)]
    fn claim(
        &mut self,
        ticket: Ticket,
    ) -> Result<Option<Completed<Self::Header, Self::Memory, Self::Config>>, Error> {
        self.engine().claim(ticket)
    }

    /// Looks at a finished operation, which stays to be claimed; `None` while it is not over. Makes no progress itself.
    ///
    /// # Errors
    /// As [`PointToPoint::claim`].
    #[inline(always)]
    fn peek(
        &mut self,
        ticket: Ticket,
    ) -> Result<Option<Peeked<'_, Self::Header, Self::Config>>, Error> {
        let Engine { state, buffers, .. } = self.engine();
        let operation = state.operation(ticket).filter(|_| buffers.holds(ticket));
        let operation = operation.ok_or(Error::UnknownTicket)?;
        let received = buffers.room(ticket).is_some();
        let envelope = operation.envelope.as_ref();
        Ok(match &operation.state {
            OpState::Done(outcome) if !operation.is_in_flight() => Some(Peeked {
                received,
                envelope,
                outcome: outcome.as_ref().copied(),
            }),
            _ if operation.is_detached() => Some(Peeked {
                received,
                envelope,
                outcome: Ok(envelope.map_or(0, Envelope::len)),
            }),
            _ => None,
        })
    }

    /// Ends an operation that is over and went well, for who needs nothing of it but its message's header. `None` for
    /// all others, which stay to be claimed.
    #[inline(always)]
    fn claim_header(&mut self, ticket: Ticket) -> Option<Self::Header> {
        let Engine { state, buffers, .. } = self.engine();
        if !buffers.holds(ticket) {
            return None;
        }
        let operation = state.operations.remove_if(ticket.slot(), |operation| {
            operation.generation == ticket.generation()
                && matches!(operation.state, OpState::Done(Ok(_)))
                && operation.envelope.is_some()
                && !operation.is_in_flight()
                && !operation.is_detached()
        })?;
        buffers.give_back(ticket);
        operation.envelope.as_ref().map(Envelope::header)
    }

    /// Makes progress until the operation is over.
    ///
    /// # Errors
    /// [`Error::UnknownTicket`], [`Error::Channel`]. What happened to the operation is in its outcome.
    fn wait(
        &mut self,
        ticket: Ticket,
    ) -> Result<Completed<Self::Header, Self::Memory, Self::Config>, Error> {
        self.engine().wait(ticket, None)?.ok_or(Error::TimedOut)
    }

    /// As [`PointToPoint::wait`], for so many nanoseconds at most; `None` when they are over. The operation goes on.
    ///
    /// # Errors
    /// As [`PointToPoint::wait`].
    fn wait_timeout(
        &mut self,
        ticket: Ticket,
        nanoseconds: u64,
    ) -> Result<Option<Completed<Self::Header, Self::Memory, Self::Config>>, Error> {
        let mut engine = self.engine();
        let deadline = Some(engine.after(nanoseconds));
        engine.wait(ticket, deadline)
    }

    /// Asks an operation to end without a message. The outcome says which came first:
    /// [`Error::Cancelled`], or what the operation would have given anyway. Of a message to this peer itself that is
    /// decided when the call returns.
    ///
    /// # Errors
    /// [`Error::UnknownTicket`], [`Error::Channel`].
    fn cancel(&mut self, ticket: Ticket) -> Result<(), Error> {
        let mut engine = self.engine();
        if !engine.buffers.holds(ticket) {
            return Err(Error::UnknownTicket);
        }
        engine.state.cancel(ticket)?;
        engine.flush()?;
        // The frames between this peer and itself have nobody else to wait for. Without rendezvous there are none.
        while <<Self::Config as Config>::Transfer as Transfer>::RENDEZVOUS
            && engine.state.is_revoked_here(ticket)
            && engine.progress()?
        {}
        Ok(())
    }

    /// The envelope of the first message that a receive with this pattern would take, if one is known. The first
    /// call may have to ask senders that hold messages back: make progress and probe again.
    ///
    /// # Errors
    /// [`Error::NoSuchPeer`], [`Error::PeerLost`], [`Error::Channel`].
    fn probe(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
    ) -> Result<Option<Envelope<Self::Header, Self::Config>>, Error> {
        self.engine().probe(pattern)
    }

    /// Makes progress until a probe succeeds.
    ///
    /// # Errors
    /// As [`PointToPoint::probe`].
    fn wait_probe(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
    ) -> Result<Envelope<Self::Header, Self::Config>, Error> {
        let found = self.engine().until(None, |engine| engine.probe(pattern));
        found?.ok_or(Error::TimedOut)
    }

    /// As [`PointToPoint::wait_probe`], for so many nanoseconds at most; `None` when they are over.
    ///
    /// # Errors
    /// As [`PointToPoint::probe`].
    fn wait_probe_timeout(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
        nanoseconds: u64,
    ) -> Result<Option<Envelope<Self::Header, Self::Config>>, Error> {
        let mut engine = self.engine();
        let deadline = Some(engine.after(nanoseconds));
        engine.until(deadline, |engine| engine.probe(pattern))
    }

    /// As [`PointToPoint::probe`], and takes the message: no other receive or probe will see it. It is received with
    /// [`PointToPoint::irecv_matched`] and takes a place among the operations until then.
    ///
    /// # Errors
    /// As [`PointToPoint::probe`]; [`Error::Full`], and the message stays.
    #[expect(clippy::type_complexity, reason = "a ticket and an envelope")]
    fn matched_probe(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
    ) -> Result<Option<(Ticket, Envelope<Self::Header, Self::Config>)>, Error> {
        self.engine().matched_probe(pattern)
    }

    /// Makes progress until a matched probe succeeds.
    ///
    /// # Errors
    /// As [`PointToPoint::matched_probe`].
    fn wait_matched_probe(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
    ) -> Result<(Ticket, Envelope<Self::Header, Self::Config>), Error> {
        let found = self
            .engine()
            .until(None, |engine| engine.matched_probe(pattern));
        found?.ok_or(Error::TimedOut)
    }

    /// As [`PointToPoint::wait_matched_probe`], for so many nanoseconds at most; `None` when they are over.
    ///
    /// # Errors
    /// As [`PointToPoint::matched_probe`].
    #[expect(clippy::type_complexity, reason = "a ticket and an envelope")]
    fn wait_matched_probe_timeout(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
        nanoseconds: u64,
    ) -> Result<Option<(Ticket, Envelope<Self::Header, Self::Config>)>, Error> {
        let mut engine = self.engine();
        let deadline = Some(engine.after(nanoseconds));
        engine.until(deadline, |engine| engine.matched_probe(pattern))
    }

    /// Receives a message that a matched probe has taken. The ticket stays the same.
    ///
    /// # Errors
    /// The buffer comes back with [`Error::UnknownTicket`] if the ticket names no such message, and with
    /// [`Error::Full`] if there is no place for the loan.
    fn irecv_matched(
        &mut self,
        ticket: Ticket,
        into: <Self::Memory as Memory>::In,
    ) -> Result<(), Refused<<Self::Memory as Memory>::In>> {
        let mut engine = self.engine();
        if !engine.state.is_matched(ticket) {
            let error = Error::UnknownTicket;
            return Err(Refused { loan: into, error });
        }
        if let Err(loan) = engine.buffers.lend_recv(ticket, into) {
            let error = Error::Full;
            return Err(Refused { loan, error });
        }
        engine.state.irecv_matched(ticket, engine.buffers);
        engine.flush_lazily();
        Ok(())
    }

    /// Runs `f` with a [`Scope`] whose buffers may live shorter than this communicator.
    ///
    /// ```
    /// # use pombo_kernel::{Communicator, Error, Header, Lent, Pattern, Peer, PointToPoint};
    /// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
    /// # #[derive(Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    /// # #[repr(C)]
    /// # struct Tag(u8);
    /// # impl Header for Tag { const NAME: &str = "Tag"; type Pattern = Tag; }
    /// # impl Pattern<Tag> for Tag {
    /// #     fn matches(&self, _: Peer, header: &Tag) -> bool { self == header }
    /// #     fn source(&self) -> Option<Peer> { None }
    /// # }
    /// # fn main() -> Result<(), Error> {
    /// # let channel = pombo_kernel::channel::SelfChannel::<1024>::new();
    /// # let mut comm = Communicator::<Tag, _, Lent<'_>>::new(channel)?;
    /// let mut buffer = [0; 5];
    /// comm.scope(|scope| {
    ///     let ticket = scope.irecv(Tag(1), &mut buffer)?;
    ///     scope.send(Peer(0), Tag(1), b"hello")?;
    ///     scope.wait(ticket)?.outcome
    /// })?;
    /// assert_eq!(&buffer, b"hello");
    /// # Ok(()) }
    /// ```
    /// A buffer that dies before the scope is refused by the compiler:
    /// ```compile_fail,E0597
    /// # use pombo_kernel::{Communicator, Error, Header, Lent, Pattern, Peer, PointToPoint};
    /// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
    /// # #[derive(Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    /// # #[repr(C)]
    /// # struct Tag(u8);
    /// # impl Header for Tag { const NAME: &str = "Tag"; type Pattern = Tag; }
    /// # impl Pattern<Tag> for Tag {
    /// #     fn matches(&self, _: Peer, header: &Tag) -> bool { self == header }
    /// #     fn source(&self) -> Option<Peer> { None }
    /// # }
    /// # fn main() -> Result<(), Error> {
    /// # let channel = pombo_kernel::channel::SelfChannel::<1024>::new();
    /// # let mut comm = Communicator::<Tag, _, Lent<'_>>::new(channel)?;
    /// comm.scope(|scope| {
    ///     let mut buffer = [0; 5];
    ///     let ticket = scope.irecv(Tag(1), &mut buffer)?;
    ///     scope.send(Peer(0), Tag(1), b"hello")?;
    ///     scope.wait(ticket)?.outcome
    /// })?;
    /// # Ok(()) }
    /// ```
    fn scope<'s, 'buf, R>(
        &'s mut self,
        f: impl FnOnce(
            &mut Scope<'s, 'buf, Self::Header, Self::Channel, Self::Config, Self::PortMux<'s>>,
        ) -> R,
    ) -> R {
        let Engine {
            state,
            channel,
            buffers,
            mux,
        } = self.engine();
        f(&mut Scope::new(state, channel, buffers, mux))
    }

    /// Sends and waits until the bytes may change (blocking).
    ///
    /// # Errors
    /// As [`PointToPoint::isend`], and the operation's own outcome. Without rendezvous it waits for credit.
    fn send(&mut self, to: Peer, header: Self::Header, bytes: &[u8]) -> Result<(), Error> {
        self.scope(|scope| scope.send_before(to, header, bytes, None))
    }

    /// As [`PointToPoint::send`], for so many nanoseconds at most.
    ///
    /// # Errors
    /// As [`PointToPoint::send`]; [`Error::TimedOut`] takes the message back: a receive that has matched it gets
    /// [`Error::Revoked`].
    fn send_timeout(
        &mut self,
        to: Peer,
        header: Self::Header,
        bytes: &[u8],
        nanoseconds: u64,
    ) -> Result<(), Error> {
        self.scope(|scope| {
            let deadline = scope.engine().after(nanoseconds);
            scope.send_before(to, header, bytes, Some(deadline))
        })
    }

    /// Receives and waits for the message (blocking).
    ///
    /// # Errors
    /// As [`PointToPoint::irecv`], and the operation's own outcome.
    fn recv(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
        bytes: &mut [u8],
    ) -> Result<Envelope<Self::Header, Self::Config>, Error> {
        self.scope(|scope| scope.recv_before(pattern, bytes, None))
    }

    /// As [`PointToPoint::recv`], for so many nanoseconds at most. A message that has matched by then is received
    /// to its end.
    ///
    /// # Errors
    /// As [`PointToPoint::recv`]; [`Error::TimedOut`] if no message has matched.
    fn recv_timeout(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
        bytes: &mut [u8],
        nanoseconds: u64,
    ) -> Result<Envelope<Self::Header, Self::Config>, Error> {
        self.scope(|scope| {
            let deadline = scope.engine().after(nanoseconds);
            scope.recv_before(pattern, bytes, Some(deadline))
        })
    }
}

impl<'buf, H: Header, L: Channel, C: Config, W: PortMux<L>> Scope<'_, 'buf, H, L, C, W> {
    fn send_before(
        &mut self,
        to: Peer,
        header: H,
        bytes: &'buf [u8],
        deadline: Option<u64>,
    ) -> Result<(), Error> {
        let mut idle = 0;
        if self.try_inject(to, header, &bytes)? {
            return Ok(());
        }
        loop {
            match self.isend(to, header, bytes) {
                Ok(ticket) => {
                    let completed = self.engine().wait(ticket, deadline)?;
                    return completed.ok_or(Error::TimedOut)?.outcome.map(drop);
                }
                Err(Refused {
                    error: Error::NoCredit(_),
                    ..
                }) => {
                    let mut engine = self.engine();
                    if engine.is_over(deadline) {
                        return Err(Error::TimedOut);
                    }
                    let moved = engine.progress()?;
                    engine.pause(moved, &mut idle, deadline)?;
                }
                Err(refused) => return Err(refused.error),
            }
        }
    }

    fn recv_before(
        &mut self,
        pattern: H::Pattern,
        bytes: &'buf mut [u8],
        deadline: Option<u64>,
    ) -> Result<Envelope<H, C>, Error> {
        let ticket = self.irecv(pattern, bytes)?;
        let in_time = self.engine().wait(ticket, deadline)?;
        let completed = match in_time {
            Some(completed) => completed,
            None => {
                self.cancel(ticket)?;
                self.wait(ticket)?
            }
        };
        match completed.outcome {
            Err(Error::Cancelled) => Err(Error::TimedOut),
            Err(error) => Err(error),
            Ok(_) => completed.envelope.ok_or(Error::UnknownTicket),
        }
    }
}
