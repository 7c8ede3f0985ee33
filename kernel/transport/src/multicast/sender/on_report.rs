//! The sender's handling of reports. Only `multicast` uses it.

use super::Sender;
use crate::multicast::GroupSizes;
use crate::multicast::frame::{FrameHeader, REFUSED, REPORT};
use crate::multicast::message_ring::MessageRing;
use crate::multicast::packet_bitmap::{PacketBitmap, WINDOW};
use pombo_kernel::aspect::Storage;
use pombo_kernel::channel::Arrival;
use pombo_kernel::header::Peer;

impl<Z: GroupSizes, S: Storage> Sender<Z, S> {
    /// Handles a frame from the network; frames other than reports to this sender are counted and dropped. `me` is this
    /// peer if frames carry a checksum, that is, unless [`Network::is_checked`](pombo_kernel::Network::is_checked).
    pub fn on_frame<A: Arrival>(&mut self, frame: &A, now: u64, me: Option<Peer>) {
        match FrameHeader::read(frame, self.id.epoch, me) {
            Ok(head) if head.group.get() == self.id.group.0 => self.on_report(&head, frame, now),
            Ok(_) => self.counts.foreign += 1,
            Err(refusal) => self.counts.refuse(refusal),
        }
    }

    /// Handles a frame of this group and epoch.
    pub(in crate::multicast) fn on_report<A: Arrival>(
        &mut self,
        head: &FrameHeader,
        frame: &A,
        now: u64,
    ) {
        let from = frame.from();
        let state = self
            .receiver_states
            .as_ref()
            .iter()
            .position(|s| s.peer == from);
        let bitmap = head.reported(frame).filter(|_| head.kind == REPORT);
        let (Some(state), Some(bitmap)) = (state, bitmap) else {
            self.counts.foreign += 1;
            return;
        };
        if head.message.get() != self.message || head.packet.get() < self.base {
            self.counts.stale += 1;
            return;
        }
        if !self.is_possible(head, &bitmap) {
            self.counts.impossible += 1;
            return;
        }
        self.note(state, head, bitmap, now);
    }

    /// Returns whether a report is valid: only packets between the first missing one and the last sent can have
    /// arrived.
    fn is_possible(&self, head: &FrameHeader, bitmap: &PacketBitmap) -> bool {
        let (expected, echo) = (head.packet.get(), head.stamp.get());
        let known = || (expected + 1..self.next).filter(|packet| bitmap.has(*packet));
        expected <= self.next
            && known().count() as u32 == bitmap.count()
            && self.stamp.wrapping_sub(echo) < 1 << 31
    }

    /// Records which packets that receiver has, and which are missing.
    fn note(&mut self, state: usize, head: &FrameHeader, bitmap: PacketBitmap, now: u64) {
        let (expected, echo) = (head.packet.get(), head.stamp.get());
        let refused = head.flags & REFUSED != 0;
        let state = &mut self.receiver_states.as_mut()[state];
        if state.lost || echo.wrapping_sub(state.echo) >= 1 << 31 || expected < state.expected {
            return;
        }
        let before = (state.expected, state.has, state.credit);
        (state.echo, state.expected) = (echo, expected);
        if !refused {
            state.credit = match self.train {
                true => u32::from(head.credit.get()).min(MessageRing::<Z, S>::PLACES),
                false => head.credit.get().into(),
            };
        }
        (state.has, state.missing) = (bitmap, PacketBitmap::default());
        // A refused packet was not reordered: it arrived and was dropped.
        let overtakers = match refused {
            true => 0,
            false => self.timing.overtakers.max(1).into(),
        };
        for packet in expected..self.next {
            let later = echo.wrapping_sub(self.stamps[(packet % WINDOW) as usize]);
            if !bitmap.has(packet) && later >= overtakers && later < 1 << 31 {
                state.missing.set(packet);
            }
        }
        let news = before != (state.expected, state.has, state.credit);
        if echo == self.asked && self.asks == 1 {
            self.trip.note(now.saturating_sub(self.asked_at));
        }
        let deaf = !refused && expected < self.next && echo != self.last_broadcast;
        self.note_unheard(news, deaf);
        self.note_answer(news, refused, now);
        self.advance();
    }

    /// Records whether a receiver has missed a broadcast; at the limit the sender switches to unicast for good.
    fn note_unheard(&mut self, news: bool, deaf: bool) {
        if self.is_unicast_only() {
            return;
        }
        if news {
            (self.unheard_broadcasts, self.unicast_tried) = (0, false);
        } else if deaf && core::mem::take(&mut self.unicast_tried) {
            self.unheard_broadcasts += 1;
        }
    }

    /// Records an answer: one without news means that the receiver waits for its user, so the next poll comes later.
    fn note_answer(&mut self, news: bool, refused: bool, now: u64) {
        self.asks = match (refused, news) {
            (true, _) => 0,
            (false, true) => self.asks.min(1),
            (false, false) => self.asks.min(3),
        };
        if news && self.train {
            (self.since, self.reports_wanted) = (now, false);
        }
    }
}
