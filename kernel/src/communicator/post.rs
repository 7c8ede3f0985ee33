//! What a user's call does to the queues: send, receive, probe, cancel, release.

use super::lane::Outlet;
use super::operation::{Owner, Step};
use super::state::{ANY, State};
use crate::aspect::{Capacity, Cell, Counters, Maybe, Note, Transfer};
use crate::config::{Config, Sizes};
use crate::envelope::Envelope;
use crate::error::Error;
use crate::header::{Header, Node, Pattern};
use crate::matching::{Expected, Matcher, Posted, Sequence, Unexpected};
use crate::memory::{Bank, Ticket};
use crate::slab::NONE;

/// How a send wants to be carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// By size: short messages at once, long ones by rendezvous when the composition has it.
    #[default]
    Standard,
    /// Complete only after a receive has matched: always by rendezvous.
    Synchronous,
}

impl<H: Header, C: Config> State<H, C> {
    /// Checks a send and opens its operation. It is not in any queue yet: [`State::launch`] comes next.
    #[inline]
    pub(crate) fn open_send(
        &mut self,
        channel: &impl Outlet,
        to: Node,
        header: H,
        mode: Mode,
        len: usize,
    ) -> Result<Ticket, Error> {
        let eager = self.eager_limit(channel, to);
        let peer = self.peer(to).ok_or(Error::NoSuchNode(to))?;
        if peer.deaf {
            return Err(Error::PeerLost(to));
        }
        if !<C::Transfer as Transfer>::RENDEZVOUS {
            if mode == Mode::Synchronous {
                return Err(Error::NotComposed("rendezvous"));
            }
            if len > eager {
                return Err(Error::TooLong { limit: eager });
            }
            if peer.credit == 0 || !peer.held.is_empty() {
                return Err(Error::NoCredit(to));
            }
        }
        let envelope = Envelope::new(header, len, to, None).ok_or(Error::TooLong {
            limit: u32::MAX as usize,
        })?;
        let announce = mode == Mode::Synchronous || len > eager;
        let ticket = self.open(to, Step::Held { announce }, Some(envelope))?;
        if mode == Mode::Synchronous
            && let Some(operation) = self.operation(ticket)
        {
            operation.owner = Owner::Synchronous;
        }
        self.counters.note(Note::Sent(len));
        Ok(ticket)
    }

    /// Puts an opened send in its place in the order. The loan is in the bank by now.
    #[inline]
    pub(crate) fn launch(&mut self, to: Node, ticket: Ticket) {
        if let Some(peer) = self.peers.as_mut().get_mut(to.index()) {
            peer.held.push(&mut self.operations, ticket.slot());
            if let Some(hold) = peer.hold() {
                hold.fresh = true;
            }
        }
        self.wake(to);
    }

    /// Opens a receive with room for that many bytes. [`State::enlist`] comes next.
    #[inline]
    pub(crate) fn open_receive(
        &mut self,
        pattern: H::Pattern,
        room: usize,
    ) -> Result<Ticket, Error> {
        let source = pattern.source();
        if let Some(node) = source
            && node.index() >= self.peers.as_ref().len()
        {
            return Err(Error::NoSuchNode(node));
        }
        if !<C::Matcher as Matcher>::QUEUES && self.unexpected.find(&pattern).is_none() {
            return Err(Error::NotComposed("matching"));
        }
        self.open(
            source.unwrap_or(ANY),
            Step::Posted { place: NONE, room },
            None,
        )
    }

    /// Matches an opened receive with a message that is here, or puts it into the expected queue.
    #[inline]
    pub(crate) fn enlist(&mut self, pattern: H::Pattern, ticket: Ticket, bank: &mut impl Bank) {
        self.forget(|envelope, _| pattern.matches(envelope.node(), &envelope.header()));
        self.counters.note(Note::Searched);
        if self.unexpected.len() > 0
            && let Some(place) = self.unexpected.find(&pattern)
        {
            return self.take(place, ticket, bank);
        }
        let source = pattern.source();
        if let Some(node) = source
            && self.peer(node).is_some_and(|peer| peer.gone)
        {
            return self.complete_for(ticket.slot(), Some(pattern), Error::PeerLost(node));
        }
        self.sequence = Sequence::new(self.sequence.get() + 1);
        let posted = Posted {
            pattern,
            slot: ticket.slot(),
            sequence: self.sequence,
        };
        // The queue has a place for every operation, so this happens only if the storage breaks its promise.
        let Some(at) = self.expected.post(posted) else {
            return self.complete(ticket.slot(), Err(Error::Full));
        };
        if let Some(operation) = self.operations.get_mut(ticket.slot())
            && let Step::Posted { place, .. } = &mut operation.step
        {
            *place = at;
        }
        self.counters.note(Note::Expected(self.expected.len()));
        self.wake_holders(source);
        if let Some(node) = source {
            self.want_hint(node);
        }
    }

    /// Gives an unexpected message to a receive.
    fn take(&mut self, place: u32, ticket: Ticket, bank: &mut impl Bank) {
        let Some(arrived) = self.unexpected.get(place) else {
            return;
        };
        let envelope = arrived.envelope;
        match envelope.announced() {
            Some(sender) => self.match_announced(ticket.slot(), envelope, sender.0),
            None => self.fill(place, ticket, bank),
        }
        self.unexpected.remove(place);
        self.free_place(envelope.node());
    }

    /// Copies a message of the pool into a receive's buffer.
    #[inline]
    pub(crate) fn fill(&mut self, place: u32, ticket: Ticket, bank: &mut impl Bank) {
        let Some(arrived) = self.unexpected.get(place) else {
            return;
        };
        let envelope = arrived.envelope;
        let swapped = self.swapped(envelope.node());
        let stored = bank.fill(ticket, arrived.payload.bytes(), swapped);
        self.deliver(ticket.slot(), envelope, stored);
    }

    /// Asks an operation to end without a message. Its outcome says which came first.
    pub(crate) fn cancel(&mut self, ticket: Ticket) -> Result<(), Error> {
        let operation = self.operation(ticket).ok_or(Error::UnknownTicket)?;
        let peer = operation.peer;
        if operation.owner == Owner::Detached {
            // For its user it is over.
            return Ok(());
        }
        match &mut operation.step {
            Step::Posted { place, .. } => {
                let place = *place;
                self.end_unmatched(ticket.slot(), place, Error::Cancelled);
            }
            Step::Held { .. } => self.withdraw(peer, ticket.slot()),
            Step::Offered { cancel, .. } => {
                *cancel = true;
                if let Some(hold) = self.hold(peer) {
                    hold.recall = true;
                }
                self.wake(peer);
            }
            Step::Ahead { to, cancel, .. } => {
                *cancel = true;
                if operation.owner == Owner::Nobody {
                    operation.step = Step::Quitting { to: *to };
                    self.wake(peer);
                }
            }
            Step::Announced => {
                operation.step = Step::Revoking { asked: false };
                self.activate(peer, ticket.slot());
            }
            _ => {}
        }
        Ok(())
    }

    /// May a send go on without its user's memory? A short one that no receive has matched.
    pub(crate) fn may_detach(&mut self, ticket: Ticket) -> bool {
        self.operation(ticket).is_some_and(|operation| {
            let len = operation.envelope.as_ref().map_or(0, Envelope::len);
            operation.owner == Owner::User
                && len <= <C::Sizes as Sizes>::Cell::N
                && matches!(
                    operation.step,
                    Step::Held { .. } | Step::Offered { cancel: false, .. } | Step::Announced
                )
        })
    }

    /// Are there copies of messages to that node that have not gone?
    pub(crate) fn holds_copies(&self, to: Node) -> bool {
        let peer = self.peers.as_ref().get(to.index());
        let copies = peer.and_then(|peer| peer.copies.get());
        copies.is_some_and(|copies| *copies > 0)
    }

    /// From now on the kernel sends a copy that it has made.
    pub(crate) fn give_copy(&mut self, ticket: Ticket, owner: Owner) {
        let Some(operation) = self.operation(ticket) else {
            return;
        };
        operation.owner = owner;
        let to = operation.peer;
        if let Some(copies) = self.peer(to).and_then(|peer| peer.copies.get_mut()) {
            *copies += 1;
        }
    }

    /// Is it a send to this node itself that waits for its own answer to be taken back?
    pub(crate) fn is_revoked_here(&mut self, ticket: Ticket) -> bool {
        let own = self.node;
        self.operation(ticket).is_some_and(|operation| {
            let revoked = matches!(
                operation.step,
                Step::Revoking { .. }
                    | Step::Offered { cancel: true, .. }
                    | Step::Ahead { cancel: true, .. }
            );
            revoked && operation.peer == own
        })
    }

    /// Its loan is about to end: takes the operation back as far as that is still possible, and frees it as soon as
    /// the peer cannot name it any more.
    pub(crate) fn release(&mut self, ticket: Ticket) {
        let Some(operation) = self.operation(ticket) else {
            return;
        };
        operation.owner = match operation.owner {
            Owner::Detached => Owner::Kernel,
            _ => Owner::Nobody,
        };
        if let Step::Done(outcome) = operation.step {
            self.complete(ticket.slot(), outcome);
        } else if operation.owner == Owner::Nobody {
            // Only an unknown ticket is refused, and this one is known.
            let _ = self.cancel(ticket);
        }
    }
}
