//! The effect of user calls on the queues: send, receive, cancel, release.

use super::operation::{OpState, Owner};
use super::port_mux::PortTx;
use super::state::{ANY, State};
use crate::aspect::{Capacity, Cell, Counter, Counters, Maybe, Transfer};
use crate::config::{Config, Sizes};
use crate::envelope::Envelope;
use crate::error::Error;
use crate::header::{Header, Pattern, Peer};
use crate::matching::{Expected, Matcher, Posted, Sequence, Unexpected};
use crate::memory::{BufferAccess, Ticket};

/// The mode of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Depending on the size: short messages eagerly, long ones by rendezvous if the composition has it.
    #[default]
    Standard,
    /// Completes only after a receive has matched: always by rendezvous.
    Synchronous,
}

impl<H: Header, C: Config> State<H, C> {
    /// Checks a send and opens its operation. It is not in any queue yet: [`State::enqueue_send`] must follow.
    #[inline]
    pub(crate) fn open_send(
        &mut self,
        channel: &impl PortTx,
        to: Peer,
        header: H,
        mode: Mode,
        len: usize,
    ) -> Result<Ticket, Error> {
        let eager = self.eager_limit(channel, to);
        let state = self.peer_state(to).ok_or(Error::NoSuchPeer(to))?;
        if state.send_closed {
            return Err(Error::PeerLost(to));
        }
        if !<C::Transfer as Transfer>::RENDEZVOUS {
            if mode == Mode::Synchronous {
                return Err(Error::FeatureDisabled("rendezvous"));
            }
            if len > eager {
                return Err(Error::TooLong { limit: eager });
            }
            if state.credit == 0 || !state.unsent.is_empty() {
                return Err(Error::NoCredit(to));
            }
        }
        let envelope = Envelope::new(header, len, to, None).ok_or(Error::TooLong {
            limit: u32::MAX as usize,
        })?;
        let announce = mode == Mode::Synchronous || len > eager;
        let ticket = self.open(to, OpState::Unsent { announce }, Some(envelope))?;
        if mode == Mode::Synchronous
            && let Some(operation) = self.operation(ticket)
        {
            operation.owner = Owner::Synchronous;
        }
        self.counters.count(Counter::Sent(len));
        Ok(ticket)
    }

    /// Enqueues an opened send after the earlier ones. The loan is already in the buffer table.
    #[inline]
    pub(crate) fn enqueue_send(&mut self, to: Peer, ticket: Ticket) {
        if let Some(state) = self.peer_states.as_mut().get_mut(to.index()) {
            state.unsent.push(&mut self.operations, ticket.slot());
            if let Some(flow) = state.flow() {
                flow.unsent_since_hold = true;
            }
        }
        self.mark_pending(to);
    }

    /// Opens a receive with room for that many bytes. [`State::match_or_post`] must follow.
    #[inline]
    pub(crate) fn open_receive(
        &mut self,
        pattern: H::Pattern,
        room: usize,
    ) -> Result<Ticket, Error> {
        let source = pattern.source();
        if let Some(peer) = source
            && peer.index() >= self.peer_states.as_ref().len()
        {
            return Err(Error::NoSuchPeer(peer));
        }
        if !<C::Matcher as Matcher>::QUEUES && self.unexpected.find(&pattern).is_none() {
            return Err(Error::FeatureDisabled("matching"));
        }
        self.open(source.unwrap_or(ANY), OpState::Posted { room }, None)
    }

    /// Matches an opened receive with an unexpected message, or puts it into the expected queue. Inlined, except what few
    /// receives need: programs post many that no message has reached.
    #[inline(always)]
    pub(crate) fn match_or_post(
        &mut self,
        pattern: H::Pattern,
        ticket: Ticket,
        buffers: &mut impl BufferAccess,
    ) {
        self.counters.count(Counter::Searched);
        let is_quiet = self.unexpected.len() == 0 && !self.has_queried();
        if is_quiet || !self.match_unexpected(&pattern, ticket, buffers) {
            self.post_expected(pattern, ticket);
        }
    }

    /// Matches a receive with an unexpected message, if there is one.
    #[inline(never)]
    fn match_unexpected(
        &mut self,
        pattern: &H::Pattern,
        ticket: Ticket,
        buffers: &mut impl BufferAccess,
    ) -> bool {
        self.forget(|envelope, _| pattern.matches(envelope.peer(), &envelope.header()));
        let found = self.unexpected.find(pattern);
        if let Some(place) = found {
            self.take(place, ticket, buffers);
        }
        found.is_some()
    }

    #[inline(always)]
    fn post_expected(&mut self, pattern: H::Pattern, ticket: Ticket) {
        let source = pattern.source();
        if let Some(peer) = source
            && self.peer_state(peer).is_some_and(|state| state.dead)
        {
            return self.complete_for(ticket.slot(), Some(pattern), Error::PeerLost(peer));
        }
        self.sequence = Sequence::new(self.sequence.get() + 1);
        let posted = Posted {
            pattern,
            slot: ticket.slot(),
            sequence: self.sequence,
        };
        // The queue has room for every operation, so this happens only if the storage violates its contract.
        if !self.expected.post(posted) {
            return self.complete(ticket.slot(), Err(Error::Full));
        }
        self.counters.count(Counter::Expected(self.expected.len()));
        self.mark_holders(source);
        if let Some(peer) = source {
            self.want_hint(peer);
        }
    }

    /// Matches an unexpected message with a receive.
    fn take(&mut self, place: u32, ticket: Ticket, buffers: &mut impl BufferAccess) {
        let Some(arrived) = self.unexpected.get(place) else {
            return;
        };
        let envelope = arrived.envelope;
        match envelope.announced() {
            Some(sender) => self.match_announced(ticket.slot(), envelope, sender.0),
            None => self.fill(place, ticket, buffers),
        }
        self.unexpected.remove(place);
        self.free_pool(envelope.peer());
    }

    /// Copies a message of the pool into a receive's buffer.
    #[inline]
    pub(crate) fn fill(&mut self, place: u32, ticket: Ticket, buffers: &mut impl BufferAccess) {
        let Some(arrived) = self.unexpected.get(place) else {
            return;
        };
        let envelope = arrived.envelope;
        let swapped = self.swapped(envelope.peer());
        let stored = buffers.fill(ticket, arrived.payload.bytes(), swapped);
        self.deliver(ticket.slot(), envelope, stored);
    }

    /// Requests the cancellation of an operation. Its outcome says which came first.
    pub(crate) fn cancel(&mut self, ticket: Ticket) -> Result<(), Error> {
        let operation = self.operation(ticket).ok_or(Error::UnknownTicket)?;
        let peer = operation.peer;
        if operation.owner == Owner::Detached {
            // The operation is already complete for its user.
            return Ok(());
        }
        match &mut operation.state {
            OpState::Posted { .. } => self.end_unmatched(ticket.slot(), Error::Cancelled),
            OpState::Unsent { .. } => self.withdraw(peer, ticket.slot()),
            OpState::Offered { cancel, .. } => {
                *cancel = true;
                if let Some(flow) = self.flow(peer) {
                    flow.recall = true;
                }
                self.mark_pending(peer);
            }
            OpState::StreamingEarly { to, cancel, .. } => {
                *cancel = true;
                if operation.owner == Owner::Nobody {
                    operation.state = OpState::AbortingEarly { to: *to };
                    self.mark_pending(peer);
                }
            }
            OpState::RtsSent => {
                operation.state = OpState::Cancelling { asked: false };
                self.activate(peer, ticket.slot());
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns whether a send can go on without its user's memory, which holds for a short one that no receive has
    /// matched.
    pub(crate) fn may_detach(&mut self, ticket: Ticket) -> bool {
        self.operation(ticket).is_some_and(|operation| {
            let len = operation.envelope.as_ref().map_or(0, Envelope::len);
            operation.owner == Owner::User
                && len <= <C::Sizes as Sizes>::Cell::N
                && matches!(
                    operation.state,
                    OpState::Unsent { .. }
                        | OpState::Offered { cancel: false, .. }
                        | OpState::RtsSent
                )
        })
    }

    /// Returns whether copies of messages to that peer have not left.
    pub(crate) fn has_unsent_copies(&self, to: Peer) -> bool {
        let state = self.peer_states.as_ref().get(to.index());
        let copies = state.and_then(|state| state.copies.get());
        copies.is_some_and(|copies| *copies > 0)
    }

    /// Makes the kernel send its own copy from now on.
    pub(crate) fn give_copy(&mut self, ticket: Ticket, owner: Owner) {
        let Some(operation) = self.operation(ticket) else {
            return;
        };
        operation.owner = owner;
        let to = operation.peer;
        if let Some(copies) = self.peer_state(to).and_then(|state| state.copies.get_mut()) {
            *copies += 1;
        }
    }

    /// Returns whether this is a cancelled send to this peer itself that waits for the reply.
    pub(crate) fn is_revoked_here(&mut self, ticket: Ticket) -> bool {
        let own = self.me;
        self.operation(ticket).is_some_and(|operation| {
            let revoked = matches!(
                operation.state,
                OpState::Cancelling { .. }
                    | OpState::Offered { cancel: true, .. }
                    | OpState::StreamingEarly { cancel: true, .. }
            );
            revoked && operation.peer == own
        })
    }

    /// Cancels the operation as far as that is still possible, as its loan is about to end, and frees it as soon as the
    /// peer cannot name it any more.
    pub(crate) fn release(&mut self, ticket: Ticket) {
        let Some(operation) = self.operation(ticket) else {
            return;
        };
        operation.owner = match operation.owner {
            Owner::Detached => Owner::Kernel,
            _ => Owner::Nobody,
        };
        if let OpState::Done(outcome) = operation.state {
            self.complete(ticket.slot(), outcome);
        } else if operation.owner == Owner::Nobody {
            // Cancelling fails only for an unknown ticket, and this one is known.
            let _ = self.cancel(ticket);
        }
    }
}
