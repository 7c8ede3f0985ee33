//! What a port remembers: operations, the four queues, one record per peer. No channel and no loans in here.
//!
//! | the paper's queue | here |
//! | --- | --- |
//! | expected | [`State::expected`]: posted receives |
//! | unexpected | [`State::unexpected`]: messages and announces that nobody asked for |
//! | requested | [`Hold::active`]: sends that the peer has asked for (and other operations with a frame due) |
//! | unrequested | [`Peer::held`]: sends that wait for credit or room, in order; announced ones wait in their slots |

use super::operation::{Operation, Owner, Step};
use super::peer::{Hold, Peer};
use super::questions::Probes;
use crate::aspect::{
    Buffering, Capacity, Counters, Maybe, Note, Observer, Representation, Slice, Storage, Transfer,
};
use crate::config::{Config, Sizes};
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::Handle;
use crate::header::{Header, Node, Pattern};
use crate::matching::{Expected, Matcher, Sequence, SequenceOf, Unexpected};
use crate::memory::Ticket;
use crate::slab::{Entry, Queue, Slab};

pub(crate) type OperationsOf<H, C> = <<C as Config>::Storage as Storage>::Slice<
    Entry<Operation<H, C>>,
    <<C as Config>::Sizes as Sizes>::Operations,
>;
pub(crate) type PeersOf<H, C> =
    <<C as Config>::Storage as Storage>::Slice<Peer<H, C>, <<C as Config>::Sizes as Sizes>::Nodes>;

/// The peer of a receive that any node may match. No channel has a node of that number.
pub(crate) const ANY: Node = Node(u16::MAX);

/// Everything that one header's traffic needs.
pub(crate) struct State<H: Header, C: Config> {
    pub(crate) operations: Slab<Operation<H, C>, OperationsOf<H, C>>,
    pub(crate) expected: <C::Matcher as Matcher>::Expected<H, C>,
    pub(crate) unexpected: <C::Matcher as Matcher>::Unexpected<H, C>,
    pub(crate) peers: PeersOf<H, C>,
    pub(crate) probes: <C::Transfer as Transfer>::Held<Probes<H, C>>,
    /// Sends of the kernel's own that are over: their copies can go.
    pub(crate) ended: <C::Buffering as Buffering>::Held<Queue>,
    pub(crate) node: Node,
    /// Places in every peer's pool that belong to us, and in ours to every peer.
    pub(crate) credit: u32,
    /// Longest payload sent without an announce, before the channel's own limit.
    pub(crate) eager: usize,
    pub(crate) generation: u32,
    /// The last receive that was put into the expected queue.
    pub(crate) sequence: SequenceOf<C>,
    /// Some peer may have a frame due.
    pub(crate) due: bool,
    /// Frames that no rule of the protocol explains: dropped and counted.
    pub(crate) rejected: u64,
    pub(crate) counters: <C::Observer as Observer>::Counters,
}

impl<H: Header, C: Config> State<H, C> {
    /// For `nodes` nodes, of which we are `node`.
    pub(crate) fn new(node: Node, nodes: usize) -> Result<Self, Error> {
        let bound = <C::Sizes as Sizes>::Nodes::N;
        if nodes > bound {
            return Err(Error::TooManyNodes { nodes, bound });
        }
        let pool = <C::Sizes as Sizes>::Pool::N;
        if pool < nodes {
            return Err(Error::PoolTooSmall { nodes, pool });
        }
        let credit = u32::try_from(pool / nodes.max(1)).unwrap_or(u32::MAX);
        let mut peers = PeersOf::<H, C>::new();
        for _ in 0..nodes {
            if peers.push(Peer::new(credit)).is_err() {
                return Err(Error::TooManyNodes { nodes, bound });
            }
        }
        let cell = <C::Sizes as Sizes>::Cell::N;
        Ok(State {
            operations: Slab::new(),
            expected: Expected::new(),
            unexpected: Unexpected::new(),
            peers,
            probes: Maybe::new(Probes::new),
            ended: Maybe::new(Queue::new),
            node,
            credit,
            eager: cell.min(<C::Transfer as Transfer>::THRESHOLD),
            generation: 0,
            sequence: Sequence::new(0),
            due: false,
            rejected: 0,
            counters: Counters::new(),
        })
    }

    /// Before anything was sent: how many places every node has in every pool.
    pub(crate) fn set_credit(&mut self, credit: u32) {
        self.credit = credit;
        for peer in self.peers.as_mut() {
            peer.credit = credit;
        }
    }

    #[inline]
    pub(crate) fn peer(&mut self, node: Node) -> Option<&mut Peer<H, C>> {
        self.peers.as_mut().get_mut(node.index())
    }

    /// The hold state of a peer, when the composition has it.
    pub(crate) fn hold(&mut self, node: Node) -> Option<&mut Hold<H>> {
        self.peers.as_mut().get_mut(node.index())?.hold()
    }

    /// Notes that a frame may be due to that node.
    #[inline]
    pub(crate) fn wake(&mut self, node: Node) {
        if let Some(peer) = self.peer(node) {
            peer.due = true;
            self.due = true;
        }
    }

    /// A posted receive or a probe of `source` may have to be pulled.
    #[inline]
    pub(crate) fn wake_holders(&mut self, source: Option<Node>) {
        if self.probes.get().is_some_and(|probes| probes.holders > 0) {
            self.wake_all_holders(source);
        }
    }

    #[cold]
    fn wake_all_holders(&mut self, source: Option<Node>) {
        for (index, peer) in self.peers.as_mut().iter_mut().enumerate() {
            let wanted = source.is_none_or(|node| node.index() == index);
            if wanted && peer.hold.get().is_some_and(|hold| hold.holds) {
                peer.due = true;
                self.due = true;
            }
        }
    }

    /// The operation behind a ticket or a handle.
    #[inline]
    pub(crate) fn operation(&mut self, ticket: Ticket) -> Option<&mut Operation<H, C>> {
        self.operations
            .get_mut(ticket.slot())
            .filter(|operation| operation.generation == ticket.generation())
    }

    /// A new operation.
    #[inline]
    pub(crate) fn open(
        &mut self,
        peer: Node,
        step: Step<C::Length>,
        envelope: Option<Envelope<H, C>>,
    ) -> Result<Ticket, Error> {
        self.generation = self.generation.wrapping_add(1).max(1);
        let generation = self.generation;
        let operation = Operation {
            generation,
            owner: Owner::User,
            in_flight: Maybe::new(|| 0),
            peer,
            step,
            envelope,
        };
        let slot = self.operations.insert(operation).ok_or(Error::Full)?;
        self.counters.note(Note::Operation(self.operations.len()));
        Ok(Ticket::new(slot, generation))
    }

    /// Ends an operation that is in no queue any more.
    #[inline]
    pub(crate) fn complete(&mut self, slot: u32, outcome: Result<usize, Error>) {
        if let Some(operation) = self.operations.get_mut(slot)
            && operation.finish(outcome)
        {
            self.discard(slot);
        }
    }

    /// A receive is over: `stored` bytes are in its buffer.
    #[inline]
    pub(crate) fn deliver(&mut self, slot: u32, envelope: Envelope<H, C>, stored: usize) {
        self.counters.note(Note::Received(stored));
        if let Some(operation) = self.operations.get_mut(slot)
            && operation.deliver(envelope, stored)
        {
            self.operations.remove(slot);
        }
    }

    /// Frees an operation that is over and in no queue, once its copy has gone where it has one.
    #[inline]
    pub(crate) fn discard(&mut self, slot: u32) {
        match self.ended.get_mut() {
            Some(ended) => {
                ended.push(&mut self.operations, slot);
                self.due = true;
            }
            None => drop(self.operations.remove(slot)),
        }
    }

    /// Do the bytes of that peer's values come in another order than this machine's?
    #[inline]
    pub(crate) fn swapped(&self, from: Node) -> bool {
        if !<C::Representation as Representation>::CONVERTS {
            return false;
        }
        let external = if <C::Representation as Representation>::CANONICAL {
            true
        } else {
            let peer = self.peers.as_ref().get(from.index());
            peer.is_some_and(|peer| peer.big_endian)
        };
        external != <C::Representation as Representation>::BIG_ENDIAN
    }

    /// Puts an operation at the end of a peer's active queue.
    pub(crate) fn activate(&mut self, node: Node, slot: u32) {
        if let Some(peer) = self.peers.as_mut().get_mut(node.index())
            && let Some(hold) = peer.hold.get_mut()
        {
            hold.active.push(&mut self.operations, slot);
        }
        self.wake(node);
    }

    /// Takes an operation out of a peer's active queue.
    pub(crate) fn deactivate(&mut self, node: Node, slot: u32) {
        if let Some(peer) = self.peers.as_mut().get_mut(node.index())
            && let Some(hold) = peer.hold.get_mut()
        {
            hold.active.unlink(&mut self.operations, slot);
        }
    }

    /// A message of `from` takes a place in the pool. False when the sender had no credit for it.
    pub(crate) fn take_place(&mut self, from: Node) -> bool {
        let credit = self.credit;
        let Some(peer) = self.peers.as_mut().get_mut(from.index()) else {
            return false;
        };
        if peer.kept >= credit {
            return false;
        }
        peer.kept += 1;
        if peer.owes_credit(credit) {
            peer.due = true;
            self.due = true;
        }
        true
    }

    /// A message of `from` that took a place has left the pool.
    #[inline]
    pub(crate) fn free_place(&mut self, from: Node) {
        if let Some(peer) = self.peer(from) {
            peer.kept = peer.kept.saturating_sub(1);
        }
        self.owe_place(from);
    }

    /// A place that a message of `from` had credit for is free again.
    #[inline(always)]
    pub(crate) fn owe_place(&mut self, from: Node) {
        let credit = self.credit;
        if let Some(peer) = self.peers.as_mut().get_mut(from.index()) {
            peer.owed += 1;
            if peer.owes_credit(credit) {
                peer.due = true;
                self.due = true;
            }
        }
    }

    /// What a receive wants that nothing has matched yet.
    #[cold]
    pub(crate) fn wanted(&mut self, ticket: Ticket) -> Option<H::Pattern> {
        match self.operation(ticket)?.step {
            Step::Posted { place, .. } => self.expected.wanted(place),
            _ => None,
        }
    }

    /// Ends such a receive as if only that node could have sent what it wants.
    #[cold]
    pub(crate) fn give_up(&mut self, ticket: Ticket, node: Node) {
        if let Some(operation) = self.operation(ticket)
            && let Step::Posted { place, .. } = operation.step
        {
            self.end_unmatched(ticket.slot(), place, Error::PeerLost(node));
        }
    }

    /// Ends a posted receive without a message.
    #[inline]
    pub(crate) fn end_unmatched(&mut self, slot: u32, place: u32, error: Error) {
        let wanted = self.expected.wanted(place);
        self.expected.remove(place);
        self.complete_for(slot, wanted, error);
    }

    /// The same of one that is in no queue.
    #[inline]
    pub(crate) fn complete_for(&mut self, slot: u32, wanted: Option<H::Pattern>, error: Error) {
        if let Some(header) = wanted.and_then(|wanted| wanted.stand_in())
            && let Some(operation) = self.operations.get_mut(slot)
        {
            operation.envelope = Envelope::new(header, 0, operation.peer, None);
        }
        self.complete(slot, Err(error));
    }
}

impl Ticket {
    pub(crate) fn handle(self) -> Handle {
        Handle {
            slot: self.slot().into(),
            generation: self.generation().into(),
        }
    }
}

impl Handle {
    pub(crate) fn ticket(self) -> Ticket {
        Ticket::new(self.slot.get(), self.generation.get())
    }
}
