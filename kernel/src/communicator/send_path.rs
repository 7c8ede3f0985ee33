//! Sends what is due after a poll or a call: replies, requested data, held sends, notices. It does so per peer in that
//! order, until nothing is due or the channel is full.

use super::due_frames::Due;
use super::frame_tx::{Progress, Stop};
use super::lent_buffers::{piece, swaps};
use super::operation::{OpState, Operation, length};
use super::port_mux::PortTx;
use super::state::State;
use crate::aspect::{Counter, Counters, Length, Maybe, Transfer};
use crate::channel::{ChannelError, Cookie, Sent};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::{EagerHeader, Handle, Kind, PREAMBLE, Writer, share};
use crate::header::{Header, Peer};
use crate::memory::{BufferAccess, Part, Source, Ticket};
use zerocopy::IntoBytes;

impl<H: Header, C: Config> State<H, C> {
    /// Sends what is due; returns true if anything left.
    #[inline]
    pub(crate) fn flush<L: PortTx>(
        &mut self,
        channel: &mut L,
        buffers: &mut impl BufferAccess,
    ) -> Result<bool, Error> {
        if !self.tx_pending {
            return Ok(false);
        }
        channel.set_corked(true);
        let moved = self.flush_due(channel, buffers);
        channel.set_corked(false);
        moved
    }

    /// Drops the copies of sends that are complete.
    #[inline]
    fn forget_copies(&mut self, buffers: &mut impl BufferAccess) {
        while let Some(ended) = self.ended.get_mut()
            && let Some(slot) = ended.first()
        {
            ended.unlink(&mut self.operations, slot);
            let Some(operation) = self.operations.remove(slot) else {
                continue;
            };
            let state = self.peer_state(operation.peer);
            if buffers.drop_copy(Ticket::new(slot, operation.generation))
                && let Some(copies) = state.and_then(|state| state.copies.get_mut())
            {
                *copies -= 1;
            }
        }
    }

    /// Sends a message immediately if nothing delays it, without an operation and a loan.
    #[inline(always)]
    pub(crate) fn try_inject<L: PortTx>(
        &mut self,
        channel: &mut L,
        to: Peer,
        header: H,
        message: &impl Source,
    ) -> Result<bool, Error> {
        let len = message.len();
        let eager = self.eager_limit(channel, to);
        let state = self.peer_state(to).ok_or(Error::NoSuchPeer(to))?;
        if state.send_closed {
            return Err(Error::PeerLost(to));
        }
        // The message must not overtake a frame that is due, which could report a cancellation.
        if len > eager || state.credit == 0 || !state.unsent.is_empty() || state.tx_pending {
            return Ok(false);
        }
        let Some(part) = piece(message, 0, len, swaps::<C>()) else {
            return Ok(false);
        };
        let preamble = state.preamble(Kind::Eager);
        let head = EagerHeader { preamble, header };
        let parts = [Part::Bytes(head.as_bytes()), part];
        if let Err(error) = channel.try_send_inline(to, Cookie::COPY, &parts) {
            return self.try_inject_failed(error);
        }
        state.credits_to_return -= u32::from(preamble[1]);
        state.credit -= 1;
        self.counters.count(Counter::Sent(len));
        Ok(true)
    }

    #[cold]
    fn try_inject_failed(&mut self, error: ChannelError) -> Result<bool, Error> {
        match error {
            ChannelError::Full => return Ok(false),
            ChannelError::PeerLost(peer) => self.lose_sends(peer),
            _ => {}
        }
        Err(error.into())
    }

    // Not inlined, to keep the path short if nothing is due.
    #[inline(never)]
    fn flush_due<L: PortTx>(
        &mut self,
        channel: &mut L,
        buffers: &mut impl BufferAccess,
    ) -> Result<bool, Error> {
        self.tx_pending = false;
        self.forget_copies(buffers);
        let mut progress = Progress::default();
        let mut next = 0;
        while let Some(rest) = self.peer_states.as_mut().get_mut(next..)
            && let Some((index, state)) = (next..).zip(rest).find(|(_, state)| state.tx_pending)
        {
            state.tx_pending = false;
            next = index + 1;
            let peer = Peer(index as u16);
            match self.flush_peer(peer, channel, buffers, &mut progress) {
                Ok(()) => self.forget_copies(buffers),
                Err(Stop::Full) => self.mark_pending(peer),
                Err(Stop::Lost) => {
                    self.lose_sends(peer);
                    progress.moved = true;
                }
                Err(Stop::Broken) => {
                    self.mark_pending(peer);
                    break;
                }
            }
        }
        match progress.failure {
            None => Ok(progress.moved),
            Some(error) => Err(error.into()),
        }
    }

    fn flush_peer<L: PortTx>(
        &mut self,
        peer: Peer,
        channel: &mut L,
        buffers: &impl BufferAccess,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        if <C::Transfer as Transfer>::RENDEZVOUS {
            // These go before any frame that could tell the peer of a cancellation.
            if self
                .flow(peer)
                .is_some_and(|flow| flow.withdrawn_since_hold)
            {
                self.flush_heads(peer, channel, progress, Self::due_hold)?;
            }
            self.flush_heads(peer, channel, progress, Self::due_reply)?;
            self.flush_active(peer, channel, buffers, progress)?;
        }
        self.flush_unsent(peer, channel, buffers, progress)?;
        if <C::Transfer as Transfer>::HINTS {
            // This sends the data of a message that has just been announced with it.
            self.flush_active(peer, channel, buffers, progress)?;
            self.flush_hint(peer, channel, progress)?;
        }
        if !<C::Transfer as Transfer>::RENDEZVOUS {
            // Credit is all that can be due.
            let credit = self.credit;
            if self
                .peer_state(peer)
                .is_some_and(|state| state.must_return_credit(credit))
            {
                self.put_head(channel, peer, &mut Writer::new(Kind::Credit), progress)?;
            }
            return Ok(());
        }
        self.flush_heads(peer, channel, progress, Self::due_notice)
    }

    /// Sends frames without payload, as long as `next` writes the head of one that is due.
    #[inline(never)]
    fn flush_heads<L: PortTx>(
        &mut self,
        peer: Peer,
        channel: &mut L,
        progress: &mut Progress,
        next: fn(&mut Self, Peer, &mut Writer) -> Option<Due>,
    ) -> Result<(), Stop> {
        let mut head = Writer::empty();
        while let Some(due) = next(self, peer, &mut head) {
            self.put_head(channel, peer, &mut head, progress)?;
            self.left(peer, due);
        }
        Ok(())
    }

    /// Sends CTS frames, requested data, and withdrawals.
    fn flush_active<L: PortTx>(
        &mut self,
        peer: Peer,
        channel: &mut L,
        buffers: &impl BufferAccess,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        let mut at = self.flow(peer).and_then(|flow| flow.active.first());
        while let Some(slot) = at {
            let active = self.flow(peer).map(|flow| flow.active);
            at = active.and_then(|active| active.after(&self.operations, slot));
            let Some(operation) = self.operations.get(slot) else {
                continue;
            };
            let generation = operation.generation;
            let me = Ticket::new(slot, generation);
            let state = operation.state;
            let early = <C::Transfer as Transfer>::EARLY_FRAMES > 0;
            let mut want = 0;
            let mut head = match state {
                OpState::CtsPending { sender, room } => {
                    want = operation.envelope.as_ref().map_or(0, Envelope::len);
                    want = want.min(room);
                    let mut head = Writer::new(Kind::Cts);
                    head.put(&sender).put(&me.handle()).put(&length::<C>(want));
                    head
                }
                OpState::TakingEarly { sender, want, .. } if early => {
                    let mut head = Writer::new(Kind::CtsBehind);
                    head.put(&sender).put(&me.handle()).put(&want);
                    head
                }
                OpState::Aborting { to } | OpState::AbortingEarly { to } => {
                    head_to::<C>(Kind::Abort, to, me)
                }
                OpState::Cancelling { asked: false } => {
                    if self.flow(peer).is_none_or(|flow| flow.cancelling) {
                        continue;
                    }
                    let mut head = Writer::new(Kind::Cancel);
                    head.put(&me.handle());
                    head
                }
                _ => {
                    match state {
                        OpState::Streaming { .. } | OpState::StreamingEarly { .. } => {
                            self.stream(peer, me, channel, buffers, progress)?;
                        }
                        _ => self.deactivate(peer, slot),
                    }
                    progress.moved = true;
                    continue;
                }
            };
            self.put_head(channel, peer, &mut head, progress)?;
            self.active_left(peer, slot, state, want);
        }
        Ok(())
    }

    /// Records that the frame of an active operation in that state has left; `want` bytes will arrive after a CTS.
    fn active_left(&mut self, peer: Peer, slot: u32, state: OpState<C::Length>, want: usize) {
        if let OpState::AbortingEarly { .. } = state {
            self.mark_pending(peer);
        } else {
            self.deactivate(peer, slot);
        }
        let next = match state {
            OpState::CtsPending { .. } => OpState::Receiving {
                want: length::<C>(want),
                got: length::<C>(0),
            },
            OpState::TakingEarly { want, got, .. } => OpState::Receiving { want, got },
            OpState::AbortingEarly { .. } => OpState::Cancelling { asked: false },
            OpState::Cancelling { .. } => {
                if let Some(flow) = self.flow(peer) {
                    flow.cancelling = true;
                }
                OpState::Cancelling { asked: true }
            }
            _ => return self.complete(slot, Err(Error::Revoked)),
        };
        let Some(operation) = self.operations.get_mut(slot) else {
            return;
        };
        operation.state = next;
        let (generation, envelope) = (operation.generation, operation.envelope);
        match (next, envelope) {
            (OpState::Receiving { want, got }, Some(envelope)) if want.get() == got.get() => {
                self.deliver(slot, envelope, got.get());
            }
            (OpState::Receiving { .. }, _) => {
                if let Some(early) = self.early(peer) {
                    early.requested = Some(Ticket::new(slot, generation));
                }
            }
            _ => {}
        }
    }

    /// Sends as much of a requested message as the channel takes.
    fn stream<L: PortTx>(
        &mut self,
        peer: Peer,
        me: Ticket,
        channel: &mut L,
        buffers: &impl BufferAccess,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        let names = 1 + usize::from(<C::Transfer as Transfer>::HINTS);
        let head = PREAMBLE + names * size_of::<Handle>() + size_of::<C::Length>();
        let limit = channel.limit(peer);
        let most = limit - head;
        let both_ways = self.is_receiving_announced(peer);
        loop {
            let Some(operation) = self.operations.get_mut(me.slot()) else {
                return Ok(());
            };
            let (to, want, next) = match operation.state {
                OpState::Streaming { to, want, next }
                | OpState::StreamingEarly { to, want, next, .. } => (to, want.get(), next.get()),
                _ => return Ok(()),
            };
            let rest = want - next;
            // Data sent early may be dropped, so it goes in frames up to the limit.
            let at_once = (next == 0 || both_ways && rest > limit)
                && !<C::Transfer as Transfer>::HINTS
                && channel.supports_single_copy(peer, rest, both_ways)
                && fixed(buffers.part(me, next, rest));
            let len = if at_once { rest } else { share(most, rest) };
            let Some(part) = buffers.part(me, next, len) else {
                // The loan has ended; the active queue handles the abort.
                operation.state = match operation.state {
                    OpState::StreamingEarly { .. } => OpState::AbortingEarly { to },
                    _ => OpState::Aborting { to },
                };
                self.mark_pending(peer);
                return Ok(());
            };
            let mut head = head_to::<C>(Kind::Data, to, me);
            let payload = Some((Cookie(me.to_bits()), part));
            let sent = self.put(
                channel,
                peer,
                head.put(&length::<C>(next)),
                payload,
                progress,
            )?;
            progress.moved = true;
            let is_last = next + len == want;
            // From where a frame begins that the peer may not be able to read in place, the rest is sent once more.
            let passed = if is_last { 0 } else { len };
            self.note_streamed(me.slot(), sent, passed);
            if is_last {
                self.streamed(peer, me.slot());
                return Ok(());
            }
        }
    }

    fn note_streamed(&mut self, slot: u32, sent: Sent, len: usize) {
        if let Some(operation) = self.operations.get_mut(slot) {
            if let OpState::Streaming { next, .. } | OpState::StreamingEarly { next, .. } =
                &mut operation.state
            {
                *next = length::<C>(next.get() + len);
            }
            operation.note_flight(sent);
        }
    }

    /// Records that all requested bytes have left.
    fn streamed(&mut self, peer: Peer, slot: u32) {
        let Some(operation) = self.operations.get_mut(slot) else {
            return;
        };
        let len = operation.envelope.as_ref().map_or(0, Envelope::len);
        match operation.state {
            OpState::StreamingEarly { cancel: true, .. } => {
                operation.state = OpState::Cancelling { asked: false };
                self.mark_pending(peer);
            }
            OpState::StreamingEarly { .. } => {
                operation.state = OpState::RtsSent;
                self.deactivate(peer, slot);
            }
            _ => {
                self.deactivate(peer, slot);
                self.leave(slot, Sent::Done, len);
            }
        }
    }

    /// Records that every byte of a message of `len` bytes has left, the last frame with the result `sent`.
    #[inline]
    fn leave(&mut self, slot: u32, sent: Sent, len: usize) {
        if let Some(operation) = self.operations.get_mut(slot) {
            operation.note_flight(sent);
            if sent == Sent::Later || operation.is_in_flight() {
                let again = match operation.state {
                    OpState::Streaming { to, want, next } => Some((to, want, next)),
                    _ => None,
                };
                operation.state = OpState::Draining { again };
            } else if operation.finish(Ok(len)) {
                self.discard(slot);
            }
        }
    }

    /// Sends held messages in order, while there is credit.
    #[inline]
    fn flush_unsent<L: PortTx>(
        &mut self,
        peer: Peer,
        channel: &mut L,
        buffers: &impl BufferAccess,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        loop {
            let Some(state) = self.peer_states.as_ref().get(peer.index()) else {
                return Ok(());
            };
            if state.credit == 0 {
                return Ok(());
            }
            let Some(slot) = state.unsent.first() else {
                return Ok(());
            };
            let Some(operation) = self.operations.get(slot) else {
                return Ok(());
            };
            let Some(envelope) = operation.envelope else {
                return Ok(());
            };
            // Without rendezvous no message is offered or announced.
            let announce = match operation.state {
                _ if !<C::Transfer as Transfer>::RENDEZVOUS => false,
                OpState::Unsent { announce } => announce,
                _ => return Ok(()),
            };
            let generation = operation.generation;
            let me = Ticket::new(slot, generation);
            if announce && self.flush_rts_with_data(peer, me, envelope, channel, progress)? {
                // The RTS has left, and the payload follows.
            } else if announce {
                let mut head = Writer::new(Kind::Rts);
                head.put(&envelope.header())
                    .put(&length::<C>(envelope.len()))
                    .put(&me.handle());
                self.put_head(channel, peer, &mut head, progress)?;
                self.sent_from_queue(peer, slot);
                if let Some(operation) = self.operations.get_mut(slot) {
                    operation.state = OpState::RtsSent;
                }
                self.send_early_data(peer, me, envelope.len(), channel, buffers, progress)?;
            } else {
                let Some(part) = buffers.part(me, 0, envelope.len()) else {
                    return Ok(());
                };
                let Some(state) = self.peer_states.as_mut().get_mut(peer.index()) else {
                    return Ok(());
                };
                let (preamble, header) = (state.preamble(Kind::Eager), envelope.header());
                let head = EagerHeader { preamble, header };
                let parts = [Part::Bytes(head.as_bytes()), part];
                let sent = channel
                    .try_send_inline(peer, Cookie(me.to_bits()), &parts)
                    .map_err(|error| progress.stop(error))?;
                state.credits_to_return -= u32::from(preamble[1]);
                self.sent_from_queue(peer, slot);
                self.leave(slot, sent, envelope.len());
            }
            progress.moved = true;
        }
    }
}

/// Begins a head with the receiver's operation, and the sender's if the frame needs it.
fn head_to<C: Config>(kind: Kind, to: Handle, me: Ticket) -> Writer {
    let mut head = Writer::new(kind);
    head.put(&to);
    if <C::Transfer as Transfer>::HINTS {
        head.put(&me.handle());
    }
    head
}

impl<H: Header, C: Config> Operation<H, C> {
    #[inline]
    fn note_flight(&mut self, sent: Sent) {
        if let Some(frames) = self.in_flight.get_mut() {
            *frames += u32::from(sent == Sent::Later);
        }
    }
}

/// Returns whether a peer may read the part in place.
fn fixed(part: Option<Part<'_>>) -> bool {
    part.and_then(|part| part.fixed()).is_some()
}
