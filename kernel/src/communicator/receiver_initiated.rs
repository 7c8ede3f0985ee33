//! Receiver-initiated transfer: a receiver hints which message it waits for, and the sender's data may follow its RTS
//! without a CTS.
//!
//! A hint reserves nothing. A receiver hints only the receive that any message of that peer would match first, one per
//! peer at a time. The RTS is matched as any other; if it matches another receive than the hinted one, or none, the
//! receiver drops the data and the message stays announced: its sender keeps the buffer until the receiver sends a Fin
//! or requests the data. Source: the EPOS communication system, section 3.3 (the requested queue).

use super::frame_tx::{Progress, Stop};
use super::operation::{OpState, length};
use super::peer_state::{OwnHint, ReceiverHints};
use super::port_mux::PortTx;
use super::state::State;
use crate::aspect::{Length, Maybe, Transfer};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::frame::{Handle, Kind, Writer};
use crate::header::{Header, Pattern, Peer};
use crate::matching::Expected;
use crate::memory::Ticket;

impl<H: Header, C: Config> State<H, C> {
    fn hints(&mut self, peer: Peer) -> Option<&mut ReceiverHints<H>> {
        if !<C::Transfer as Transfer>::HINTS {
            return None;
        }
        self.peer_state(peer)?.hints.get_mut()
    }

    /// Records that a receive of that peer's messages was posted.
    #[inline]
    pub(super) fn want_hint(&mut self, peer: Peer) {
        if let Some(hints) = self.hints(peer) {
            hints.due = true;
            self.mark_pending(peer);
        }
    }

    /// Sends a hint of the first receive that could match a message of the peer, if only this peer can match it and it
    /// has room for long messages.
    pub(super) fn flush_hint<L: PortTx>(
        &mut self,
        peer: Peer,
        channel: &mut L,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        let free = match self.hints(peer).map(|hints| (hints.due, hints.ours)) {
            Some((true, OwnHint::No)) => true,
            // The receive has matched another message or was cancelled: the hint is void.
            Some((true, OwnHint::Out(ticket))) => self
                .operation(ticket)
                .is_none_or(|operation| !matches!(operation.state, OpState::Posted { .. })),
            _ => false,
        };
        if !free {
            return Ok(());
        }
        let eager = self.eager_limit(channel, peer);
        let first = self.expected.following(0, peer);
        let first = first.filter(|posted| posted.pattern.source() == Some(peer));
        if let Some(posted) = first
            && let Some(operation) = self.operations.get(posted.slot)
            && let OpState::Posted { room, .. } = operation.state
            && room > eager
        {
            let (slot, generation) = (posted.slot, operation.generation);
            let me = Ticket::new(slot, generation);
            let room = C::Length::new(room).unwrap_or_else(|| length::<C>(u32::MAX as usize));
            let mut head = Writer::new(Kind::RecvHint);
            head.put(&me.handle()).put(&room).put(&posted.pattern);
            self.put_head(channel, peer, &mut head, progress)?;
            if let Some(hints) = self.hints(peer) {
                hints.ours = OwnHint::Out(me);
            }
        }
        if let Some(hints) = self.hints(peer) {
            hints.due = false;
        }
        Ok(())
    }

    /// Records the hint of a peer that waits for a matching message.
    pub(super) fn hinted(
        &mut self,
        from: Peer,
        receiver: Handle,
        room: usize,
        pattern: H::Pattern,
    ) -> Option<()> {
        self.hints(from)?.wanted = Some((receiver, pattern, room)).filter(|_| room > 0);
        Some(())
    }

    /// Sends the RTS of the first held message with its data behind it, if the peer waits for it.
    pub(super) fn flush_rts_with_data<L: PortTx>(
        &mut self,
        peer: Peer,
        me: Ticket,
        envelope: Envelope<H, C>,
        channel: &mut L,
        progress: &mut Progress,
    ) -> Result<bool, Stop> {
        let from = self.me;
        let wanted = self.hints(peer).and_then(|hints| hints.wanted);
        let Some((to, _, room)) =
            wanted.filter(|(_, pattern, _)| pattern.matches(from, &envelope.header()))
        else {
            return Ok(false);
        };
        let want = envelope.len().min(room);
        if want == 0 {
            return Ok(false);
        }
        let mut head = Writer::new(Kind::RtsWithData);
        head.put(&envelope.header())
            .put(&length::<C>(envelope.len()));
        head.put(&me.handle()).put(&to);
        self.put(channel, peer, &mut head, None, progress)?;
        if let Some(hints) = self.hints(peer) {
            hints.wanted = None;
        }
        self.sent_from_queue(peer, me.slot());
        if let Some(operation) = self.operations.get_mut(me.slot()) {
            operation.state = OpState::StreamingEarly {
                to,
                want: length::<C>(want),
                next: length::<C>(0),
                cancel: false,
            };
        }
        self.activate(peer, me.slot());
        Ok(true)
    }

    /// Handles an RTS whose data follows for that receive.
    pub(super) fn ahead(&mut self, envelope: Envelope<H, C>, receiver: Ticket) -> Option<()> {
        let from = envelope.peer();
        self.hints(from)?;
        let found = self.expected.find(from, &envelope.header());
        if found.is_none_or(|posted| posted.slot != receiver.slot()) {
            return self.announce(envelope);
        }
        let Some(operation) = self.operation(receiver) else {
            return self.announce(envelope);
        };
        let OpState::Posted { room, .. } = operation.state else {
            return None;
        };
        operation.peer = from;
        operation.envelope = Some(envelope);
        operation.state = OpState::Receiving {
            want: length::<C>(envelope.len().min(room)),
            got: length::<C>(0),
        };
        self.expected.remove(receiver.slot());
        self.return_credit(from);
        self.hints(from)?.ours = OwnHint::Streaming(receiver);
        Some(())
    }

    /// Records that a receive has all of its data, or will get no more: the sender gets a Fin, unless the data was
    /// requested.
    pub(super) fn received_all(&mut self, from: Peer, ticket: Ticket, sender: Option<Handle>) {
        let send_closed = self.peer_state(from).is_none_or(|state| state.send_closed);
        if let (Some(hints), Some(sender)) = (self.hints(from), sender)
            && matches!(hints.ours, OwnHint::Streaming(streaming) if streaming == ticket)
        {
            hints.ours = if send_closed {
                OwnHint::No
            } else {
                OwnHint::Whole(sender)
            };
            hints.due = true;
            self.mark_pending(from);
        }
    }

    /// Returns the sender's operation for which a Fin is due.
    pub(super) fn due_fin(&mut self, peer: Peer) -> Option<Handle> {
        match self.hints(peer)?.ours {
            OwnHint::Whole(sender) => Some(sender),
            _ => None,
        }
    }

    /// Records that the Fin has left.
    pub(super) fn fin_sent(&mut self, peer: Peer) {
        if let Some(hints) = self.hints(peer) {
            hints.ours = OwnHint::No;
        }
    }

    /// Handles a Fin: the peer has all data that was sent early.
    pub(super) fn whole(&mut self, from: Peer, ticket: Ticket) -> Option<()> {
        let operation = self
            .operation(ticket)
            .filter(|operation| operation.peer == from)?;
        let len = operation.envelope.as_ref()?.len();
        match operation.state {
            OpState::RtsSent | OpState::Cancelling { asked: true } => {}
            OpState::Cancelling { asked: false } => self.deactivate(from, ticket.slot()),
            _ => return None,
        }
        self.complete(ticket.slot(), Ok(len));
        Some(())
    }
}
