//! What a user can do with a communicator, with one port of an endpoint, and inside a scope: the same calls.
//!
//! They stand here once. Each of the three types has them as methods of its own, and [`PointToPoint`] has them for code
//! that is generic over the three.

use super::completed_operation::Completed;
use super::engine::Engine;
use super::lent_buffers::BufferLending;
use super::port_mux::{MultiPort, OtherPorts, PortMux, SinglePort};
use super::ports::{Communicator, Port, PortView};
use super::post::Mode;
use super::scope::Scope;
use crate::channel::Channel;
use crate::composition::Config;
use crate::envelope::Envelope;
use crate::error::{Error, Refused};
use crate::header::{Header, Peer};
use crate::memory::{Lent, Memory, Source, Ticket};

/// The calls: `calls!(pub HEADER, CHANNEL, MEMORY, COMPOSITION, MUX)`, where the mux of a scope's port lives for `'s`.
macro_rules! calls {
    ($vis:vis $H:ty, $L:ty, $M:ty, $C:ty, $W:ty) => {
        /// Sends and waits until the bytes may change (blocking).
        ///
        /// # Errors
        /// As [`Self::isend`], and the operation's own outcome. Without rendezvous it waits for credit.
        $vis fn send(&mut self, to: Peer, header: $H, bytes: &[u8]) -> Result<(), Error> {
            self.scope(|scope| scope.send_before(to, header, bytes, None))
        }

        /// As [`Self::send`], for so many nanoseconds at most.
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
        /// As [`Self::irecv`], and the operation's own outcome.
        $vis fn recv(
            &mut self,
            pattern: <$H as Header>::Pattern,
            bytes: &mut [u8],
        ) -> Result<Envelope<$H, $C>, Error> {
            self.scope(|scope| scope.recv_before(pattern, bytes, None))
        }

        /// As [`Self::recv`], for so many nanoseconds at most. A message that has matched by then is received to its
        /// end.
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

        /// Sends; by size at once or by rendezvous. Complete when the buffer may be reused; until then it is
        /// [lent](crate::Lent).
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

        /// Sends in a mode of choice.
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

        /// Copies the message and sends the copy: nothing is lent, nothing is to be claimed (MPI's buffered mode).
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
        /// with [`Error::FeatureDisabled`] when no message is here.
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

        /// Takes what has arrived and sends what is due (the paper's `check_messages`); true if anything moved.
        ///
        /// # Errors
        /// [`Error::Channel`] when the channel is broken.
        // Out of line, with the engine's progress in it: in line its callers would share that, and hand the parts over
        // in memory.
        #[inline(never)]
        $vis fn check_messages(&mut self) -> Result<bool, Error> {
            self.engine().progress()
        }

        /// Makes progress, or lets the channel wait when there is none: for loops of a user's own. `idle` counts the
        /// rounds without progress; begin with 0.
        ///
        /// # Errors
        /// [`Error::Channel`] when the channel is broken.
        $vis fn progress_or_wait(&mut self, idle: &mut u32) -> Result<(), Error> {
            let moved = self.check_messages()?;
            self.engine().pause(moved, idle, None)
        }

        /// Takes back a finished operation's buffer and outcome; `None` while it is not over. Makes no progress
        /// itself.
        ///
        /// # Errors
        /// [`Error::UnknownTicket`] if this level holds no such operation.
        #[inline(always)]
        $vis fn claim(&mut self, ticket: Ticket) -> Result<Option<Completed<$H, $M, $C>>, Error> {
            self.engine().claim(ticket)
        }

        /// Makes progress until the operation is over.
        ///
        /// # Errors
        /// [`Error::UnknownTicket`], [`Error::Channel`]. What happened to the operation is in its outcome.
        $vis fn wait(&mut self, ticket: Ticket) -> Result<Completed<$H, $M, $C>, Error> {
            self.engine().wait(ticket, None)?.ok_or(Error::TimedOut)
        }

        /// As [`Self::wait`], for so many nanoseconds at most; `None` when they are over. The operation goes on.
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

        /// Asks an operation to end without a message. The outcome says which came first:
        /// [`Error::Cancelled`], or what the operation would have given anyway. Of a message to this peer itself that
        /// is decided when the call returns.
        ///
        /// # Errors
        /// [`Error::UnknownTicket`], [`Error::Channel`].
        $vis fn cancel(&mut self, ticket: Ticket) -> Result<(), Error> {
            self.engine().cancel(ticket)?;
            // The frames between this peer and itself have nobody else to wait for.
            while self.engine().is_revoked_here(ticket) && self.check_messages()? {}
            Ok(())
        }

        /// The envelope of the first message that a receive with this pattern would take, if one is known. The first
        /// call may have to ask senders that hold messages back: make progress and probe again.
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

        /// As [`Self::wait_probe`], for so many nanoseconds at most; `None` when they are over.
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

        /// As [`Self::probe`], and takes the message: no other receive or probe will see it. It is received with
        /// [`Self::irecv_matched`] and takes a place among the operations until then.
        ///
        /// # Errors
        /// As [`Self::probe`]; [`Error::Full`], and the message stays.
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

        /// As [`Self::wait_matched_probe`], for so many nanoseconds at most; `None` when they are over.
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
        /// [`Error::Full`] if there is no place for the loan.
        $vis fn irecv_matched(
            &mut self,
            ticket: Ticket,
            into: <$M as Memory>::In,
        ) -> Result<(), Refused<<$M as Memory>::In>> {
            self.engine().irecv_matched(ticket, into)
        }

        /// Runs `f` with a [`Scope`], whose buffers may live shorter than this.
        $vis fn scope<'s, 'buf, R>(&'s mut self, f: impl FnOnce(&mut Scope<'s, 'buf, $H, $L, $C, $W>) -> R) -> R {
            let Engine { state, channel, buffers, mux } = self.engine();
            f(&mut Scope::new(state, channel, buffers, mux))
        }
    };
}

/// Sends, receives and their completion. Nothing here blocks but the calls whose names say so (`wait`, `send`, `recv`,
/// `wait_probe`); progress happens inside calls.
impl<H: Header, L: Channel, M: Memory, C: Config> Communicator<H, L, M, C> {
    calls!(pub H, L, M, C, SinglePort);
}

/// As those of a [`Communicator`].
impl<H: Header, L: Channel, M: Memory, C: Config, O: OtherPorts<L>>
    PortView<'_, L, Port<H, M, C>, O>
{
    calls!(pub H, L, M, C, MultiPort<'s, L>);
}

/// As those of a [`Communicator`].
impl<'b, H: Header, L: Channel, C: Config, W: PortMux<L>> Scope<'_, 'b, H, L, C, W> {
    calls!(pub H, L, Lent<'b>, C, W::Reborrowed<'s>);
}

/// The methods that a [`Communicator`], a [`PortView`] and a [`Scope`] have, for code that is generic over them; a
/// program that names its type needs no trait. Sealed: what a hidden method lends is known to the kernel alone.
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
