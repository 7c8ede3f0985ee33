//! What a port remembers: operations, the four queues, one record per peer. No channel and no loans in here.
//!
//! | the paper's queue | here |
//! | --- | --- |
//! | expected | [`State::expected`]: posted receives |
//! | unexpected | [`State::unexpected`]: messages and announces that nobody asked for |
//! | requested | [`Hold::active`]: sends that the peer has asked for (and other operations with a frame due) |
//! | unrequested | [`Peer::held`]: sends that wait for credit or room, in order; announced ones wait in their slots |

use super::hint::Hints;
use super::hold::Hold;
use super::probe::Probes;
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
use crate::slab::{Entry, NONE, Queue, Slab};

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

/// One send or receive.
pub(crate) struct Operation<H: Header, C: Config> {
    pub(crate) generation: u32,
    pub(crate) owner: Owner,
    /// Frames accepted as [`Sent::Later`](crate::Sent::Later) that still need the loan. Without rendezvous there is at
    /// most one, and then the step is [`Step::Leaving`].
    pub(crate) in_flight: <C::Transfer as Transfer>::Held<u32>,
    /// Where it is headed; for receives, where the matched message came from.
    pub(crate) peer: Node,
    pub(crate) step: Step<C::Length>,
    pub(crate) envelope: Option<Envelope<H, C>>,
}

/// Who waits for the end of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user, who will claim it.
    User,
    /// The same, of a send that is not over before a receive has matched.
    Synchronous,
    /// The user, who will claim it; for him it is over, as the kernel sends a copy.
    Detached,
    /// The user, who has no buffer for it yet: a message taken by a matched probe.
    Probe,
    /// Nobody, for the kernel sends its own copy.
    Kernel,
    /// Nobody, and its loan is dead: it is freed as soon as the peer cannot name it any more.
    Nobody,
}

/// Where an operation stands. Lengths are as wide as in frames, so that rendezvous makes it no longer.
#[derive(Clone, Copy)]
pub(crate) enum Step<N> {
    /// Send: in [`Peer::held`]. `announce`: by rendezvous, whatever its size.
    Held { announce: bool },
    /// Send: in [`Peer::held`] and offered to a pull; waits for request, decline or claim. `cancel`: give up on
    /// decline; `asked`: the peer knows that, if it keeps the offer.
    Offered {
        announce: bool,
        cancel: bool,
        asked: bool,
    },
    /// Send: announced, waits to be asked for.
    Announced,
    /// Send: announced, and the peer is (`asked`) or will be asked to forget it.
    Revoking { asked: bool },
    /// Send: requested; in [`Hold::active`] until all `want` bytes have left.
    Requested { to: Handle, want: N, next: N },
    /// Send: announced, and in [`Hold::active`] until all `want` bytes have left for a receive that a hint named.
    /// `cancel`: then ask the peer to forget it.
    Ahead {
        to: Handle,
        want: N,
        next: N,
        cancel: bool,
    },
    /// Send: its loan died before that; in [`Hold::active`] until the peer is told.
    Quitting { to: Handle },
    /// Send: all bytes have left, some still need the loan. `again`: the request, for it may be put once more.
    Leaving { again: Option<(Handle, N)> },
    /// Send: requested after its loan died; in [`Hold::active`] until the peer is told.
    Aborting { to: Handle },
    /// Receive: matched by a probe. The payload is set aside at `place`, or still with the sender ([`NONE`]).
    Matched { place: u32 },
    /// Receive: in the expected queue at `place`.
    Posted { place: u32, room: usize },
    /// Receive: matched with an announce; in [`Hold::active`] until the request has left.
    Requesting { sender: Handle, room: usize },
    /// Receive: data is coming.
    Receiving { want: N, got: N },
    /// Over; waits to be claimed.
    Done(Result<usize, Error>),
}

/// What is known about one node.
pub(crate) struct Peer<H: Header, C: Config> {
    /// Places in its pool that we may still take.
    pub(crate) credit: u32,
    /// Places in our pool that are free again and that it has not been told of.
    pub(crate) owed: u32,
    /// Sends in order that have not left.
    pub(crate) held: Queue,
    pub(crate) hold: <C::Transfer as Transfer>::Held<Hold<H>>,
    pub(crate) hints: <C::Transfer as Transfer>::Hinted<Hints<H>>,
    pub(crate) due: bool,
    /// Copies of messages to it that have not gone.
    pub(crate) copies: <C::Buffering as Buffering>::Held<u32>,
    /// Places in our pool that it takes.
    pub(crate) kept: u32,
    /// Its values have their most significant byte first. Only heterogeneous compositions look at it.
    pub(crate) big_endian: bool,
    /// It takes no frames any more; what it has sent may still be on the way.
    pub(crate) deaf: bool,
    /// It is gone, and everything that it has sent was here.
    pub(crate) gone: bool,
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

    /// Notes that a frame may be due to that node.
    #[inline]
    pub(crate) fn wake(&mut self, node: Node) {
        if let Some(peer) = self.peer(node) {
            peer.due = true;
            self.due = true;
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

    /// The peer takes no frames any more: whatever still needed one ends. Receives wait for what it has sent before.
    #[cold]
    pub(crate) fn lose_sends(&mut self, node: Node) {
        self.set_holding(node, false);
        if let Some(probes) = self.probes.get_mut() {
            probes.lose(node);
        }
        if let Some(peer) = self.peer(node) {
            peer.deaf = true;
            peer.due = false;
            peer.held = Queue::new();
            peer.hold = Maybe::new(Hold::new);
            peer.hints = Maybe::new(Hints::new);
        }
        let announced =
            |envelope: &Envelope<H, C>| envelope.node() == node && envelope.announced().is_some();
        while let Some(place) = self.unexpected.position(announced) {
            self.unexpected.remove(place);
        }
        self.fail(node, false);
    }

    /// The peer is gone and nothing of it is on the way: everything that only it could finish ends.
    #[cold]
    pub(crate) fn lose(&mut self, node: Node) {
        self.lose_sends(node);
        if let Some(peer) = self.peer(node) {
            peer.gone = true;
        }
        self.fail(node, true);
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

    /// Ends what that peer will not finish. Before it is `gone` its last frames may still come, and frames to it that
    /// the channel has taken may still need their loans.
    fn fail(&mut self, node: Node, gone: bool) {
        for slot in 0..self.operations.end() {
            let Some(operation) = self.operations.get_mut(slot) else {
                continue;
            };
            if operation.peer != node {
                continue;
            }
            let waited = operation.is_in_flight();
            if gone {
                operation.in_flight = Maybe::new(|| 0);
            }
            match operation.step {
                Step::Posted { .. } | Step::Receiving { .. } | Step::Leaving { .. } if !gone => {}
                Step::Matched { place } if place != NONE => {}
                Step::Done(outcome) if gone && waited => self.complete(slot, outcome),
                Step::Done(_) => {}
                Step::Posted { place, .. } => {
                    self.end_unmatched(slot, place, Error::PeerLost(node));
                }
                _ => self.complete(slot, Err(Error::PeerLost(node))),
            }
        }
    }
}

impl<H: Header, C: Config> Operation<H, C> {
    /// Does a frame still need the loan, beside the one of [`Step::Leaving`]?
    #[inline]
    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight.get().is_some_and(|frames| *frames > 0)
    }

    /// Is it over for its user? Then he may claim it.
    #[inline(always)]
    pub(crate) fn has_ended(&self) -> bool {
        match self.step {
            Step::Done(_) => !self.is_in_flight() || self.is_detached(),
            _ => self.is_detached(),
        }
    }

    /// Is it over for its user only?
    #[inline(always)]
    pub(crate) fn is_detached(&self) -> bool {
        <C::Buffering as Buffering>::ON && self.owner == Owner::Detached
    }

    /// Ends a receive: `stored` bytes are in its buffer. Is there nobody who will claim it?
    #[inline(always)]
    pub(crate) fn deliver(&mut self, envelope: Envelope<H, C>, stored: usize) -> bool {
        let sent = envelope.len();
        self.peer = envelope.node();
        self.envelope = Some(envelope);
        if sent > stored {
            return self.finish(Err(Error::Truncated { sent, room: stored }));
        }
        self.finish(Ok(stored))
    }

    /// Ends it. Is there nobody who will claim it?
    #[inline]
    pub(crate) fn finish(&mut self, outcome: Result<usize, Error>) -> bool {
        self.step = Step::Done(outcome);
        matches!(self.owner, Owner::Kernel | Owner::Nobody) && !self.is_in_flight()
    }
}

impl<H: Header, C: Config> Peer<H, C> {
    fn new(credit: u32) -> Self {
        Peer {
            credit,
            owed: 0,
            held: Queue::new(),
            hold: Maybe::new(Hold::new),
            hints: Maybe::new(Hints::new),
            due: false,
            copies: Maybe::new(|| 0),
            kept: 0,
            big_endian: false,
            deaf: false,
            gone: false,
        }
    }

    /// Is it time to tell the peer of free places? When half of them are, or when it is known to have none left.
    #[inline]
    pub(crate) fn owes_credit(&self, credit: u32) -> bool {
        self.owed > 0 && (self.owed >= credit.div_ceil(2) || self.owed + self.kept >= credit)
    }

    /// The state of held messages, when the composition has it.
    #[inline]
    pub(crate) fn hold(&mut self) -> Option<&mut Hold<H>> {
        self.hold.get_mut()
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
