//! Messages that a sender holds for want of credit, and the queries by which a receiver pulls them by pattern.
//!
//! A sender without credit keeps its messages in order and sends one Hold notice (`FlowControl`). A receiver queries
//! holders for the first match of each posted receive, in post order, with one query per peer at a time (`MatchQuery`).
//! The sender offers the message and lets no later one overtake it until the receiver has requested or rejected it. The
//! receiver takes an offer only for the receive that it has queried for, and only if no earlier receive matches: so
//! pairs are the same as if every message had arrived. A matched probe keeps an offer open until it takes the message
//! (`Accept`) or rejects it; a receive that matches the message causes the rejection. After the reply "none" a sender
//! sends Hold again when another message is held, and the receiver queries again from its first receive. No state here
//! grows with the number of messages.

use super::operation::{OpState, Owner};
use super::peer_state::QuerySent;
use super::state::State;
use crate::aspect::Maybe;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::Handle;
use crate::header::{Header, Pattern, Peer};
use crate::matching::{Expected, Posted, Sequence};
use crate::memory::Ticket;
use crate::slab::NONE;

/// The query that is due to a peer.
pub(crate) enum MatchQuery<P> {
    Receive(Handle, P, u64),
    Probe(Handle, P, u32),
}

impl<H: Header, C: Config> State<H, C> {
    /// Records whether the peer holds messages.
    pub(crate) fn set_holding(&mut self, peer: Peer, holds: bool) {
        if !holds {
            self.forget(|envelope, kept| envelope.peer() == peer && !kept);
        }
        let Some(flow) = self.flow(peer) else {
            return;
        };
        let before = core::mem::replace(&mut flow.peer_holds, holds);
        flow.queried = 0;
        if let Some(probes) = self.probes.get_mut() {
            probes.holders = probes.holders + usize::from(holds) - usize::from(before);
        }
        self.mark_pending(peer);
    }

    /// Returns the query that is due to that peer, if any.
    pub(crate) fn due_query(&self, peer: Peer) -> Option<MatchQuery<H::Pattern>> {
        let flow = self.peer_states.as_ref().get(peer.index())?.flow.get()?;
        if flow.query_sent != QuerySent::No || !flow.peer_holds {
            return None;
        }
        if let Some(Posted {
            pattern,
            slot,
            sequence,
        }) = self.expected.following(flow.queried, peer)
        {
            let generation = self.operations.get(slot)?.generation;
            return Some(MatchQuery::Receive(
                Ticket::new(slot, generation).handle(),
                pattern,
                sequence.get(),
            ));
        }
        let (generation, pattern) = self.probes.get()?.after(flow.probed, peer)?;
        let handle = Ticket::new(NONE, generation).handle();
        Some(MatchQuery::Probe(handle, pattern, generation))
    }

    /// Returns the first unsent message to that peer that matches.
    pub(crate) fn first_unsent(&self, to: Peer, pattern: &H::Pattern) -> Option<u32> {
        let held = self.peer_states.as_ref().get(to.index())?.unsent;
        let mut at = held.first();
        while let Some(slot) = at {
            let envelope = self.operations.get(slot)?.envelope.as_ref()?;
            if pattern.matches(self.me, &envelope.header()) {
                return Some(slot);
            }
            at = held.after(&self.operations, slot);
        }
        None
    }

    /// Handles a peer's offer of the first match of the query of `asker`.
    pub(crate) fn offer(&mut self, envelope: Envelope<H, C>, sender: Handle, asker: Ticket) {
        let from = envelope.peer();
        let first = self.expected.find(from, &envelope.header());
        let (mut taken, mut kept) = (false, false);
        let mut again = first.is_some();
        match first {
            Some(posted) if posted.slot == asker.slot() => {
                let generation = self.operations.get(posted.slot).map(|op| op.generation);
                if generation == Some(asker.generation()) {
                    self.expected.remove(posted.slot);
                    self.match_announced(posted.slot, envelope, sender);
                    taken = true;
                    again = false;
                }
            }
            None if asker.slot() == NONE => {
                let probes = self.probes.get_mut();
                kept = probes.is_some_and(|probes| probes.answer(asker.generation(), envelope));
            }
            _ => {}
        }
        if let Some(flow) = self.flow(from) {
            flow.query_sent = QuerySent::No;
            if !taken && !kept {
                flow.reject = Some(sender);
            }
            if again {
                flow.queried = 0;
            }
        }
        self.mark_pending(from);
    }

    /// Records that a held message has been offered to that peer.
    pub(crate) fn replied(&mut self, to: Peer, slot: u32) {
        if let Some(operation) = self.operations.get_mut(slot)
            && let OpState::Unsent { announce } = operation.state
        {
            operation.state = OpState::Offered {
                announce,
                cancel: false,
                asked: false,
            };
            if let Some(flow) = self.flow(to) {
                flow.open_replies += 1;
            }
        }
    }

    /// Handles the rejection of an offered message.
    pub(crate) fn rejected_reply(&mut self, from: Peer, ticket: Ticket) {
        let Some(operation) = self
            .operation(ticket)
            .filter(|operation| operation.peer == from)
        else {
            return;
        };
        let OpState::Offered {
            announce, cancel, ..
        } = operation.state
        else {
            return;
        };
        operation.state = OpState::Unsent { announce };
        let cancel = cancel || operation.owner == Owner::Nobody;
        if let Some(flow) = self.flow(from) {
            flow.open_replies -= 1;
        }
        if cancel {
            self.withdraw(from, ticket.slot());
        }
        self.mark_pending(from);
    }

    /// Handles the acceptance of an offered message by a matched probe of the peer: from now on it counts as announced.
    pub(crate) fn accepted(&mut self, from: Peer, ticket: Ticket) -> Option<()> {
        let operation = self
            .operation(ticket)
            .filter(|operation| operation.peer == from)?;
        if !matches!(operation.state, OpState::Offered { .. }) {
            return None;
        }
        operation.state = OpState::RtsSent;
        self.remove_unsent(from, ticket.slot());
        self.flow(from)?.open_replies -= 1;
        Some(())
    }

    /// Returns a cancelled send that has been offered to that peer and whose offer has not been recalled.
    pub(crate) fn to_recall(&self, to: Peer) -> Option<Ticket> {
        let held = self.peer_states.as_ref().get(to.index())?.unsent;
        let mut at = held.first();
        while let Some(slot) = at {
            let operation = self.operations.get(slot)?;
            if let OpState::Offered {
                cancel: true,
                asked: false,
                ..
            } = operation.state
            {
                let generation = operation.generation;
                return Some(Ticket::new(slot, generation));
            }
            at = held.after(&self.operations, slot);
        }
        None
    }

    /// Removes a held send that was cancelled. A peer that knows of held messages must query from the start, as one of
    /// its probes may know of this one.
    pub(crate) fn withdraw(&mut self, to: Peer, slot: u32) {
        if let Some(flow) = self.flow(to) {
            flow.withdrawn_since_hold = true;
        }
        self.remove_unsent(to, slot);
        self.complete(slot, Err(Error::Cancelled));
    }

    /// Removes a send from the unsent queue.
    pub(crate) fn remove_unsent(&mut self, to: Peer, slot: u32) {
        if let Some(state) = self.peer_states.as_mut().get_mut(to.index()) {
            state.unsent.unlink(&mut self.operations, slot);
        }
        self.mark_pending(to);
    }

    /// Records that a send has left the unsent queue for the channel.
    #[inline]
    pub(super) fn sent_from_queue(&mut self, peer: Peer, slot: u32) {
        if let Some(state) = self.peer_states.as_mut().get_mut(peer.index()) {
            state.unsent.unlink(&mut self.operations, slot);
            state.credit -= 1;
        }
    }
}
