//! The effect of received frames on the queues. Nothing is sent here: replies are recorded and leave with the next
//! flush.

use super::operation::{OpState, Operation, Owner, length};
use super::peer_state::{QuerySent, sends_byte_order};
use super::state::State;
use crate::aspect::{Announced, Cell, Counter, Counters, Maybe, Transfer};
use crate::channel::{Arrival, Cookie, CopyTarget, Event};
use crate::config::{Config, Sizes};
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::{EagerHeader, Handle, Kind, Reader};
use crate::header::{Header, Peer};
use crate::matching::{Arrived, CellOf, Expected, Unexpected};
use crate::memory::{BufferAccess, Ticket};
use crate::{aspect::Capacity, aspect::Length};
use core::mem::MaybeUninit;
use zerocopy::FromBytes;

impl<H: Header, C: Config> State<H, C> {
    /// Handles an event of the channel.
    #[inline(always)]
    pub(crate) fn handle<A: Arrival>(&mut self, event: Event<A>, buffers: &mut impl BufferAccess) {
        // The match is by reference, so that the arrival is not moved.
        match &event {
            Event::Arrival(arrival) => {
                if self.arrive(arrival, buffers).is_none() {
                    self.reject(arrival.from());
                }
            }
            Event::Completed(cookie) => self.on_completed(*cookie, false),
            Event::Again(cookie) => self.on_completed(*cookie, true),
            Event::PeerLost(peer) => self.lose(*peer),
        }
    }

    /// Handles an eager message on the fast path. Returns false without effect for frames that need the general path.
    #[inline(always)]
    pub(crate) fn take_eager(
        &mut self,
        from: Peer,
        frame: &[u8],
        buffers: &mut impl BufferAccess,
    ) -> bool {
        let Some((header, credit, payload)) = eager_frame::<H, C>(frame) else {
            return false;
        };
        self.credited(from, credit);
        self.counters.count(Counter::Searched);
        let explained = match self.expected.take(from, &header) {
            Some(slot) => {
                let put = |ticket, stored, swapped| {
                    if let Some(bytes) = payload.get(..stored) {
                        buffers.copy_in(ticket, 0, bytes, swapped);
                    }
                };
                self.hand_over(slot, from, header, payload.len(), put)
            }
            None => self.keep(header, from, payload.len(), |cell| cell.append(payload)),
        };
        if explained.is_none() {
            self.reject(from);
        }
        true
    }

    #[cold]
    fn reject(&mut self, from: Peer) {
        // A lost peer may still answer sends that ended with its loss.
        if self.peer_state(from).is_none_or(|state| !state.send_closed) {
            self.rejected += 1;
            self.counters.count(Counter::Rejected);
        }
    }

    /// Adds the credit that the peer returns.
    #[inline(always)]
    pub(super) fn credited(&mut self, from: Peer, credit: u8) {
        if credit > 0
            && let Some(state) = self.peer_state(from)
        {
            state.credit += u32::from(credit);
            if !state.unsent.is_empty() {
                self.mark_pending(from);
            }
        }
    }

    /// Handles a frame; returns `None` if it violates the protocol.
    #[inline(always)]
    fn arrive<A: Arrival>(&mut self, arrival: &A, buffers: &mut impl BufferAccess) -> Option<()> {
        let orders = sends_byte_order::<C>();
        let (kind, credit, big_endian, reader) = Reader::new(arrival, orders)?;
        let from = arrival.from();
        let state = self.peer_state(from)?;
        if orders {
            state.big_endian = big_endian;
        }
        if credit > 0 {
            state.credit += u32::from(credit);
            if !state.unsent.is_empty() {
                self.mark_pending(from);
            }
        }
        if kind == Kind::Eager {
            return self.eager(arrival, reader, buffers);
        }
        self.arrive_other(kind, arrival, reader, buffers)
    }

    // Not inlined, to keep the path of eager messages short.
    #[inline(never)]
    fn arrive_other<A: Arrival>(
        &mut self,
        kind: Kind,
        arrival: &A,
        mut reader: Reader<'_, A>,
        buffers: &mut impl BufferAccess,
    ) -> Option<()> {
        let from = arrival.from();
        if kind != Kind::Credit && !<C::Transfer as Transfer>::RENDEZVOUS {
            return None;
        }
        match kind {
            Kind::Eager | Kind::Credit => {}
            Kind::Rts => {
                let header = reader.take()?;
                let len = reader.take::<C::Length>()?.get();
                let sender = reader.take::<Handle>()?;
                self.announce(Envelope::new(header, len, from, Some(Announced(sender)))?)?;
            }
            Kind::CtsBehind if <C::Transfer as Transfer>::EARLY_FRAMES == 0 => return None,
            Kind::Cts | Kind::CtsBehind => {
                let sender = reader.take::<Handle>()?.ticket();
                let receiver = reader.take()?;
                let want = reader.take::<C::Length>()?.get();
                self.requested(from, sender, receiver, want, kind == Kind::CtsBehind)?;
            }
            Kind::EarlyData => self.early_data(arrival, reader, buffers)?,
            Kind::Data => self.data(arrival, reader, buffers)?,
            Kind::Abort => {
                let ticket = reader.take::<Handle>()?.ticket();
                self.aborted(from, ticket, self::sender::<C, _>(&mut reader)?)?;
            }
            Kind::Hold => self.set_holding(from, reader.take::<u8>()? != 0),
            Kind::MatchQuery => {
                let query = (reader.take()?, reader.take()?);
                self.flow(from)?.query = Some(query);
                self.mark_pending(from);
            }
            Kind::MatchReply => {
                let asker = reader.take::<Handle>()?.ticket();
                let sender = reader.take::<Handle>()?;
                let len = reader.take::<C::Length>()?.get();
                let header = reader.take()?;
                let announced = Some(Announced(sender));
                self.offer(Envelope::new(header, len, from, announced)?, sender, asker);
            }
            Kind::NoMatch => {
                self.flow(from)?.query_sent = QuerySent::No;
                self.mark_pending(from);
            }
            Kind::Reject => self.rejected_reply(from, reader.take::<Handle>()?.ticket()),
            Kind::Accept => self.accepted(from, reader.take::<Handle>()?.ticket())?,
            Kind::Cancel => self.revoke(from, reader.take()?),
            Kind::CancelReply => {
                let sender = reader.take::<Handle>()?.ticket();
                self.revoked(from, sender, reader.take::<u8>()? != 0);
            }
            Kind::RecvHint => {
                let (receiver, room) = (reader.take()?, reader.take::<C::Length>()?.get());
                self.hinted(from, receiver, room, reader.take()?)?;
            }
            Kind::RtsWithData => {
                let header = reader.take()?;
                let len = reader.take::<C::Length>()?.get();
                let sender = reader.take::<Handle>()?;
                let envelope = Envelope::new(header, len, from, Some(Announced(sender)))?;
                self.ahead(envelope, reader.take::<Handle>()?.ticket())?;
            }
            Kind::Fin => self.whole(from, reader.take::<Handle>()?.ticket())?,
        }
        Some(())
    }

    /// Handles a chunk of the message that was announced last.
    fn early_data<A: Arrival>(
        &mut self,
        arrival: &A,
        mut reader: Reader<'_, A>,
        buffers: &mut impl BufferAccess,
    ) -> Option<()> {
        let from = arrival.from();
        let sender = reader.take::<Handle>()?;
        let start = reader.take::<C::Length>()?.get();
        let (at, len) = reader.payload();
        let early = self.early(from)?;
        let Some((_, receiver)) = early.announced.take_if(|(named, _)| *named == sender) else {
            return Some(());
        };
        // Where no receive has matched yet, these are dropped, and so is what follows them.
        let Some(ticket) = receiver else {
            return Some(());
        };
        early.announced = Some((sender, receiver));
        let Some((want, _)) = self
            .operation(ticket)
            .and_then(|it| it.state.arriving::<C>())
        else {
            return Some(());
        };
        // A receive with less room takes only the first part.
        match len.min(want.saturating_sub(start)) {
            0 => Some(()),
            len => self.store(arrival, ticket, Some(sender), start, (at, len), buffers),
        }
    }

    /// Handles an eager message.
    #[inline(always)]
    fn eager<A: Arrival>(
        &mut self,
        arrival: &A,
        mut reader: Reader<'_, A>,
        buffers: &mut impl BufferAccess,
    ) -> Option<()> {
        let header: H = reader.take()?;
        let (at, len) = reader.payload();
        let from = arrival.from();
        self.counters.count(Counter::Searched);
        let Some(slot) = self.expected.take(from, &header) else {
            return self.keep(header, from, len, |cell| {
                let mut whole = true;
                arrival.for_each_chunk(at, len, |piece| whole &= cell.append(piece));
                whole
            });
        };
        self.hand_over(slot, from, header, len, |ticket, stored, swapped| {
            let offset = 0;
            let mut place = Place {
                buffers,
                ticket,
                offset,
                swapped,
            };
            arrival.for_each_chunk(at, stored, |piece| place.append(piece));
        })
    }

    /// Delivers an eager message to the receive that it has matched. `put` copies as many bytes as the buffer has room
    /// for.
    #[inline(always)]
    fn hand_over(
        &mut self,
        slot: u32,
        from: Peer,
        header: H,
        len: usize,
        put: impl FnOnce(Ticket, usize, bool),
    ) -> Option<()> {
        self.return_credit(from);
        let swapped = self.swapped(from);
        let operation = self.operations.get_mut(slot)?;
        let OpState::Posted { room, .. } = operation.state else {
            return None;
        };
        let stored = len.min(room);
        put(Ticket::new(slot, operation.generation), stored, swapped);
        self.counters.count(Counter::Received(stored));
        if operation.deliver(Envelope::new(header, len, from, None)?, stored) {
            self.operations.remove(slot);
        }
        Some(())
    }

    /// Puts an eager message into the pool. Returns `None` if its sender had no credit for it.
    #[inline(never)]
    fn keep(
        &mut self,
        header: H,
        from: Peer,
        len: usize,
        put: impl FnOnce(&mut CellOf<C>) -> bool,
    ) -> Option<()> {
        let envelope = Envelope::new(header, len, from, None)?;
        if len > <C::Sizes as Sizes>::Cell::N {
            return None;
        }
        if !self.reserve_pool(from) {
            return None;
        }
        let place = self.unexpected.push(Arrived::new(envelope))?;
        self.queued = self.queued.wrapping_add(1);
        if !put(&mut self.unexpected.get_mut(place)?.payload) {
            self.unexpected.remove(place);
            return None;
        }
        self.counters
            .count(Counter::Unexpected(len, self.unexpected.len()));
        Some(())
    }

    /// Handles a CTS: the peer wants `want` bytes of a message that was announced or offered to it, `behind` those that
    /// were sent early.
    fn requested(
        &mut self,
        from: Peer,
        ticket: Ticket,
        to: Handle,
        want: usize,
        behind: bool,
    ) -> Option<()> {
        let operation = self
            .operation(ticket)
            .filter(|operation| operation.peer == from)?;
        let len = operation.envelope.as_ref()?.len();
        let orphan = operation.owner == Owner::Nobody;
        match operation.state {
            OpState::Offered { .. } => {
                self.remove_unsent(from, ticket.slot());
                self.flow(from)?.open_replies -= 1;
            }
            OpState::Cancelling { asked: false }
            | OpState::StreamingEarly { .. }
            | OpState::AbortingEarly { .. } => {
                self.deactivate(from, ticket.slot());
            }
            OpState::Cancelling { asked: true } | OpState::RtsSent => {}
            _ => return None,
        }
        let next = self.settle_early_data(from, ticket, Some(behind));
        let operation = self.operations.get_mut(ticket.slot())?;
        if want <= next {
            // The receiver expects nothing more, not even the notice that the loan has ended.
            self.complete(ticket.slot(), Ok(len));
            return Some(());
        } else if orphan {
            operation.state = OpState::Aborting { to };
        } else {
            operation.state = OpState::Streaming {
                to,
                want: length::<C>(want.min(len)),
                next: length::<C>(next),
            };
        }
        self.activate(from, ticket.slot());
        Some(())
    }

    /// Handles a chunk of a message that a receive has requested.
    fn data<A: Arrival>(
        &mut self,
        arrival: &A,
        mut reader: Reader<'_, A>,
        buffers: &mut impl BufferAccess,
    ) -> Option<()> {
        let from = arrival.from();
        let ticket = reader.take::<Handle>()?.ticket();
        let sender = self::sender::<C, _>(&mut reader)?;
        let start = reader.take::<C::Length>()?.get();
        let (at, len) = reader.payload();
        let Some(operation) = self.operation(ticket).filter(|it| it.takes(from, sender)) else {
            return stray::<C>();
        };
        let OpState::Receiving { want, .. } = operation.state else {
            return None;
        };
        if start.checked_add(len)? > want.get() {
            return None;
        }
        self.store(arrival, ticket, sender, start, (at, len), buffers)
    }

    /// Copies `len` bytes of a frame, from `at` on, to `start` in the buffer of a receive; the caller has checked that they
    /// are among those that it wants.
    fn store<A: Arrival>(
        &mut self,
        arrival: &A,
        ticket: Ticket,
        sender: Option<Handle>,
        start: usize,
        (at, len): (usize, usize),
        buffers: &mut impl BufferAccess,
    ) -> Option<()> {
        let from = arrival.from();
        let operation = self.operation(ticket)?;
        let (want, got) = operation.state.arriving::<C>()?;
        if got + len > want {
            return None;
        }
        let envelope = operation.envelope?;
        let mut place = Place {
            swapped: self.swapped(from),
            offset: start,
            ticket,
            buffers,
        };
        if !arrival.read_into(at, len, &mut place) {
            // The sender will resend it.
            return Some(());
        }
        match &mut self.operations.get_mut(ticket.slot())?.state {
            OpState::Receiving { got: all, .. } => *all = length::<C>(got + len),
            OpState::TakingEarly { got: all, .. } => {
                *all = length::<C>(got + len);
                // The CTS goes first.
                return Some(());
            }
            _ => {}
        }
        if got + len == want {
            self.received_all(from, ticket, sender);
            self.deliver(ticket.slot(), envelope, want);
        }
        Some(())
    }

    /// Ends a receive whose sender has withdrawn the message after the CTS.
    fn aborted(&mut self, from: Peer, ticket: Ticket, sender: Option<Handle>) -> Option<()> {
        if self
            .operation(ticket)
            .is_none_or(|operation| !operation.takes(from, sender))
        {
            return stray::<C>();
        }
        self.received_all(from, ticket, sender);
        self.complete(ticket.slot(), Err(Error::Revoked));
        Some(())
    }

    /// Answers a Cancel of the sender: yes, if no receive has matched the announced message.
    fn revoke(&mut self, from: Peer, sender: Handle) {
        let named = Some(Announced(sender));
        self.forget(|envelope, kept| {
            envelope.peer() == from && (!kept || envelope.announced() == named)
        });
        let place = self
            .unexpected
            .position(|envelope| envelope.peer() == from && envelope.announced() == named);
        if let Some(place) = place {
            self.unexpected.remove(place);
            self.free_pool(from);
        }
        if let Some(flow) = self.flow(from) {
            flow.cancel_reply = Some((sender, place.is_some()));
        }
        self.mark_pending(from);
    }

    /// Handles the reply to a Cancel. After "no" the CTS is in flight or has arrived.
    fn revoked(&mut self, from: Peer, ticket: Ticket, yes: bool) {
        if let Some(flow) = self.flow(from) {
            flow.cancelling = false;
        }
        self.mark_pending(from);
        let Some(operation) = self
            .operation(ticket)
            .filter(|operation| operation.peer == from)
        else {
            return;
        };
        if let OpState::Cancelling { asked: true } = operation.state {
            if yes {
                self.settle_early_data(from, ticket, None);
                self.complete(ticket.slot(), Err(Error::Cancelled));
            } else {
                operation.state = OpState::RtsSent;
            }
        }
    }

    /// Handles the completion of a frame accepted as [`Sent::Later`](crate::Sent::Later): it no longer needs its loan,
    /// unless the channel asks to resend it.
    fn on_completed(&mut self, cookie: Cookie, refused: bool) {
        let ticket = Ticket::from_bits(cookie.0);
        let Some(operation) = self.operation(ticket) else {
            return;
        };
        if let Some(frames) = operation.in_flight.get_mut() {
            *frames = frames.saturating_sub(1);
        }
        let (over, peer) = (!operation.is_in_flight(), operation.peer);
        match operation.state {
            OpState::Draining { again: Some(again) } if refused => {
                operation.state = OpState::Streaming {
                    to: again.0,
                    want: again.1,
                    next: again.2,
                };
                self.activate(peer, ticket.slot());
            }
            OpState::Draining { .. } if over => {
                let len = operation.envelope.as_ref().map_or(0, Envelope::len);
                self.complete(ticket.slot(), Ok(len));
            }
            OpState::Done(outcome) if over => self.complete(ticket.slot(), outcome),
            _ => {}
        }
    }
}

/// Returns header, credit and payload of an eager message on the fast path; `None` for frames that need the general path.
#[inline(always)]
pub(super) fn eager_frame<H: Header, C: Config>(frame: &[u8]) -> Option<(H, u8, &[u8])> {
    // The header is copied once before any decision: the sender may still write to shared memory, and the header that
    // was matched must be the one that is delivered.
    let (head, payload) = EagerHeader::<H>::read_from_prefix(frame).ok()?;
    let [kind, credit] = head.preamble;
    let is_fast = !sends_byte_order::<C>() && kind == Kind::Eager as u8;
    is_fast.then_some((head.header, credit, payload))
}

/// A range of a receive's lent buffer.
struct Place<'a, B> {
    buffers: &'a mut B,
    ticket: Ticket,
    offset: usize,
    swapped: bool,
}

impl<B: BufferAccess> CopyTarget for Place<'_, B> {
    #[inline(always)]
    fn append(&mut self, piece: &[u8]) {
        self.buffers
            .copy_in(self.ticket, self.offset, piece, self.swapped);
        self.offset += piece.len();
    }

    fn spare_capacity(&mut self, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        if self.swapped {
            return None;
        }
        self.buffers.space(self.ticket, self.offset, len)
    }
}

impl<H: Header, C: Config> Operation<H, C> {
    /// Returns whether this is a receive in progress of a message from that peer, and of that operation if one is
    /// named.
    fn takes(&self, from: Peer, sender: Option<Handle>) -> bool {
        let announced = self.envelope.as_ref().and_then(Envelope::announced);
        self.peer == from
            && matches!(self.state, OpState::Receiving { .. })
            && sender.is_none_or(|sender| announced == Some(Announced(sender)))
    }
}

/// Reads the sender's operation from data frames that name it.
fn sender<C: Config, A: Arrival>(reader: &mut Reader<'_, A>) -> Option<Option<Handle>> {
    if <C::Transfer as Transfer>::HINTS {
        reader.take().map(Some)
    } else {
        Some(None)
    }
}

/// Accepts data without a receive only with hints, where it may be sent early in vain; otherwise it violates the
/// protocol.
fn stray<C: Config>() -> Option<()> {
    <C::Transfer as Transfer>::HINTS.then_some(())
}
