//! The effects of calls and arrivals on the twin's tables.

use super::loans::BufferAccess;
use super::table::{List, Queue, Table};
use crate::protocol::{CELL, OPERATIONS, PEERS, POOL, Tagged, Wanted};
use heapless::Vec;
use pombo_kernel::{Arrival, Cookie, Error, Pattern, Peer, Ticket};
use zerocopy::FromBytes;
use zerocopy::little_endian::{U16, U32};

/// The peer of a receive that any peer may match.
pub(crate) const ANY: Peer = Peer(u16::MAX);

/// Kinds of frames: a whole message, and credit alone.
pub(crate) const EAGER: u8 = 1;
pub(crate) const CREDIT: u8 = 6;
/// Bytes of a frame's kind and returned cells, with which every frame begins.
const LEAD: usize = 2;
/// Bytes in front of a payload.
pub(crate) const HEAD: usize = LEAD + size_of::<Tagged>();

/// Header, length and peer of a message.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Envelope {
    pub(crate) header: Tagged,
    pub(crate) len: U32,
    pub(crate) peer: U16,
}

impl Envelope {
    #[inline]
    fn new(header: Tagged, len: usize, peer: Peer) -> Option<Self> {
        Some(Envelope {
            header,
            len: U32::new(u32::try_from(len).ok()?),
            peer: U16::new(peer.0),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.len.get() as usize
    }

    pub(crate) fn peer(&self) -> Peer {
        Peer(self.peer.get())
    }
}

/// Returns slot and generation.
#[inline]
pub(crate) fn parts(ticket: Ticket) -> (u32, u32) {
    let bits = ticket.to_bits();
    (bits as u32, (bits >> 32) as u32)
}

#[inline]
pub(crate) fn ticket(slot: u32, generation: u32) -> Ticket {
    Ticket::from_bits(u64::from(generation) << 32 | u64::from(slot))
}

pub(crate) struct State {
    pub(crate) operations: Table<Operation, OPERATIONS>,
    pub(crate) expected: List<Posted, OPERATIONS>,
    pub(crate) unexpected: List<Arrived, POOL>,
    pub(crate) peer_states: Vec<PeerState, PEERS>,
    pub(crate) credit: u32,
    eager: usize,
    generation: u32,
    pub(crate) due: bool,
    pub(crate) rejected: u64,
}

pub(crate) struct Operation {
    pub(crate) generation: u32,
    pub(crate) owner: Owner,
    pub(crate) peer: Peer,
    pub(crate) step: Step,
    pub(crate) envelope: Option<Envelope>,
}

/// The owner of an operation, which waits for its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    User,
    /// No owner: its scope has ended.
    Nobody,
    /// The user, who has not given a buffer yet.
    Probe,
}

#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// Send: in [`PeerState::held`].
    Held,
    /// Send: sent, but the channel still needs its memory.
    Leaving,
    /// Receive: a probe took its message, which is set aside.
    Matched { place: u32 },
    /// Receive: in the expected queue.
    Posted { place: u32 },
    /// Complete.
    Done(Result<usize, Error>),
}

/// A receive that waits.
#[derive(Clone, Copy)]
pub(crate) struct Posted {
    pattern: Wanted,
    slot: u32,
}

/// A message without a receive.
pub(crate) struct Arrived {
    pub(crate) envelope: Envelope,
    payload: Vec<u8, CELL>,
}

impl Arrived {
    #[inline]
    pub(crate) fn matches(&self, pattern: &Wanted) -> bool {
        pattern.matches(self.envelope.peer(), &self.envelope.header)
    }
}

pub(crate) struct PeerState {
    /// Cells in the peer's pool that we may use.
    pub(crate) credit: u32,
    /// Cells in our pool that are free again and are to be returned.
    pub(crate) owed: u32,
    /// Cells in our pool that the peer uses.
    pub(crate) kept: u32,
    /// Sends that have not left.
    pub(crate) held: Queue,
    pub(crate) due: bool,
    /// Whether the peer accepts no more frames.
    pub(crate) deaf: bool,
    /// Whether the peer is lost, so that nothing more arrives from it.
    pub(crate) gone: bool,
}

impl PeerState {
    pub(crate) fn new(credit: u32) -> Self {
        PeerState {
            credit,
            owed: 0,
            kept: 0,
            held: Queue::new(),
            due: false,
            deaf: false,
            gone: false,
        }
    }

    #[inline]
    pub(crate) fn owes_credit(&self, credit: u32) -> bool {
        self.owed > 0 && (self.owed >= credit.div_ceil(2) || self.owed + self.kept >= credit)
    }
}

impl State {
    /// Creates the state; there are at most as many peers as slots for them.
    pub(crate) fn new(peers: usize, credit: u32, eager: Option<usize>) -> Self {
        State {
            operations: Table::new(),
            expected: List::new(),
            unexpected: List::new(),
            peer_states: (0..peers).map(|_| PeerState::new(credit)).collect(),
            credit,
            eager: eager.unwrap_or(CELL).min(CELL),
            generation: 0,
            due: false,
            rejected: 0,
        }
    }

    #[inline]
    pub(crate) fn operation(&mut self, ticket: Ticket) -> Option<&mut Operation> {
        let (slot, generation) = parts(ticket);
        let operation = self.operations.get_mut(slot)?;
        (operation.generation == generation).then_some(operation)
    }

    #[inline]
    pub(crate) fn open(
        &mut self,
        peer: Peer,
        step: Step,
        envelope: Option<Envelope>,
    ) -> Result<Ticket, Error> {
        self.generation = self.generation.wrapping_add(1).max(1);
        let generation = self.generation;
        let operation = Operation {
            generation,
            owner: Owner::User,
            peer,
            step,
            envelope,
        };
        let slot = self.operations.insert(operation).ok_or(Error::Full)?;
        Ok(ticket(slot, generation))
    }

    /// Returns the longest payload, in bytes, that fits a channel with that limit.
    #[inline]
    pub(crate) fn eager_limit(&self, channel: usize) -> usize {
        self.eager.min(channel.saturating_sub(HEAD))
    }

    #[inline]
    pub(crate) fn open_send(
        &mut self,
        to: Peer,
        header: Tagged,
        len: usize,
        limit: usize,
    ) -> Result<Ticket, Error> {
        let state = self
            .peer_states
            .get(to.index())
            .ok_or(Error::NoSuchPeer(to))?;
        if state.deaf {
            return Err(Error::PeerLost(to));
        }
        let limit = self.eager_limit(limit);
        if len > limit {
            return Err(Error::TooLong { limit });
        }
        if state.credit == 0 || !state.held.is_empty() {
            return Err(Error::NoCredit(to));
        }
        let limit = u32::MAX as usize;
        let envelope = Envelope::new(header, len, to).ok_or(Error::TooLong { limit })?;
        self.open(to, Step::Held, Some(envelope))
    }

    #[inline]
    pub(crate) fn launch(&mut self, to: Peer, ticket: Ticket) {
        if let Some(state) = self.peer_states.get_mut(to.index()) {
            state.held.push(&mut self.operations, parts(ticket).0);
            state.due = true;
            self.due = true;
        }
    }

    #[inline]
    pub(crate) fn enlist(
        &mut self,
        pattern: Wanted,
        source: Option<Peer>,
        ticket: Ticket,
        buffers: &mut impl BufferAccess,
    ) {
        let (slot, _) = parts(ticket);
        if let Some(place) = self.unexpected.find(|arrived| arrived.matches(&pattern)) {
            return self.take(place, ticket, buffers);
        }
        if let Some(peer) = source
            && self
                .peer_states
                .get(peer.index())
                .is_some_and(|state| state.gone)
        {
            return self.complete(slot, Err(Error::PeerLost(peer)));
        }
        // The queue has room for every operation.
        let Some(at) = self.expected.push(Posted { pattern, slot }) else {
            return self.complete(slot, Err(Error::Full));
        };
        if let Some(operation) = self.operations.get_mut(slot)
            && let Step::Posted { place } = &mut operation.step
        {
            *place = at;
        }
    }

    /// Gives a message to a receive.
    fn take(&mut self, place: u32, ticket: Ticket, buffers: &mut impl BufferAccess) {
        let from = self.fill(place, ticket, buffers);
        self.unexpected.remove(place);
        if let Some(from) = from {
            self.free_place(from);
        }
    }

    /// Copies a message that has arrived, and returns its source.
    #[inline]
    pub(crate) fn fill(
        &mut self,
        place: u32,
        ticket: Ticket,
        buffers: &mut impl BufferAccess,
    ) -> Option<Peer> {
        let arrived = self.unexpected.get(place)?;
        let envelope = arrived.envelope;
        let mut stored = 0;
        if let Some(room) = buffers.room(ticket) {
            stored = arrived.payload.len().min(room.len());
            room[..stored].copy_from_slice(&arrived.payload[..stored]);
        }
        self.deliver(parts(ticket).0, envelope, stored);
        Some(envelope.peer())
    }

    #[inline]
    fn deliver(&mut self, slot: u32, envelope: Envelope, stored: usize) {
        let sent = envelope.len();
        let outcome = if sent > stored {
            Err(Error::Truncated { sent, room: stored })
        } else {
            Ok(stored)
        };
        if let Some(operation) = self.operations.get_mut(slot) {
            operation.peer = envelope.peer();
            operation.envelope = Some(envelope);
            operation.step = Step::Done(outcome);
            if operation.owner == Owner::Nobody {
                self.operations.remove(slot);
            }
        }
    }

    #[inline]
    pub(crate) fn complete(&mut self, slot: u32, outcome: Result<usize, Error>) {
        if let Some(operation) = self.operations.get_mut(slot) {
            operation.step = Step::Done(outcome);
            if operation.owner == Owner::Nobody {
                self.operations.remove(slot);
            }
        }
    }

    #[inline]
    pub(crate) fn arrival<A: Arrival>(&mut self, arrival: &A, buffers: &mut impl BufferAccess) {
        if self.arrive(arrival, buffers).is_none() {
            let state = self.peer_states.get(arrival.from().index());
            self.rejected += u64::from(state.is_none_or(|state| !state.deaf));
        }
    }

    /// Handles a frame; returns `None` if it violates the protocol.
    #[inline]
    fn arrive<A: Arrival>(&mut self, arrival: &A, buffers: &mut impl BufferAccess) -> Option<()> {
        let &[kind, credit] = arrival.head(LEAD)? else {
            return None;
        };
        if kind != EAGER && kind != CREDIT {
            return None;
        }
        let state = self.peer_states.get_mut(arrival.from().index())?;
        if credit > 0 {
            state.credit += u32::from(credit);
            if !state.held.is_empty() {
                state.due = true;
                self.due = true;
            }
        }
        if kind == CREDIT {
            return Some(());
        }
        self.message(arrival, buffers)
    }

    /// Handles a whole message.
    #[inline]
    fn message<A: Arrival>(&mut self, arrival: &A, buffers: &mut impl BufferAccess) -> Option<()> {
        let header = Tagged::read_from_bytes(arrival.head(HEAD)?.get(LEAD..)?).ok()?;
        let from = arrival.from();
        let len = arrival.len() - HEAD;
        let envelope = Envelope::new(header, len, from)?;
        let waits = |posted: &Posted| posted.pattern.matches(from, &header);
        let Some(place) = self.expected.find(waits) else {
            return self.keep(arrival, envelope, len);
        };
        let Posted { slot, .. } = self.expected.remove(place)?;
        self.owe_place(from);
        let generation = self.operations.get(slot)?.generation;
        let room = buffers.room(ticket(slot, generation))?;
        let stored = len.min(room.len());
        let mut at = 0;
        arrival.for_each_chunk(HEAD, stored, |piece| {
            room[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        });
        self.deliver(slot, envelope, stored);
        Some(())
    }

    fn keep<A: Arrival>(&mut self, arrival: &A, envelope: Envelope, len: usize) -> Option<()> {
        if len > CELL {
            return None;
        }
        let credit = self.credit;
        let state = self.peer_states.get_mut(envelope.peer().index())?;
        if state.kept >= credit {
            return None;
        }
        state.kept += 1;
        if state.owes_credit(credit) {
            state.due = true;
            self.due = true;
        }
        let payload = Vec::new();
        let place = self.unexpected.push(Arrived { envelope, payload })?;
        let payload = &mut self.unexpected.get_mut(place)?.payload;
        // The length was checked, so the payload fits.
        arrival.for_each_chunk(HEAD, len, |piece| drop(payload.extend_from_slice(piece)));
        Some(())
    }

    /// Frees the cell of a message that has left the pool.
    #[inline]
    pub(crate) fn free_place(&mut self, from: Peer) {
        if let Some(state) = self.peer_states.get_mut(from.index()) {
            state.kept = state.kept.saturating_sub(1);
        }
        self.owe_place(from);
    }

    #[inline]
    fn owe_place(&mut self, from: Peer) {
        let credit = self.credit;
        if let Some(state) = self.peer_states.get_mut(from.index()) {
            state.owed += 1;
            if state.owes_credit(credit) {
                state.due = true;
                self.due = true;
            }
        }
    }

    pub(crate) fn landed(&mut self, cookie: Cookie) {
        let ticket = Ticket::from_bits(cookie.0);
        if let Some(operation) = self.operation(ticket)
            && let Step::Leaving = operation.step
        {
            let len = operation.envelope.as_ref().map_or(0, Envelope::len);
            self.complete(parts(ticket).0, Ok(len));
        }
    }

    pub(crate) fn cancel(&mut self, ticket: Ticket) -> Result<(), Error> {
        let (slot, _) = parts(ticket);
        let operation = self.operation(ticket).ok_or(Error::UnknownTicket)?;
        let to = operation.peer;
        match operation.step {
            Step::Posted { place } => drop(self.expected.remove(place)),
            Step::Held => {
                if let Some(state) = self.peer_states.get_mut(to.index()) {
                    state.held.unlink(&mut self.operations, slot);
                    state.due = true;
                    self.due = true;
                }
            }
            _ => return Ok(()),
        }
        self.complete(slot, Err(Error::Cancelled));
        Ok(())
    }

    /// Withdraws an operation whose loan is about to end.
    pub(crate) fn release(&mut self, ticket: Ticket) {
        let Some(operation) = self.operation(ticket) else {
            return;
        };
        operation.owner = Owner::Nobody;
        if let Step::Done(_) = operation.step {
            self.operations.remove(parts(ticket).0);
        } else {
            // The only refusal is for an unknown ticket, and this one is known.
            let _ = self.cancel(ticket);
        }
    }

    pub(crate) fn probe(&mut self, pattern: &Wanted) -> Result<Option<Envelope>, Error> {
        let here = self.unexpected.find(|arrived| arrived.matches(pattern));
        if let Some(arrived) = here.and_then(|place| self.unexpected.get(place)) {
            return Ok(Some(arrived.envelope));
        }
        self.absent(pattern)?;
        Ok(None)
    }

    /// Returns an error if no message that matches can arrive any more.
    pub(crate) fn absent(&self, pattern: &Wanted) -> Result<(), Error> {
        if let Some(peer) = pattern.source() {
            let state = self.peer_states.get(peer.index());
            if state.ok_or(Error::NoSuchPeer(peer))?.gone {
                return Err(Error::PeerLost(peer));
            }
        }
        Ok(())
    }

    /// Handles a peer that accepts no more frames. Frames that it has sent may still arrive, and frames to it that the
    /// channel has accepted may still need their memory.
    pub(crate) fn lose_sends(&mut self, peer: Peer) {
        if let Some(state) = self.peer_states.get_mut(peer.index()) {
            state.deaf = true;
            state.due = false;
            state.held = Queue::new();
        }
        self.fail(peer, |step| matches!(step, Step::Held));
    }

    /// Handles a lost peer.
    pub(crate) fn lose(&mut self, peer: Peer) {
        self.lose_sends(peer);
        if let Some(state) = self.peer_states.get_mut(peer.index()) {
            state.gone = true;
        }
        self.fail(peer, |step| {
            !matches!(step, Step::Done(_) | Step::Matched { .. })
        });
    }

    fn fail(&mut self, peer: Peer, hopeless: impl Fn(&Step) -> bool) {
        for slot in 0..self.operations.end() {
            let Some(operation) = self.operations.get_mut(slot) else {
                continue;
            };
            if operation.peer == peer && hopeless(&operation.step) {
                if let Step::Posted { place } = operation.step {
                    self.expected.remove(place);
                }
                self.complete(slot, Err(Error::PeerLost(peer)));
            }
        }
    }
}
