//! What a source takes from reports. `group` only.

use super::Source;
use crate::group::Groups;
use crate::group::bits::{Bits, WINDOW};
use crate::group::frame::{Head, REFUSED, REPORT};
use crate::group::ring::Ring;
use pombo_kernel::aspect::Storage;
use pombo_kernel::channel::Arrival;
use pombo_kernel::header::Node;

impl<Z: Groups, S: Storage> Source<Z, S> {
    /// Takes a frame that came from the network; others than reports to this source are counted and dropped.
    /// `me`: this node where frames carry a checksum, as they do where not
    /// [`Network::is_checked`](pombo_kernel::Network::is_checked).
    pub fn hear<A: Arrival>(&mut self, frame: &A, now: u64, me: Option<Node>) {
        match Head::read(frame, self.name.epoch, me) {
            Ok(head) if head.group.get() == self.name.group => self.listen(&head, frame, now),
            Ok(_) => self.counts.foreign += 1,
            Err(refusal) => self.counts.refuse(refusal),
        }
    }

    /// Takes a frame of this group and this life.
    pub(in crate::group) fn listen<A: Arrival>(&mut self, head: &Head, frame: &A, now: u64) {
        let from = frame.from();
        let seat = self.seats.as_ref().iter().position(|s| s.node == from);
        let bits = head.reported(frame).filter(|_| head.kind == REPORT);
        let (Some(seat), Some(bits)) = (seat, bits) else {
            self.counts.foreign += 1;
            return;
        };
        if head.message.get() != self.message || head.packet.get() < self.base {
            self.counts.stale += 1;
            return;
        }
        if !self.is_possible(head, &bits) {
            self.counts.impossible += 1;
            return;
        }
        self.note(seat, head, bits, now);
    }

    /// Only packets between the first missing one and the last sent can have arrived.
    fn is_possible(&self, head: &Head, bits: &Bits) -> bool {
        let (expected, echo) = (head.packet.get(), head.stamp.get());
        let known = || (expected + 1..self.next).filter(|packet| bits.has(*packet));
        expected <= self.next
            && known().count() as u32 == bits.count()
            && self.stamp.wrapping_sub(echo) < 1 << 31
    }

    /// What that receiver has, and lacks.
    fn note(&mut self, seat: usize, head: &Head, bits: Bits, now: u64) {
        let (expected, echo) = (head.packet.get(), head.stamp.get());
        let refused = head.flags & REFUSED != 0;
        let seat = &mut self.seats.as_mut()[seat];
        if seat.lost || echo.wrapping_sub(seat.echo) >= 1 << 31 || expected < seat.expected {
            return;
        }
        let before = (seat.expected, seat.has, seat.credit);
        (seat.echo, seat.expected) = (echo, expected);
        if !refused {
            seat.credit = match self.train {
                true => u32::from(head.credit.get()).min(Ring::<Z, S>::PLACES),
                false => head.credit.get().into(),
            };
        }
        (seat.has, seat.missing) = (bits, Bits::default());
        // What was refused was not overtaken: it came and is gone.
        let overtakers = match refused {
            true => 0,
            false => self.timing.overtakers.max(1).into(),
        };
        for packet in expected..self.next {
            let later = echo.wrapping_sub(self.stamps[(packet % WINDOW) as usize]);
            if !bits.has(packet) && later >= overtakers && later < 1 << 31 {
                seat.missing.set(packet);
            }
        }
        let news = before != (seat.expected, seat.has, seat.credit);
        if echo == self.asked && self.asks == 1 {
            self.trip.note(now.saturating_sub(self.asked_at));
        }
        let deaf = !refused && expected < self.next && echo != self.cast;
        self.note_vain(news, deaf);
        self.heard_of(news, refused, now);
        self.advance();
    }

    /// Once it is known that frames for all do not pass, it stays so.
    fn note_vain(&mut self, news: bool, deaf: bool) {
        if self.is_singly() {
            return;
        }
        if news {
            (self.vain, self.tried) = (0, false);
        } else if deaf && core::mem::take(&mut self.tried) {
            self.vain += 1;
        }
    }

    /// Who answers without news waits for its user: it is asked again, though not at once.
    fn heard_of(&mut self, news: bool, refused: bool, now: u64) {
        self.asks = match (refused, news) {
            (true, _) => 0,
            (false, true) => self.asks.min(1),
            (false, false) => self.asks.min(3),
        };
        if news && self.train {
            (self.since, self.pressed) = (now, false);
        }
    }
}
