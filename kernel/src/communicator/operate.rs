//! What a user can do with a communicator, and inside a scope of it.

use super::completed::{Completed, Seen};
use super::engine::Engine;
use super::lane::Lane;
use super::loans::Lender;
use super::operation::{Owner, Step};
use super::post::Mode;
use super::scope::Scope;
use crate::aspect::{Buffering, Capacity, Transfer};
use crate::channel::Channel;
use crate::config::{Config, Sizes};
use crate::envelope::Envelope;
use crate::error::{Error, Refused};
use crate::header::{Header, Node};
use crate::memory::{Bank, Loan, Memory, Source, Ticket};

/// Sends, receives and their completion. Nothing here blocks but the calls whose names say so (`wait`, `send_from`,
/// `receive_into`, `wait_probe`); progress happens inside calls.
pub trait Operate {
    /// The upper protocol's header.
    type Header: Header;
    /// The transport below.
    type Channel: Channel;
    /// What can be lent here.
    type Memory: Memory;
    /// The composition.
    type Config: Config;

    #[doc(hidden)]
    type Lane<'x>: Lane<Self::Channel>
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
        impl Lender<Self::Memory> + Bank,
        Self::Lane<'_>,
    >;

    /// Sends; by size at once or by rendezvous. Complete when the buffer may be reused.
    ///
    /// Bytes that are lent do not change before they come back. This is refused by the compiler,
    /// ```compile_fail,E0506
    /// # use pombo_kernel::{Communicator, Error, Header, Lent, Node, Operate, Pattern};
    /// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
    /// # #[derive(Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    /// # #[repr(C)]
    /// # struct Tag(u8);
    /// # impl Header for Tag { const NAME: &str = "Tag"; type Pattern = Tag; }
    /// # impl Pattern<Tag> for Tag {
    /// #     fn matches(&self, _: Node, header: &Tag) -> bool { self == header }
    /// #     fn source(&self) -> Option<Node> { None }
    /// # }
    /// # fn main() -> Result<(), Error> {
    /// # let channel = pombo_netdrivers::Loopback::world(1).remove(0);
    /// # let mut bytes = *b"hello";
    /// # let mut comm = Communicator::<Tag, _, Lent<'_>>::new(channel)?;
    /// let ticket = comm.send(Node(0), Tag(1), &bytes)?;
    /// bytes[0] = b'j';
    /// comm.wait(ticket)?.outcome?;
    /// # Ok(()) }
    /// ```
    /// and this is not:
    /// ```
    /// # use pombo_kernel::{Communicator, Error, Header, Lent, Node, Operate, Pattern};
    /// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
    /// # #[derive(Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    /// # #[repr(C)]
    /// # struct Tag(u8);
    /// # impl Header for Tag { const NAME: &str = "Tag"; type Pattern = Tag; }
    /// # impl Pattern<Tag> for Tag {
    /// #     fn matches(&self, _: Node, header: &Tag) -> bool { self == header }
    /// #     fn source(&self) -> Option<Node> { None }
    /// # }
    /// # fn main() -> Result<(), Error> {
    /// # let channel = pombo_netdrivers::Loopback::world(1).remove(0);
    /// # let mut bytes = *b"hello";
    /// # let mut comm = Communicator::<Tag, _, Lent<'_>>::new(channel)?;
    /// let ticket = comm.send(Node(0), Tag(1), &bytes)?;
    /// comm.wait(ticket)?.outcome?;
    /// drop(comm);
    /// bytes[0] = b'j';
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The buffer comes back with [`Error::Full`], [`Error::NoSuchNode`], [`Error::PeerLost`], [`Error::TooLong`],
    /// or, in a composition without rendezvous, [`Error::NoCredit`].
    fn send(
        &mut self,
        to: Node,
        header: Self::Header,
        out: <Self::Memory as Memory>::Out,
    ) -> Result<Ticket, Refused<<Self::Memory as Memory>::Out>> {
        self.send_as(Mode::Standard, to, header, out)
    }

    /// Sends in a mode of choice.
    ///
    /// # Errors
    /// As [`Operate::send`]; [`Error::NotComposed`] for a synchronous send without rendezvous.
    fn send_as(
        &mut self,
        mode: Mode,
        to: Node,
        header: Self::Header,
        out: <Self::Memory as Memory>::Out,
    ) -> Result<Ticket, Refused<<Self::Memory as Memory>::Out>> {
        let mut engine = self.engine();
        let ticket = match engine.open_send(to, header, mode, out.len()) {
            Ok(ticket) => ticket,
            Err(error) => return Err(Refused { loan: out, error }),
        };
        if let Err(loan) = engine.bank.lend_out(ticket, out) {
            engine.state.operations.remove(ticket.slot());
            let error = Error::Full;
            return Err(Refused { loan, error });
        }
        engine.launch(to, ticket);
        Ok(ticket)
    }

    /// Sends a short message if it can leave this moment: nothing is lent, there is nothing to claim. `false` says that
    /// it cannot, because it is long, or has to wait for others, for credit or for room: then [`Operate::send`].
    ///
    /// # Errors
    /// [`Error::NoSuchNode`], [`Error::PeerLost`], [`Error::Channel`].
    #[inline(always)]
    fn send_now(
        &mut self,
        to: Node,
        header: Self::Header,
        message: &impl Source,
    ) -> Result<bool, Error> {
        let Engine {
            state,
            channel,
            lane,
            ..
        } = self.engine();
        state.send_now(&mut lane.outlet(channel), to, header, message)
    }

    /// Copies the message and sends the copy: nothing is lent, nothing is to be claimed (MPI's buffered mode).
    ///
    /// # Errors
    /// As [`Operate::send`]; [`Error::TooLong`] beyond a cell of the composition; [`Error::Full`] also when there is no
    /// memory for the copy; [`Error::NotComposed`] without buffering.
    fn send_buffered(
        &mut self,
        to: Node,
        header: Self::Header,
        message: &impl Source,
    ) -> Result<(), Error> {
        if !<<Self::Config as Config>::Buffering as Buffering>::ON {
            return Err(Error::NotComposed("buffering"));
        }
        let limit = <<Self::Config as Config>::Sizes as Sizes>::Cell::N;
        if message.len() > limit {
            return Err(Error::TooLong { limit });
        }
        let mut engine = self.engine();
        let ticket = engine.open_send(to, header, Mode::Standard, message.len())?;
        if !engine.bank.copy(ticket, message) {
            engine.state.operations.remove(ticket.slot());
            return Err(Error::Full);
        }
        engine.state.give_copy(ticket, Owner::Kernel);
        engine.launch(to, ticket);
        Ok(())
    }

    /// Are there copies of messages to that node that have not gone? Then a copy of the next one
    /// ([`Operate::send_buffered`]) costs its sender less than to wait once more.
    fn holds_copies(&mut self, to: Node) -> bool {
        <<Self::Config as Config>::Buffering as Buffering>::ON
            && self.engine().state.holds_copies(to)
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
        let Engine { state, bank, .. } = self.engine();
        if !bank.holds(ticket) || !state.may_detach(ticket) {
            return Ok(false);
        }
        if !bank.copy_lent(ticket) {
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
        let loan = engine.bank.give_back(ticket)?;
        engine.state.release(ticket);
        engine.flush_or_later();
        Some(loan)
    }

    /// Posts a receive for the first message that matches.
    ///
    /// # Errors
    /// The buffer comes back with [`Error::Full`] or [`Error::NoSuchNode`], and, in a composition without queues, with
    /// [`Error::NotComposed`] when no message is here.
    fn receive(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
        into: <Self::Memory as Memory>::In,
    ) -> Result<Ticket, Refused<<Self::Memory as Memory>::In>> {
        let mut engine = self.engine();
        let ticket = engine.post(pattern, into)?;
        engine.flush_or_later();
        Ok(ticket)
    }

    /// The same as a part of its caller, for who posts many.
    ///
    /// # Errors
    /// As [`Operate::receive`].
    #[inline(always)]
    fn receive_here(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
        into: <Self::Memory as Memory>::In,
    ) -> Result<Ticket, Refused<<Self::Memory as Memory>::In>> {
        let mut engine = self.engine();
        let ticket = engine.post(pattern, into)?;
        if engine.state.due {
            engine.flush_or_later();
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
    fn advance(&mut self, idle: &mut u32) -> Result<(), Error> {
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
    /// As [`Operate::claim`].
    #[inline(always)]
    fn look(
        &mut self,
        ticket: Ticket,
    ) -> Result<Option<Seen<'_, Self::Header, Self::Config>>, Error> {
        let Engine { state, bank, .. } = self.engine();
        let operation = state.operation(ticket).filter(|_| bank.holds(ticket));
        let operation = operation.ok_or(Error::UnknownTicket)?;
        let received = bank.room(ticket).is_some();
        let envelope = operation.envelope.as_ref();
        Ok(match &operation.step {
            Step::Done(outcome) if !operation.is_in_flight() => Some(Seen {
                received,
                envelope,
                outcome: outcome.as_ref().copied(),
            }),
            _ if operation.is_detached() => Some(Seen {
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
    fn dismiss(&mut self, ticket: Ticket) -> Option<Self::Header> {
        let Engine { state, bank, .. } = self.engine();
        if !bank.holds(ticket) {
            return None;
        }
        let operation = state.operations.remove_if(ticket.slot(), |operation| {
            operation.generation == ticket.generation()
                && matches!(operation.step, Step::Done(Ok(_)))
                && operation.envelope.is_some()
                && !operation.is_in_flight()
                && !operation.is_detached()
        })?;
        bank.give_back(ticket);
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

    /// As [`Operate::wait`], for so many nanoseconds at most; `None` when they are over. The operation goes on.
    ///
    /// # Errors
    /// As [`Operate::wait`].
    fn wait_within(
        &mut self,
        ticket: Ticket,
        nanoseconds: u64,
    ) -> Result<Option<Completed<Self::Header, Self::Memory, Self::Config>>, Error> {
        let mut engine = self.engine();
        let deadline = Some(engine.after(nanoseconds));
        engine.wait(ticket, deadline)
    }

    /// Asks an operation to end without a message. The outcome says which came first:
    /// [`Error::Cancelled`], or what the operation would have given anyway. Of a message to this node itself that is
    /// decided when the call returns.
    ///
    /// # Errors
    /// [`Error::UnknownTicket`], [`Error::Channel`].
    fn cancel(&mut self, ticket: Ticket) -> Result<(), Error> {
        let mut engine = self.engine();
        if !engine.bank.holds(ticket) {
            return Err(Error::UnknownTicket);
        }
        engine.state.cancel(ticket)?;
        engine.flush()?;
        // The frames between this node and itself have nobody else to wait for. Without rendezvous there are none.
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
    /// [`Error::NoSuchNode`], [`Error::PeerLost`], [`Error::Channel`].
    fn probe(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
    ) -> Result<Option<Envelope<Self::Header, Self::Config>>, Error> {
        self.engine().probe(pattern)
    }

    /// Makes progress until a probe succeeds.
    ///
    /// # Errors
    /// As [`Operate::probe`].
    fn wait_probe(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
    ) -> Result<Envelope<Self::Header, Self::Config>, Error> {
        let found = self.engine().until(None, |engine| engine.probe(pattern));
        found?.ok_or(Error::TimedOut)
    }

    /// As [`Operate::wait_probe`], for so many nanoseconds at most; `None` when they are over.
    ///
    /// # Errors
    /// As [`Operate::probe`].
    fn wait_probe_within(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
        nanoseconds: u64,
    ) -> Result<Option<Envelope<Self::Header, Self::Config>>, Error> {
        let mut engine = self.engine();
        let deadline = Some(engine.after(nanoseconds));
        engine.until(deadline, |engine| engine.probe(pattern))
    }

    /// As [`Operate::probe`], and takes the message: no other receive or probe will see it. It is received with
    /// [`Operate::receive_matched`] and takes a place among the operations until then.
    ///
    /// # Errors
    /// As [`Operate::probe`]; [`Error::Full`], and the message stays.
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
    /// As [`Operate::matched_probe`].
    fn wait_matched_probe(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
    ) -> Result<(Ticket, Envelope<Self::Header, Self::Config>), Error> {
        let found = self
            .engine()
            .until(None, |engine| engine.matched_probe(pattern));
        found?.ok_or(Error::TimedOut)
    }

    /// As [`Operate::wait_matched_probe`], for so many nanoseconds at most; `None` when they are over.
    ///
    /// # Errors
    /// As [`Operate::matched_probe`].
    #[expect(clippy::type_complexity, reason = "a ticket and an envelope")]
    fn wait_matched_probe_within(
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
    fn receive_matched(
        &mut self,
        ticket: Ticket,
        into: <Self::Memory as Memory>::In,
    ) -> Result<(), Refused<<Self::Memory as Memory>::In>> {
        let mut engine = self.engine();
        if !engine.state.is_matched(ticket) {
            let error = Error::UnknownTicket;
            return Err(Refused { loan: into, error });
        }
        if let Err(loan) = engine.bank.lend_in(ticket, into) {
            let error = Error::Full;
            return Err(Refused { loan, error });
        }
        engine.state.receive_matched(ticket, engine.bank);
        engine.flush_or_later();
        Ok(())
    }

    /// Runs `f` with a [`Scope`] whose buffers may live shorter than this communicator.
    ///
    /// ```
    /// # use pombo_kernel::{Communicator, Error, Header, Lent, Node, Operate, Pattern};
    /// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
    /// # #[derive(Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    /// # #[repr(C)]
    /// # struct Tag(u8);
    /// # impl Header for Tag { const NAME: &str = "Tag"; type Pattern = Tag; }
    /// # impl Pattern<Tag> for Tag {
    /// #     fn matches(&self, _: Node, header: &Tag) -> bool { self == header }
    /// #     fn source(&self) -> Option<Node> { None }
    /// # }
    /// # fn main() -> Result<(), Error> {
    /// # let channel = pombo_netdrivers::Loopback::world(1).remove(0);
    /// # let mut comm = Communicator::<Tag, _, Lent<'_>>::new(channel)?;
    /// let mut buffer = [0; 5];
    /// comm.scope(|scope| {
    ///     let ticket = scope.receive(Tag(1), &mut buffer)?;
    ///     scope.send_from(Node(0), Tag(1), b"hello")?;
    ///     scope.wait(ticket)?.outcome
    /// })?;
    /// assert_eq!(&buffer, b"hello");
    /// # Ok(()) }
    /// ```
    /// A buffer that dies before the scope is refused by the compiler:
    /// ```compile_fail,E0597
    /// # use pombo_kernel::{Communicator, Error, Header, Lent, Node, Operate, Pattern};
    /// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
    /// # #[derive(Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    /// # #[repr(C)]
    /// # struct Tag(u8);
    /// # impl Header for Tag { const NAME: &str = "Tag"; type Pattern = Tag; }
    /// # impl Pattern<Tag> for Tag {
    /// #     fn matches(&self, _: Node, header: &Tag) -> bool { self == header }
    /// #     fn source(&self) -> Option<Node> { None }
    /// # }
    /// # fn main() -> Result<(), Error> {
    /// # let channel = pombo_netdrivers::Loopback::world(1).remove(0);
    /// # let mut comm = Communicator::<Tag, _, Lent<'_>>::new(channel)?;
    /// comm.scope(|scope| {
    ///     let mut buffer = [0; 5];
    ///     let ticket = scope.receive(Tag(1), &mut buffer)?;
    ///     scope.send_from(Node(0), Tag(1), b"hello")?;
    ///     scope.wait(ticket)?.outcome
    /// })?;
    /// # Ok(()) }
    /// ```
    fn scope<'s, 'buf, R>(
        &'s mut self,
        f: impl FnOnce(
            &mut Scope<'s, 'buf, Self::Header, Self::Channel, Self::Config, Self::Lane<'s>>,
        ) -> R,
    ) -> R {
        let Engine {
            state,
            channel,
            bank,
            lane,
        } = self.engine();
        f(&mut Scope::new(state, channel, bank, lane))
    }

    /// Sends and waits until the bytes may change (blocking).
    ///
    /// # Errors
    /// As [`Operate::send`], and the operation's own outcome. Without rendezvous it waits for credit.
    fn send_from(&mut self, to: Node, header: Self::Header, bytes: &[u8]) -> Result<(), Error> {
        self.scope(|scope| scope.send_until(to, header, bytes, None))
    }

    /// As [`Operate::send_from`], for so many nanoseconds at most.
    ///
    /// # Errors
    /// As [`Operate::send_from`]; [`Error::TimedOut`] takes the message back: a receive that has matched it gets
    /// [`Error::Revoked`].
    fn send_from_within(
        &mut self,
        to: Node,
        header: Self::Header,
        bytes: &[u8],
        nanoseconds: u64,
    ) -> Result<(), Error> {
        self.scope(|scope| {
            let deadline = scope.engine().after(nanoseconds);
            scope.send_until(to, header, bytes, Some(deadline))
        })
    }

    /// Receives and waits for the message (blocking).
    ///
    /// # Errors
    /// As [`Operate::receive`], and the operation's own outcome.
    fn receive_into(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
        bytes: &mut [u8],
    ) -> Result<Envelope<Self::Header, Self::Config>, Error> {
        self.scope(|scope| scope.receive_until(pattern, bytes, None))
    }

    /// As [`Operate::receive_into`], for so many nanoseconds at most. A message that has matched by then is received
    /// to its end.
    ///
    /// # Errors
    /// As [`Operate::receive_into`]; [`Error::TimedOut`] if no message has matched.
    fn receive_into_within(
        &mut self,
        pattern: <Self::Header as Header>::Pattern,
        bytes: &mut [u8],
        nanoseconds: u64,
    ) -> Result<Envelope<Self::Header, Self::Config>, Error> {
        self.scope(|scope| {
            let deadline = scope.engine().after(nanoseconds);
            scope.receive_until(pattern, bytes, Some(deadline))
        })
    }
}

impl<'buf, H: Header, L: Channel, C: Config, W: Lane<L>> Scope<'_, 'buf, H, L, C, W> {
    fn send_until(
        &mut self,
        to: Node,
        header: H,
        bytes: &'buf [u8],
        deadline: Option<u64>,
    ) -> Result<(), Error> {
        let mut idle = 0;
        if self.send_now(to, header, &bytes)? {
            return Ok(());
        }
        loop {
            match self.send(to, header, bytes) {
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

    fn receive_until(
        &mut self,
        pattern: H::Pattern,
        bytes: &'buf mut [u8],
        deadline: Option<u64>,
    ) -> Result<Envelope<H, C>, Error> {
        let ticket = self.receive(pattern, bytes)?;
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
