//! Sends what is due after a poll or a call: replies, requested data, held sends, notices. It does so per peer in that
//! order, until nothing is due or the channel is full.

use super::flow_control::MatchQuery;
use super::frame_tx::{Progress, Stop};
use super::lent_buffers::{piece, swaps};
use super::operation::{OpState, Operation, length};
use super::peer_state::QuerySent;
use super::port_mux::PortTx;
use super::state::State;
use crate::aspect::{Counter, Counters, Length, Maybe, Transfer};
use crate::channel::{ChannelError, Cookie, Sent};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::{EagerHeader, Handle, Kind, PREAMBLE, Writer};
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
                self.flush_hold(peer, channel, progress)?;
            }
            self.flush_replies(peer, channel, progress)?;
            self.flush_active(peer, channel, buffers, progress)?;
        }
        self.flush_unsent(peer, channel, buffers, progress)?;
        if <C::Transfer as Transfer>::HINTS {
            // This sends the data of a message that has just been announced with it.
            self.flush_active(peer, channel, buffers, progress)?;
            self.flush_hint(peer, channel, progress)?;
        }
        self.flush_notices(peer, channel, progress)
    }

    /// Sends replies to the peer's queries.
    fn flush_replies<L: PortTx>(
        &mut self,
        peer: Peer,
        channel: &mut L,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        if <C::Transfer as Transfer>::HINTS {
            self.flush_fin(peer, channel, progress)?;
        }
        if let Some((sender, yes)) = self.flow(peer).and_then(|flow| flow.cancel_reply) {
            let mut head = Writer::new(Kind::CancelReply);
            self.put_head(
                channel,
                peer,
                head.put(&sender).put(&u8::from(yes)),
                progress,
            )?;
            if let Some(flow) = self.flow(peer) {
                flow.cancel_reply = None;
            }
        }
        // An acceptance goes before the rejection of an offer that crossed it.
        while let Some(probes) = self.probes.get()
            && let Some((generation, sender, accepted)) = probes.pending_release(peer)
        {
            let kind = if accepted { Kind::Accept } else { Kind::Reject };
            self.put_head(channel, peer, Writer::new(kind).put(&sender), progress)?;
            if let Some(probes) = self.probes.get_mut() {
                probes.drop_question(generation);
            }
        }
        if let Some(sender) = self.flow(peer).and_then(|flow| flow.reject) {
            let mut head = Writer::new(Kind::Reject);
            self.put_head(channel, peer, head.put(&sender), progress)?;
            if let Some(flow) = self.flow(peer) {
                flow.reject = None;
            }
        }
        self.flush_recall(peer, channel, progress)?;
        self.flush_match_reply(peer, channel, progress)
    }

    /// Sends the reply to the peer's query. A message that a matched probe keeps may be offered to another probe.
    fn flush_match_reply<L: PortTx>(
        &mut self,
        peer: Peer,
        channel: &mut L,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        let Some((asker, pattern)) = self.flow(peer).and_then(|flow| flow.query) else {
            return Ok(());
        };
        let found = self.first_unsent(peer, &pattern);
        match found.and_then(|slot| Some((slot, self.held_envelope(slot)?))) {
            Some((slot, (sender, envelope))) => {
                let mut head = Writer::new(Kind::MatchReply);
                head.put(&asker).put(&sender);
                head.put(&length::<C>(envelope.len()))
                    .put(&envelope.header());
                self.put_head(channel, peer, &mut head, progress)?;
                self.replied(peer, slot);
            }
            None => {
                self.put_head(
                    channel,
                    peer,
                    Writer::new(Kind::NoMatch).put(&asker),
                    progress,
                )?;
                if let Some(flow) = self.flow(peer) {
                    flow.answered_none = true;
                }
            }
        }
        if let Some(flow) = self.flow(peer) {
            flow.query = None;
        }
        Ok(())
    }

    /// Recalls an offered message that was cancelled, as the peer may be keeping the offer open.
    fn flush_recall<L: PortTx>(
        &mut self,
        peer: Peer,
        channel: &mut L,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        if self
            .flow(peer)
            .is_none_or(|flow| !flow.recall || flow.cancelling)
        {
            return Ok(());
        }
        let to_recall = self.to_recall(peer);
        if let Some(me) = to_recall {
            let mut head = Writer::new(Kind::Cancel);
            self.put_head(channel, peer, head.put(&me.handle()), progress)?;
            if let Some(operation) = self.operations.get_mut(me.slot())
                && let OpState::Offered { asked, .. } = &mut operation.state
            {
                *asked = true;
            }
        }
        if let Some(flow) = self.flow(peer) {
            flow.recall = to_recall.is_some();
            flow.cancelling = to_recall.is_some();
        }
        Ok(())
    }

    /// Returns the envelope of a held send; `None` if it was cancelled after it was offered.
    fn held_envelope(&self, slot: u32) -> Option<(Handle, Envelope<H, C>)> {
        let operation = self.operations.get(slot)?;
        if matches!(operation.state, OpState::Offered { cancel: true, .. }) {
            return None;
        }
        let generation = operation.generation;
        Some((Ticket::new(slot, generation).handle(), operation.envelope?))
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
            match operation.state {
                OpState::CtsPending { sender, room } => {
                    let len = operation.envelope.as_ref().map_or(0, Envelope::len);
                    let want = len.min(room);
                    let mut head = Writer::new(Kind::Cts);
                    head.put(&sender).put(&me.handle()).put(&length::<C>(want));
                    self.put_head(channel, peer, &mut head, progress)?;
                    self.cts_sent(peer, slot, want);
                }
                OpState::Streaming { .. } | OpState::StreamingEarly { .. } => {
                    self.stream(peer, me, channel, buffers, progress)?;
                }
                OpState::Aborting { to } => {
                    self.put_head(
                        channel,
                        peer,
                        &mut head_to::<C>(Kind::Abort, to, me),
                        progress,
                    )?;
                    self.deactivate(peer, slot);
                    self.complete(slot, Err(Error::Revoked));
                }
                OpState::AbortingEarly { to } => {
                    self.put_head(
                        channel,
                        peer,
                        &mut head_to::<C>(Kind::Abort, to, me),
                        progress,
                    )?;
                    if let Some(operation) = self.operations.get_mut(slot) {
                        operation.state = OpState::Cancelling { asked: false };
                    }
                    self.mark_pending(peer);
                }
                OpState::Cancelling { asked: false } => {
                    if self.flow(peer).is_none_or(|flow| flow.cancelling) {
                        continue;
                    }
                    let mut head = Writer::new(Kind::Cancel);
                    self.put_head(channel, peer, head.put(&me.handle()), progress)?;
                    self.deactivate(peer, slot);
                    if let Some(flow) = self.flow(peer) {
                        flow.cancelling = true;
                    }
                    if let Some(operation) = self.operations.get_mut(slot) {
                        operation.state = OpState::Cancelling { asked: true };
                    }
                }
                _ => self.deactivate(peer, slot),
            }
            progress.moved = true;
        }
        Ok(())
    }

    /// Records that the CTS has left, so that data will arrive.
    fn cts_sent(&mut self, peer: Peer, slot: u32, want: usize) {
        self.deactivate(peer, slot);
        let Some(operation) = self.operations.get_mut(slot) else {
            return;
        };
        operation.state = OpState::Receiving {
            want: length::<C>(want),
            got: length::<C>(0),
        };
        if want == 0
            && let Some(envelope) = operation.envelope
        {
            self.deliver(slot, envelope, 0);
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
        let most = channel.limit(peer) - head;
        loop {
            let Some(operation) = self.operations.get_mut(me.slot()) else {
                return Ok(());
            };
            let (to, want, next) = match operation.state {
                OpState::Streaming { to, want, next }
                | OpState::StreamingEarly { to, want, next, .. } => (to, want.get(), next.get()),
                _ => return Ok(()),
            };
            // Data sent early may be dropped, so it goes in frames up to the limit.
            let whole = next == 0
                && !<C::Transfer as Transfer>::HINTS
                && channel.supports_single_copy(peer, want)
                && fixed(buffers.part(me, 0, want));
            let len = if whole { want } else { most.min(want - next) };
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
            self.note_streamed(me.slot(), sent, len);
            if next + len == want {
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
                    OpState::Streaming { to, want, .. } => Some((to, want)),
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

    /// Sends the due Hold notice: that messages are held, or that none are any more.
    fn flush_hold<L: PortTx>(
        &mut self,
        peer: Peer,
        channel: &mut L,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        // After "none" the notice "some" may be due again; two rounds suffice.
        while let Some(holds) = self.peer_state(peer).and_then(|state| state.hold_notice()) {
            let mut head = Writer::new(Kind::Hold);
            self.put_head(channel, peer, head.put(&u8::from(holds)), progress)?;
            if holds {
                self.counters.count(Counter::Held);
            }
            if let Some(flow) = self.flow(peer) {
                flow.hold_sent = holds;
                flow.answered_none = false;
                flow.unsent_since_hold = false;
                flow.withdrawn_since_hold = false;
            }
        }
        Ok(())
    }

    /// Sends the Hold notice, queries to holders, and credit that no other frame has carried.
    fn flush_notices<L: PortTx>(
        &mut self,
        peer: Peer,
        channel: &mut L,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        self.flush_hold(peer, channel, progress)?;
        if let Some(query) = self.due_query(peer) {
            let (handle, pattern) = match query {
                MatchQuery::Receive(handle, pattern, _) | MatchQuery::Probe(handle, pattern, _) => {
                    (handle, pattern)
                }
            };
            let mut head = Writer::new(Kind::MatchQuery);
            self.put_head(channel, peer, head.put(&handle).put(&pattern), progress)?;
            self.counters.count(Counter::Pulled);
            if let Some(flow) = self.flow(peer) {
                match query {
                    MatchQuery::Receive(_, _, sequence) => {
                        flow.query_sent = QuerySent::Receive;
                        flow.queried = sequence;
                    }
                    MatchQuery::Probe(_, _, generation) => {
                        flow.query_sent = QuerySent::Probe(generation);
                        flow.probed = generation;
                    }
                }
            }
        }
        let credit = self.credit;
        if self
            .peer_state(peer)
            .is_some_and(|state| state.must_return_credit(credit))
        {
            self.put_head(channel, peer, &mut Writer::new(Kind::Credit), progress)?;
        }
        Ok(())
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
