//! The operations of a communicator, of one port of an endpoint, and of a scope, which are the same.
//!
//! The macro defines them once. Each of the three types has them as inherent methods, and [`PointToPoint`] has them for
//! code that is generic over the three.

use super::completed_operation::Completed;
use super::engine::Engine;
use super::lent_buffers::BufferLending;
use super::port_mux::PortMux;
use super::post::Mode;
use super::scope::Scope;
use crate::channel::Channel;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::{Error, Refused};
use crate::header::{Header, Peer};
use crate::memory::{Memory, Source, Ticket};

/// Defines the methods: `calls!(pub HEADER, CHANNEL, MEMORY, COMPOSITION, MUX)`, where the mux of a scope's port lives
/// for `'s`. The file that calls it imports what the methods name.
macro_rules! calls {
    ($vis:vis $H:ty, $L:ty, $M:ty, $C:ty, $W:ty) => {
        /// Sends and waits until `bytes` may change (blocking).
        ///
        /// # Errors
        /// As [`Self::isend`], and the operation's own error. Without rendezvous it waits for credit.
        $vis fn send(&mut self, to: Peer, header: $H, bytes: &[u8]) -> Result<(), Error> {
            self.scope(|scope| scope.send_before(to, header, bytes, None))
        }

        /// Sends as [`Self::send`], for at most `nanoseconds` ns.
        ///
        /// # Errors
        /// As [`Self::send`]; [`Error::TimedOut`] takes the message back: a receive that has matched it gets
        /// [`Error::Revoked`].
        $vis fn send_timeout(&mut self, to: Peer, header: $H, bytes: &[u8], nanoseconds: u64) -> Result<(), Error> {
            let deadline = Some(self.engine().after(nanoseconds));
            self.scope(|scope| scope.send_before(to, header, bytes, deadline))
        }

        /// Receives and waits for the message (blocking).
        ///
        /// # Errors
        /// As [`Self::irecv`], and the operation's own error.
        $vis fn recv(
            &mut self,
            pattern: <$H as Header>::Pattern,
            bytes: &mut [u8],
        ) -> Result<Envelope<$H, $C>, Error> {
            self.scope(|scope| scope.recv_before(pattern, bytes, None))
        }

        /// Receives as [`Self::recv`], for at most `nanoseconds` ns. A message that has matched by then is received
        /// completely.
        ///
        /// # Errors
        /// As [`Self::recv`]; [`Error::TimedOut`] if no message has matched.
        $vis fn recv_timeout(
            &mut self,
            pattern: <$H as Header>::Pattern,
            bytes: &mut [u8],
            nanoseconds: u64,
        ) -> Result<Envelope<$H, $C>, Error> {
            let deadline = Some(self.engine().after(nanoseconds));
            self.scope(|scope| scope.recv_before(pattern, bytes, deadline))
        }

        /// Starts a send: eager or by rendezvous, depending on the size. It completes when the buffer may be reused;
        /// until then the buffer is [lent](crate::Lent).
        ///
        /// # Errors
        /// The buffer comes back with [`Error::Full`], [`Error::NoSuchPeer`], [`Error::PeerLost`],
        /// [`Error::TooLong`], or, in a composition without rendezvous, [`Error::NoCredit`].
        $vis fn isend(
            &mut self,
            to: Peer,
            header: $H,
            out: <$M as Memory>::Out,
        ) -> Result<Ticket, Refused<<$M as Memory>::Out>> {
            self.isend_as(Mode::Standard, to, header, out)
        }

        /// Starts a send in the given mode.
        ///
        /// # Errors
        /// As [`Self::isend`]; [`Error::FeatureDisabled`] for a synchronous send without rendezvous.
        $vis fn isend_as(
            &mut self,
            mode: Mode,
            to: Peer,
            header: $H,
            out: <$M as Memory>::Out,
        ) -> Result<Ticket, Refused<<$M as Memory>::Out>> {
            self.engine().isend(mode, to, header, out)
        }

        /// Copies the message and sends the copy: nothing is lent and there is nothing to claim (MPI's buffered mode).
        ///
        /// # Errors
        /// As [`Self::isend`]; [`Error::TooLong`] beyond a cell of the composition; [`Error::Full`] also when there
        /// is no memory for the copy; [`Error::FeatureDisabled`] without buffering.
        $vis fn send_buffered(&mut self, to: Peer, header: $H, message: &impl Source) -> Result<(), Error> {
            self.engine().send_buffered(to, header, message)
        }

        /// Posts a receive for the first message that matches.
        ///
        /// # Errors
        /// The buffer comes back with [`Error::Full`] or [`Error::NoSuchPeer`], and, in a composition without queues,
        /// with [`Error::FeatureDisabled`] if no matching message has arrived.
        $vis fn irecv(
            &mut self,
            pattern: <$H as Header>::Pattern,
            into: <$M as Memory>::In,
        ) -> Result<Ticket, Refused<<$M as Memory>::In>> {
            let mut engine = self.engine();
            let ticket = engine.post(pattern, into)?;
            engine.flush_lazily();
            Ok(ticket)
        }

        /// Handles arrived frames and sends what is due (the paper's `check_messages`); returns true if anything
        /// progressed.
        ///
        /// # Errors
        /// [`Error::Channel`] when the channel is broken.
        // Not inlined, but with the engine's progress inlined into it: otherwise its callers would share that one and
        // pass the engine's parts in memory.
        #[inline(never)]
        $vis fn check_messages(&mut self) -> Result<bool, Error> {
            self.engine().progress()
        }

        /// Makes progress, or lets the channel wait if there is none: for loops of the user. `idle` counts the rounds
        /// without progress and starts at 0.
        ///
        /// # Errors
        /// [`Error::Channel`] when the channel is broken.
        $vis fn progress_or_wait(&mut self, idle: &mut u32) -> Result<(), Error> {
            let moved = self.check_messages()?;
            self.engine().pause(moved, idle, None)
        }

        /// Returns a finished operation's buffer and outcome; `None` while it is not complete. Makes no progress
        /// itself.
        ///
        /// # Errors
        /// [`Error::UnknownTicket`] if this level holds no such operation.
        #[inline(always)]
        $vis fn claim(&mut self, ticket: Ticket) -> Result<Option<Completed<$H, $M, $C>>, Error> {
            self.engine().claim(ticket)
        }

        /// Makes progress until the operation is complete.
        ///
        /// # Errors
        /// [`Error::UnknownTicket`], [`Error::Channel`]. The operation's own error is in its outcome.
        $vis fn wait(&mut self, ticket: Ticket) -> Result<Completed<$H, $M, $C>, Error> {
            self.engine().wait(ticket, None)?.ok_or(Error::TimedOut)
        }

        /// Waits as [`Self::wait`], for at most `nanoseconds` ns; returns `None` on time-out. The operation goes on.
        ///
        /// # Errors
        /// As [`Self::wait`].
        $vis fn wait_timeout(
            &mut self,
            ticket: Ticket,
            nanoseconds: u64,
        ) -> Result<Option<Completed<$H, $M, $C>>, Error> {
            let mut engine = self.engine();
            let deadline = Some(engine.after(nanoseconds));
            engine.wait(ticket, deadline)
        }

        /// Requests the cancellation of an operation. The outcome says which came first: [`Error::Cancelled`], or the
        /// operation's ordinary result. For a message to this peer itself the outcome is decided when the call returns.
        ///
        /// # Errors
        /// [`Error::UnknownTicket`], [`Error::Channel`].
        $vis fn cancel(&mut self, ticket: Ticket) -> Result<(), Error> {
            self.engine().cancel(ticket)?;
            // Only this process can make progress on frames between this peer and itself.
            while self.engine().is_revoked_here(ticket) && self.check_messages()? {}
            Ok(())
        }

        /// Returns the envelope of the first message that a receive with this pattern would match, if one is known. The
        /// first call may have to query senders that hold messages: make progress and probe again.
        ///
        /// # Errors
        /// [`Error::NoSuchPeer`], [`Error::PeerLost`], [`Error::Channel`].
        $vis fn probe(&mut self, pattern: <$H as Header>::Pattern) -> Result<Option<Envelope<$H, $C>>, Error> {
            self.engine().probe(pattern)
        }

        /// Makes progress until a probe succeeds.
        ///
        /// # Errors
        /// As [`Self::probe`].
        $vis fn wait_probe(&mut self, pattern: <$H as Header>::Pattern) -> Result<Envelope<$H, $C>, Error> {
            let found = self.engine().until(None, |engine| engine.probe(pattern));
            found?.ok_or(Error::TimedOut)
        }

        /// Waits as [`Self::wait_probe`], for at most `nanoseconds` ns; returns `None` on time-out.
        ///
        /// # Errors
        /// As [`Self::probe`].
        $vis fn wait_probe_timeout(
            &mut self,
            pattern: <$H as Header>::Pattern,
            nanoseconds: u64,
        ) -> Result<Option<Envelope<$H, $C>>, Error> {
            let mut engine = self.engine();
            let deadline = Some(engine.after(nanoseconds));
            engine.until(deadline, |engine| engine.probe(pattern))
        }

        /// Probes as [`Self::probe`] and takes the message: no other receive or probe will match it.
        /// [`Self::irecv_matched`] receives it; until then it occupies an operation.
        ///
        /// # Errors
        /// As [`Self::probe`]; [`Error::Full`] without taking the message.
        $vis fn matched_probe(
            &mut self,
            pattern: <$H as Header>::Pattern,
        ) -> Result<Option<(Ticket, Envelope<$H, $C>)>, Error> {
            self.engine().matched_probe(pattern)
        }

        /// Makes progress until a matched probe succeeds.
        ///
        /// # Errors
        /// As [`Self::matched_probe`].
        $vis fn wait_matched_probe(
            &mut self,
            pattern: <$H as Header>::Pattern,
        ) -> Result<(Ticket, Envelope<$H, $C>), Error> {
            let found = self.engine().until(None, |engine| engine.matched_probe(pattern));
            found?.ok_or(Error::TimedOut)
        }

        /// Waits as [`Self::wait_matched_probe`], for at most `nanoseconds` ns; returns `None` on time-out.
        ///
        /// # Errors
        /// As [`Self::matched_probe`].
        $vis fn wait_matched_probe_timeout(
            &mut self,
            pattern: <$H as Header>::Pattern,
            nanoseconds: u64,
        ) -> Result<Option<(Ticket, Envelope<$H, $C>)>, Error> {
            let mut engine = self.engine();
            let deadline = Some(engine.after(nanoseconds));
            engine.until(deadline, |engine| engine.matched_probe(pattern))
        }

        /// Receives a message that a matched probe has taken. The ticket stays the same.
        ///
        /// # Errors
        /// The buffer comes back with [`Error::UnknownTicket`] if the ticket names no such message, and with
        /// [`Error::Full`] if the buffer table is full.
        $vis fn irecv_matched(
            &mut self,
            ticket: Ticket,
            into: <$M as Memory>::In,
        ) -> Result<(), Refused<<$M as Memory>::In>> {
            self.engine().irecv_matched(ticket, into)
        }

        /// Runs `f` with a [`Scope`], whose buffers may live shorter than `self`.
        $vis fn scope<'s, 'buf, R>(&'s mut self, f: impl FnOnce(&mut Scope<'s, 'buf, $H, $L, $C, $W>) -> R) -> R {
            let Engine { state, channel, buffers, mux } = self.engine();
            f(&mut Scope::new(state, channel, buffers, mux))
        }
    };
}

pub(super) use calls;

/// The methods that a [`Communicator`](crate::Communicator), a [`PortView`](crate::PortView) and a [`Scope`] share, for code that is generic over them; a
/// program that names its type does not need the trait. It is sealed, as the type that its hidden method returns is
/// private to the kernel.
pub trait PointToPoint {
    /// The upper protocol's header.
    type Header: Header;
    /// The transport below.
    type Channel: Channel;
    /// The kind of memory that users may lend.
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
        impl BufferLending<Memory = Self::Memory>,
        Self::PortMux<'_>,
    >;

    calls!(
        Self::Header,
        Self::Channel,
        Self::Memory,
        Self::Config,
        Self::PortMux<'s>
    );
}
