//! Calls that a protocol library such as MPI needs beside those of [`PointToPoint`].

use super::buffer_table::BufferLending;
use super::completed::Peeked;
use super::engine::Engine;
use super::operation::{OpState, Owner};
use super::point_to_point::PointToPoint;
use crate::aspect::Buffering;
use crate::composition::Config;
use crate::envelope::Envelope;
use crate::error::{Error, Refused};
use crate::header::{Header, Peer};
use crate::memory::{BufferAccess, Loan, Memory, Source, Ticket};

/// What a protocol library does with a [`Communicator`](crate::Communicator), a [`PortView`](crate::PortView) or a
/// [`Scope`](crate::Scope) that programs have no use for.
pub trait PointToPointExt: PointToPoint {
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
        self.engine().try_inject(to, header, message)
    }

    /// [`PointToPoint::irecv`] as a part of its caller, for who posts many.
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

    /// Are there copies of messages to that peer that have not gone? Then a copy of the next one
    /// ([`PointToPoint::send_buffered`]) costs its sender less than to wait once more.
    fn has_unsent_copies(&mut self, to: Peer) -> bool {
        <<Self::Config as Config>::Buffering as Buffering>::ON
            && self.engine().state.has_unsent_copies(to)
    }

    /// Copies a short send that waits for a receive, or for credit: it is over for its user, whose memory may be used
    /// again, and the kernel sends the copy. False, and nothing has changed, for all else: what has left, a
    /// [synchronous](crate::Mode::Synchronous) send, one that is longer than a cell, and compositions without
    /// buffering.
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
    /// Memory that is [fixed](crate::Part::fixed) may still be read by a peer that was offered it: its lender sees to
    /// that.
    fn release(&mut self, ticket: Ticket) -> Option<Loan<Self::Memory>> {
        let mut engine = self.engine();
        let loan = engine.buffers.give_back(ticket)?;
        engine.state.release(ticket);
        engine.flush_lazily();
        Some(loan)
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

    /// The header of an operation's message, where one is known.
    fn header(&mut self, ticket: Ticket) -> Option<Self::Header> {
        let Engine { state, .. } = self.engine();
        let envelope = state.operation(ticket)?.envelope.as_ref();
        envelope.map(Envelope::header)
    }

    /// What a receive wants that nothing has matched yet; `None` of everything else.
    fn posted_pattern(&mut self, ticket: Ticket) -> Option<<Self::Header as Header>::Pattern> {
        self.engine().state.posted_pattern(ticket)
    }

    /// Ends such a receive with [`Error::PeerLost`]: for a caller to whom one from anybody is not worth waiting for,
    /// as that peer has gone.
    fn fail_receive(&mut self, ticket: Ticket, peer: Peer) {
        self.engine().state.fail_receive(ticket, peer);
    }

    /// Has a probe found such a message, which its sender keeps, and no receive has matched it since? A probe with this
    /// pattern asks the sender anew: it should not say no while [`PointToPointExt::is_querying`].
    fn has_answer(&mut self, pattern: &<Self::Header as Header>::Pattern) -> bool {
        self.engine().state.has_answer(pattern)
    }

    /// Is the question of a probe with this pattern on its way to senders that keep messages, or its answer?
    fn is_querying(&mut self, pattern: &<Self::Header as Header>::Pattern) -> bool {
        self.engine().state.is_querying(pattern)
    }
}

impl<T: PointToPoint> PointToPointExt for T {}
