//! What a sender takes from reports. `multicast` only.

use super::Sender;
use crate::multicast::GroupSizes;
use crate::multicast::frame::{FrameHeader, REFUSED, REPORT};
use crate::multicast::message_ring::MessageRing;
use crate::multicast::packet_bitmap::{PacketBitmap, WINDOW};
use pombo_kernel::aspect::Storage;
use pombo_kernel::channel::Arrival;
use pombo_kernel::header::Peer;

impl<Z: GroupSizes, S: Storage> Sender<Z, S> {
    /// Takes a frame that came from the network; others than reports to this sender are counted and dropped.
    /// `me`: this peer where frames carry a checksum, as they do where not
    /// [`Network::is_checked`](pombo_kernel::Network::is_checked).
    pub fn on_frame<A: Arrival>(&mut self, frame: &A, now: u64, me: Option<Peer>) {
        match FrameHeader::read(frame, self.id.epoch, me) {
            Ok(head) if head.group.get() == self.id.group.0 => self.on_report(&head, frame, now),
            Ok(_) => self.counts.foreign += 1,
            Err(refusal) => self.counts.refuse(refusal),
        }
    }

    /// Takes a frame of this group and this life.
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

    /// Only packets between the first missing one and the last sent can have arrived.
    fn is_possible(&self, head: &FrameHeader, bitmap: &PacketBitmap) -> bool {
        let (expected, echo) = (head.packet.get(), head.stamp.get());
        let known = || (expected + 1..self.next).filter(|packet| bitmap.has(*packet));
        expected <= self.next
            && known().count() as u32 == bitmap.count()
            && self.stamp.wrapping_sub(echo) < 1 << 31
    }

    /// What that receiver has, and lacks.
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
        // What was refused was not overtaken: it came and is gone.
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

    /// Once it is known that frames for all do not pass, it stays so.
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

    /// Who answers without news waits for its user: it is asked again, though not at once.
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
