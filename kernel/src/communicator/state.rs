//! The state of a port: operations, the four queues, one record per peer. It knows neither channel nor loans.
//!
//! | the paper's queue | here |
//! | --- | --- |
//! | expected | [`State::expected`]: posted receives |
//! | unexpected | [`State::unexpected`]: messages and announcements without a receive |
//! | requested | [`FlowControl::active`]: sends that the peer has asked for (and other operations with a frame due) |
//! | unrequested | [`PeerState::unsent`]: sends that wait in order for credit or room; announced ones wait in their
//! slots |

use super::operation::{OpState, Operation, Owner};
use super::peer_state::{FlowControl, PeerState};
use super::remote_probes::ProbeQueries;
use crate::aspect::{
    Buffering, Capacity, Counter, Counters, Maybe, Observer, Representation, Slice, Storage,
    Transfer,
};
use crate::config::{Config, Sizes};
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::Handle;
use crate::header::{Header, Pattern, Peer};
use crate::matching::{Arrived, Expected, Matcher, Sequence, SequenceOf, Unexpected};
use crate::memory::Ticket;
use crate::slab::{Entry, Queue, Slab};

pub(crate) type OperationsOf<H, C> = <<C as Config>::Storage as Storage>::Slice<
    Entry<Operation<H, C>>,
    <<C as Config>::Sizes as Sizes>::Operations,
>;
pub(crate) type PeerStatesOf<H, C> = <<C as Config>::Storage as Storage>::Slice<
    PeerState<H, C>,
    <<C as Config>::Sizes as Sizes>::Peers,
>;

/// The peer of a receive that any peer may match. No channel has a peer of that number.
pub(crate) const ANY: Peer = Peer(u16::MAX);

/// Returns what a queue's slot takes in a composition, in bytes: the slot of an operation under way, and that of a
/// message without a receive, with its cell where cells stand in the slots.
pub const fn slot_bytes<H: Header, C: Config>() -> [usize; 2] {
    [
        size_of::<Entry<Operation<H, C>>>(),
        size_of::<Arrived<H, C>>(),
    ]
}

/// The state of all traffic with one header type.
pub(crate) struct State<H: Header, C: Config> {
    pub(crate) operations: Slab<Operation<H, C>, OperationsOf<H, C>>,
    pub(crate) expected: <C::Matcher as Matcher>::Expected<H, C>,
    pub(crate) unexpected: <C::Matcher as Matcher>::Unexpected<H, C>,
    pub(crate) peer_states: PeerStatesOf<H, C>,
    pub(crate) probes: <C::Transfer as Transfer>::Held<ProbeQueries<H, C>>,
    /// Detached sends that are complete: their copies can be dropped.
    pub(crate) ended: <C::Buffering as Buffering>::Held<Queue>,
    pub(crate) me: Peer,
    /// Number of slots in every peer's pool that belong to this process, and in its own pool to every peer.
    pub(crate) credit: u32,
    /// The longest payload in bytes that is sent eagerly, before the channel's own limit.
    pub(crate) eager: usize,
    pub(crate) generation: u32,
    /// The sequence number of the last receive in the expected queue.
    pub(crate) sequence: SequenceOf<C>,
    /// A frame may be due to some peer.
    pub(crate) tx_pending: bool,
    /// Number of messages so far that have found no receive, modulo 2^32.
    pub(crate) queued: u32,
    /// Number of frames dropped because they violate the protocol.
    pub(crate) rejected: u64,
    pub(crate) counters: <C::Observer as Observer>::Counters,
}

impl<H: Header, C: Config> State<H, C> {
    /// Creates the state of peer `me` among `peers` peers.
    pub(crate) fn new(me: Peer, peers: usize) -> Result<Self, Error> {
        let bound = <C::Sizes as Sizes>::Peers::N;
        if peers > bound {
            return Err(Error::TooManyPeers { peers, bound });
        }
        let pool = <C::Sizes as Sizes>::Pool::N;
        if pool < peers {
            return Err(Error::PoolTooSmall { peers, pool });
        }
        let credit = u32::try_from(pool / peers.max(1)).unwrap_or(u32::MAX);
        let mut peer_states = PeerStatesOf::<H, C>::new();
        for _ in 0..peers {
            if peer_states.push(PeerState::new(credit)).is_err() {
                return Err(Error::TooManyPeers { peers, bound });
            }
        }
        let cell = <C::Sizes as Sizes>::Cell::N;
        Ok(State {
            operations: Slab::new(),
            expected: Expected::new(),
            unexpected: Unexpected::new(),
            peer_states,
            probes: Maybe::new(ProbeQueries::new),
            ended: Maybe::new(Queue::new),
            me,
            credit,
            eager: cell.min(<C::Transfer as Transfer>::THRESHOLD),
            generation: 0,
            sequence: Sequence::new(0),
            tx_pending: false,
            queued: 0,
            rejected: 0,
            counters: Counters::new(),
        })
    }

    /// Sets the number of slots that every peer has in every pool; valid only before the first send.
    pub(crate) fn set_credit(&mut self, credit: u32) {
        self.credit = credit;
        for state in self.peer_states.as_mut() {
            state.credit = credit;
        }
    }

    #[inline]
    pub(crate) fn peer_state(&mut self, peer: Peer) -> Option<&mut PeerState<H, C>> {
        self.peer_states.as_mut().get_mut(peer.index())
    }

    /// Returns whether that peer is lost and every frame that it sent has arrived.
    pub(crate) fn is_dead(&self, peer: Peer) -> bool {
        let peers = self.peer_states.as_ref();
        peers.get(peer.index()).is_some_and(|state| state.dead)
    }

    /// Returns the flow-control state of a peer, if the composition has it.
    pub(crate) fn flow(&mut self, peer: Peer) -> Option<&mut FlowControl<H>> {
        self.peer_states.as_mut().get_mut(peer.index())?.flow()
    }

    /// Marks that a frame may be due to that peer.
    #[inline]
    pub(crate) fn mark_pending(&mut self, peer: Peer) {
        if let Some(state) = self.peer_state(peer) {
            state.tx_pending = true;
            self.tx_pending = true;
        }
    }

    /// Marks the holders to which a query for a posted receive or a probe of `source` may be due.
    #[inline]
    pub(crate) fn mark_holders(&mut self, source: Option<Peer>) {
        if self.probes.get().is_some_and(|probes| probes.holders > 0) {
            self.mark_all_holders(source);
        }
    }

    #[cold]
    fn mark_all_holders(&mut self, source: Option<Peer>) {
        for (index, state) in self.peer_states.as_mut().iter_mut().enumerate() {
            let wanted = source.is_none_or(|peer| peer.index() == index);
            if wanted && state.flow.get().is_some_and(|flow| flow.peer_holds) {
                state.tx_pending = true;
                self.tx_pending = true;
            }
        }
    }

    /// Returns the operation behind a ticket or a handle.
    #[inline]
    pub(crate) fn operation(&mut self, ticket: Ticket) -> Option<&mut Operation<H, C>> {
        self.operations
            .get_mut(ticket.slot())
            .filter(|operation| operation.generation == ticket.generation())
    }

    /// Opens a new operation.
    #[inline]
    pub(crate) fn open(
        &mut self,
        peer: Peer,
        state: OpState<C::Length>,
        envelope: Option<Envelope<H, C>>,
    ) -> Result<Ticket, Error> {
        self.generation = self.generation.wrapping_add(1).max(1);
        let generation = self.generation;
        let operation = Operation {
            generation,
            owner: Owner::User,
            in_flight: Maybe::new(|| 0),
            peer,
            state,
            envelope,
        };
        let slot = self.operations.insert(operation).ok_or(Error::Full)?;
        self.counters
            .count(Counter::Operation(self.operations.len()));
        Ok(Ticket::new(slot, generation))
    }

    /// Completes an operation that is in no queue any more.
    #[inline]
    pub(crate) fn complete(&mut self, slot: u32, outcome: Result<usize, Error>) {
        if let Some(operation) = self.operations.get_mut(slot)
            && operation.finish(outcome)
        {
            self.discard(slot);
        }
    }

    /// Completes a receive with `stored` bytes in its buffer.
    #[inline]
    pub(crate) fn deliver(&mut self, slot: u32, envelope: Envelope<H, C>, stored: usize) {
        self.counters.count(Counter::Received(stored));
        if let Some(operation) = self.operations.get_mut(slot)
            && operation.deliver(envelope, stored)
        {
            self.operations.remove(slot);
        }
    }

    /// Frees an operation that is complete and in no queue, after its copy, if any, has been dropped.
    #[inline]
    pub(crate) fn discard(&mut self, slot: u32) {
        match self.ended.get_mut() {
            Some(ended) => {
                ended.push(&mut self.operations, slot);
                self.tx_pending = true;
            }
            None => drop(self.operations.remove(slot)),
        }
    }

    /// Returns whether the byte order of that peer's values differs from this machine's.
    #[inline]
    pub(crate) fn swapped(&self, from: Peer) -> bool {
        if !<C::Representation as Representation>::CONVERTS {
            return false;
        }
        let external = if <C::Representation as Representation>::CANONICAL {
            true
        } else {
            let state = self.peer_states.as_ref().get(from.index());
            state.is_some_and(|state| state.big_endian)
        };
        external != <C::Representation as Representation>::BIG_ENDIAN
    }

    /// Puts an operation at the end of a peer's active queue.
    pub(crate) fn activate(&mut self, peer: Peer, slot: u32) {
        if let Some(state) = self.peer_states.as_mut().get_mut(peer.index())
            && let Some(flow) = state.flow.get_mut()
        {
            flow.active.push(&mut self.operations, slot);
        }
        self.mark_pending(peer);
    }

    /// Removes an operation from a peer's active queue.
    pub(crate) fn deactivate(&mut self, peer: Peer, slot: u32) {
        if let Some(state) = self.peer_states.as_mut().get_mut(peer.index())
            && let Some(flow) = state.flow.get_mut()
        {
            flow.active.unlink(&mut self.operations, slot);
        }
    }

    /// Reserves a pool slot for a message of `from`. Returns false if the sender had no credit for it.
    pub(crate) fn reserve_pool(&mut self, from: Peer) -> bool {
        let credit = self.credit;
        let Some(state) = self.peer_states.as_mut().get_mut(from.index()) else {
            return false;
        };
        if state.pool_used >= credit {
            return false;
        }
        state.pool_used += 1;
        if state.must_return_credit(credit) {
            state.tx_pending = true;
            self.tx_pending = true;
        }
        true
    }

    /// Frees the pool slot of a message of `from`.
    #[inline]
    pub(crate) fn free_pool(&mut self, from: Peer) {
        if let Some(state) = self.peer_state(from) {
            state.pool_used = state.pool_used.saturating_sub(1);
        }
        self.return_credit(from);
    }

    /// Records that a slot for which `from` had credit is free again.
    #[inline(always)]
    pub(crate) fn return_credit(&mut self, from: Peer) {
        let credit = self.credit;
        if let Some(state) = self.peer_states.as_mut().get_mut(from.index()) {
            state.credits_to_return += 1;
            if state.must_return_credit(credit) {
                state.tx_pending = true;
                self.tx_pending = true;
            }
        }
    }

    /// Returns the pattern of a receive that no message has matched.
    #[cold]
    pub(crate) fn posted_pattern(&mut self, ticket: Ticket) -> Option<H::Pattern> {
        match self.operation(ticket)?.state {
            OpState::Posted { .. } => self.expected.wanted(ticket.slot()),
            _ => None,
        }
    }

    /// Ends an unmatched receive as if only that peer could have matched it.
    #[cold]
    pub(crate) fn fail_receive(&mut self, ticket: Ticket, peer: Peer) {
        if let Some(operation) = self.operation(ticket)
            && let OpState::Posted { .. } = operation.state
        {
            self.end_unmatched(ticket.slot(), Error::PeerLost(peer));
        }
    }

    /// Ends a posted receive without a message.
    #[inline]
    pub(crate) fn end_unmatched(&mut self, slot: u32, error: Error) {
        let wanted = self.expected.wanted(slot);
        self.expected.remove(slot);
        self.complete_for(slot, wanted, error);
    }

    /// Ends a receive without a message that is in no queue.
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
