//! Messages that a sender keeps back for want of credit, and how a receiver pulls them by pattern.
//!
//! A sender without credit keeps its messages in order and says so once (Hold). A receiver asks holders for the
//! first match of each posted receive, in post order, one question per peer at a time (Pull). The sender offers the
//! message and lets nothing behind it pass until the receiver has requested or declined it. The receiver takes an
//! offer only for the receive that it asked for, and only if no earlier receive matches: so pairs are the same as if
//! every message had arrived. A matched probe keeps an offer open until it takes the message (Claim) or lets go of it;
//! a receive that matches that message makes it let go. After "none" a sender says Hold again when another message comes, and the receiver
//! asks again from its first receive. Nothing here grows with the number of messages.

use super::operation::{Owner, Step};
use super::peer::Pulling;
use super::state::State;
use crate::aspect::Maybe;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::Handle;
use crate::header::{Header, Node, Pattern};
use crate::matching::{Expected, Posted, Sequence};
use crate::memory::Ticket;
use crate::slab::NONE;

/// The question that is due to a peer.
pub(crate) enum Question<P> {
    Receive(Handle, P, u64),
    Probe(Handle, P, u32),
}

impl<H: Header, C: Config> State<H, C> {
    /// The peer says that it holds messages, or that it no longer does.
    pub(crate) fn set_holding(&mut self, node: Node, holds: bool) {
        if !holds {
            self.forget(|envelope, kept| envelope.node() == node && !kept);
        }
        let Some(hold) = self.hold(node) else {
            return;
        };
        let before = core::mem::replace(&mut hold.holds, holds);
        hold.pulled = 0;
        if let Some(probes) = self.probes.get_mut() {
            probes.holders = probes.holders + usize::from(holds) - usize::from(before);
        }
        self.wake(node);
    }

    /// Which question, if any, is due to that peer.
    pub(crate) fn question(&self, node: Node) -> Option<Question<H::Pattern>> {
        let hold = self.peers.as_ref().get(node.index())?.hold.get()?;
        if hold.pulling != Pulling::No || !hold.holds {
            return None;
        }
        if let Some(Posted {
            pattern,
            slot,
            sequence,
        }) = self.expected.following(hold.pulled, node)
        {
            let generation = self.operations.get(slot)?.generation;
            return Some(Question::Receive(
                Ticket::new(slot, generation).handle(),
                pattern,
                sequence.get(),
            ));
        }
        let (generation, pattern) = self.probes.get()?.after(hold.probed, node)?;
        let handle = Ticket::new(NONE, generation).handle();
        Some(Question::Probe(handle, pattern, generation))
    }

    /// The first held message to that peer that matches.
    pub(crate) fn first_held(&self, to: Node, pattern: &H::Pattern) -> Option<u32> {
        let held = self.peers.as_ref().get(to.index())?.held;
        let mut at = held.first();
        while let Some(slot) = at {
            let envelope = self.operations.get(slot)?.envelope.as_ref()?;
            if pattern.matches(self.node, &envelope.header()) {
                return Some(slot);
            }
            at = held.after(&self.operations, slot);
        }
        None
    }

    /// A peer offers the first match of what `asker` wanted.
    pub(crate) fn offer(&mut self, envelope: Envelope<H, C>, sender: Handle, asker: Ticket) {
        let from = envelope.node();
        let first = self.expected.find(from, &envelope.header());
        let (mut taken, mut kept) = (false, false);
        let mut again = first.is_some();
        match first {
            Some((place, posted)) if posted.slot == asker.slot() => {
                let generation = self.operations.get(posted.slot).map(|op| op.generation);
                if generation == Some(asker.generation()) {
                    self.expected.remove(place);
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
        if let Some(hold) = self.hold(from) {
            hold.pulling = Pulling::No;
            if !taken && !kept {
                hold.decline = Some(sender);
            }
            if again {
                hold.pulled = 0;
            }
        }
        self.wake(from);
    }

    /// A held message was offered to that peer.
    pub(crate) fn offered(&mut self, to: Node, slot: u32) {
        if let Some(operation) = self.operations.get_mut(slot)
            && let Step::Held { announce } = operation.step
        {
            operation.step = Step::Offered {
                announce,
                cancel: false,
                asked: false,
            };
            if let Some(hold) = self.hold(to) {
                hold.offers += 1;
            }
        }
    }

    /// The peer did not take what was offered.
    pub(crate) fn declined(&mut self, from: Node, ticket: Ticket) {
        let Some(operation) = self
            .operation(ticket)
            .filter(|operation| operation.peer == from)
        else {
            return;
        };
        let Step::Offered {
            announce, cancel, ..
        } = operation.step
        else {
            return;
        };
        operation.step = Step::Held { announce };
        let cancel = cancel || operation.owner == Owner::Nobody;
        if let Some(hold) = self.hold(from) {
            hold.offers -= 1;
        }
        if cancel {
            self.withdraw(from, ticket.slot());
        }
        self.wake(from);
    }

    /// A matched probe of the peer has taken what was offered: it is as if it had been announced.
    pub(crate) fn claimed(&mut self, from: Node, ticket: Ticket) -> Option<()> {
        let operation = self
            .operation(ticket)
            .filter(|operation| operation.peer == from)?;
        if !matches!(operation.step, Step::Offered { .. }) {
            return None;
        }
        operation.step = Step::Announced;
        self.unhold(from, ticket.slot());
        self.hold(from)?.offers -= 1;
        Some(())
    }

    /// Offered to that peer, cancelled, and not yet asked back.
    pub(crate) fn recalled(&self, to: Node) -> Option<Ticket> {
        let held = self.peers.as_ref().get(to.index())?.held;
        let mut at = held.first();
        while let Some(slot) = at {
            let operation = self.operations.get(slot)?;
            if let Step::Offered {
                cancel: true,
                asked: false,
                ..
            } = operation.step
            {
                let generation = operation.generation;
                return Some(Ticket::new(slot, generation));
            }
            at = held.after(&self.operations, slot);
        }
        None
    }

    /// A held send is cancelled. A peer that knows of held messages starts from nothing: a probe may know of this one.
    pub(crate) fn withdraw(&mut self, to: Node, slot: u32) {
        if let Some(hold) = self.hold(to) {
            hold.withdrawn = true;
        }
        self.unhold(to, slot);
        self.complete(slot, Err(Error::Cancelled));
    }

    /// Takes a send out of the held queue.
    pub(crate) fn unhold(&mut self, to: Node, slot: u32) {
        if let Some(peer) = self.peers.as_mut().get_mut(to.index()) {
            peer.held.unlink(&mut self.operations, slot);
        }
        self.wake(to);
    }

    /// A send has left the held queue for the channel.
    #[inline]
    pub(super) fn left_held(&mut self, node: Node, slot: u32) {
        if let Some(peer) = self.peers.as_mut().get_mut(node.index()) {
            peer.held.unlink(&mut self.operations, slot);
            peer.credit -= 1;
        }
    }
}
