//! Calls that a protocol library such as MPI needs in addition to those of [`PointToPoint`].

use super::completed_operation::Peeked;
use super::direct_receive::Received;
use super::engine::Engine;
use super::lent_buffers::BufferLending;
use super::operation::{OpState, Owner};
use super::point_to_point::PointToPoint;
use crate::aspect::Buffering;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::{Error, Refused};
use crate::header::{Header, Peer};
use crate::memory::{BufferAccess, Loan, Memory, Sink, Source, Ticket};

/// Operations of a [`Communicator`](crate::Communicator), a [`PortView`](crate::PortView) or a [`Scope`](crate::Scope)
/// for protocol libraries; application programs do not need them.
pub trait PointToPointExt: PointToPoint {
    /// Sends a short message if it can leave immediately: nothing is lent and there is nothing to claim. Returns
    /// `false` if it cannot, because it is long or must wait for earlier messages, for credit or for room: then use
    /// [`PointToPoint::isend`].
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
        self.engine().try_inject(to, header, message)
    }

    /// Receives a message that arrives while the queues are empty: nothing is posted and nothing is lent. `received`,
    /// which is `None` before, stays so if they are not, when anything else has arrived, or after `polls` polls: then use
    /// [`PointToPoint::irecv`].
    ///
    /// # Errors
    /// [`Error::Channel`].
    #[inline(always)]
    fn recv_direct(
        &mut self,
        pattern: &<Self::Header as Header>::Pattern,
        into: &mut impl Sink,
        polls: u32,
        received: &mut Option<Received<Self::Header, Self::Config>>,
    ) -> Result<(), Error> {
        self.engine().recv_direct(pattern, into, polls, received)
    }

    /// Receives the message that would match the posted receive of this ticket, if it arrives next, into another buffer;
    /// the receive stays posted. It is for a caller with buffers of one kind, to which all receives belong that the
    /// message could match. `received`, which is `None` before, stays so if the receive has matched, when anything else has
    /// arrived, or after `polls` polls.
    ///
    /// # Errors
    /// [`Error::Channel`].
    #[inline(always)]
    fn recv_instead(
        &mut self,
        posted: Ticket,
        into: &mut impl Sink,
        polls: u32,
        received: &mut Option<Received<Self::Header, Self::Config>>,
    ) -> Result<(), Error> {
        self.engine().recv_instead(posted, into, polls, received)
    }

    /// Posts a receive as [`PointToPoint::irecv`], inlined into callers that post many.
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

    /// Returns whether the kernel still holds unsent copies of messages to that peer. Then copying the next one as well
    /// ([`PointToPoint::send_buffered`]) costs the sender less than another wait.
    fn has_unsent_copies(&mut self, to: Peer) -> bool {
        <<Self::Config as Config>::Buffering as Buffering>::ON
            && self.engine().state.has_unsent_copies(to)
    }

    /// Copies a short send that waits for a receive or for credit: the send is complete for its user, whose memory may
    /// be reused, and the kernel sends the copy. Returns false without effect for every other send: one that has left,
    /// a [synchronous](crate::Mode::Synchronous) one, one longer than a cell, and all sends in compositions without
    /// buffering.
    ///
    /// # Errors
    /// [`Error::Full`] if there is no room for the copy ([`Limits::copies`](crate::Limits::copies)).
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

    /// Returns a loan at once, whatever the state of its operation, which is never claimed: a receive is cancelled, or
    /// data that still arrives for it is dropped; a send is cancelled if no receive has matched it, otherwise the
    /// receive ends with [`Error::Revoked`]. Returns `None` if this level holds no such operation.
    ///
    /// A peer that was offered [fixed](crate::Part::fixed) memory may still read it: the lender must allow for that.
    fn release(&mut self, ticket: Ticket) -> Option<Loan<Self::Memory>> {
        let mut engine = self.engine();
        let loan = engine.buffers.give_back(ticket)?;
        engine.state.release(ticket);
        engine.flush_lazily();
        Some(loan)
    }

    /// Returns a view of a finished operation, which stays to be claimed; `None` while it is not complete. Makes no
    /// progress itself.
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

    /// Completes an operation that has ended without error and returns only its message's header. Returns `None` for
    /// all others, which stay to be claimed.
    #[inline(always)]
    fn claim_header(&mut self, ticket: Ticket) -> Option<Self::Header> {
        let Engine { state, buffers, .. } = self.engine();
        state.operations.remove_if(ticket.slot(), |operation| {
            let has_ended = operation.generation == ticket.generation()
                && matches!(operation.state, OpState::Done(Ok(_)))
                && !operation.is_in_flight()
                && !operation.is_detached();
            let header = operation.envelope.as_ref().map(Envelope::header);
            let header = header.filter(|_| has_ended)?;
            buffers.give_back(ticket).map(|_| header)
        })
    }

    /// Returns the envelope of an operation's message, if one is known.
    fn envelope(&mut self, ticket: Ticket) -> Option<Envelope<Self::Header, Self::Config>> {
        self.engine().state.operation(ticket)?.envelope
    }

    /// Returns the pattern of a receive that no message has matched; `None` for any other operation.
    fn posted_pattern(&mut self, ticket: Ticket) -> Option<<Self::Header as Header>::Pattern> {
        self.engine().state.posted_pattern(ticket)
    }

    /// Returns whether that peer is lost and every frame that it sent has arrived.
    fn is_lost(&mut self, peer: Peer) -> bool {
        self.engine().state.is_dead(peer)
    }

    /// Ends an unmatched receive with [`Error::PeerLost`]: for a caller that gives up a receive from any source because
    /// that peer is lost.
    fn fail_receive(&mut self, ticket: Ticket, peer: Peer) {
        self.engine().state.fail_receive(ticket, peer);
    }

    /// Returns whether a probe has found a matching message, which its sender keeps, and no receive has matched it
    /// since. A probe with this pattern queries the sender anew: the caller should not report "no message" while
    /// [`PointToPointExt::is_querying`] holds.
    fn has_answer(&mut self, pattern: &<Self::Header as Header>::Pattern) -> bool {
        self.engine().state.has_answer(pattern)
    }

    /// Returns whether a probe's query with this pattern to senders that hold messages, or the reply, is in flight.
    fn is_querying(&mut self, pattern: &<Self::Header as Header>::Pattern) -> bool {
        self.engine().state.is_querying(pattern)
    }

    /// Makes progress, or lets the channel wait for at most `nanoseconds` ns if there is none: for protocols with timers,
    /// as [`PointToPoint::progress_or_wait`].
    ///
    /// # Errors
    /// [`Error::Channel`] when the channel is broken.
    fn progress_or_wait_timeout(&mut self, idle: &mut u32, nanoseconds: u64) -> Result<(), Error> {
        let mut engine = self.engine();
        let moved = engine.progress()?;
        let deadline = Some(engine.after(nanoseconds));
        engine.pause(moved, idle, deadline)
    }

    /// Returns the channel below. Sending on it directly breaks the kernel's order.
    fn channel_below(&mut self) -> &mut Self::Channel {
        self.engine().channel
    }
}

impl<T: PointToPoint> PointToPointExt for T {}
