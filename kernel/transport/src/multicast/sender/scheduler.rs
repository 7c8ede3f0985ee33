//! Selects the next frame of a sender, and decides when it polls. Only `multicast` uses it.

use super::Sender;
use crate::multicast::index_coding::{RepairSet, choose_repair};
use crate::multicast::known_receiver::ReceiverState;
use crate::multicast::message_ring::MessageRing;
use crate::multicast::packet_bitmap::{PacketBitmap, WINDOW};
use crate::multicast::{GroupSizes, Repair};
use pombo_kernel::aspect::Storage;

/// The next frame to send.
pub(super) enum NextFrame {
    Announce,
    Packet(u32),
    Repair(RepairSet),
    Poll,
}

impl<Z: GroupSizes, S: Storage> Sender<Z, S> {
    pub(super) fn next_frame(&self, now: u64) -> Option<NextFrame> {
        let over = self.retry_at() <= now;
        if !self.train && self.up().any(|state| state.waits(self.packets)) {
            return (over || self.asks == 0).then_some(NextFrame::Announce);
        }
        if let Some(repair) = self.repair() {
            return Some(NextFrame::Repair(repair));
        }
        if self.next < self.end() {
            return Some(NextFrame::Packet(self.next));
        }
        // Receivers of a train have some time to report, unless the user waits.
        let hurry = self.train && self.reports_wanted && self.unasked > 0;
        (over || hurry).then_some(NextFrame::Poll)
    }

    /// Returns the time of the next retry: a lost poll is repeated soon, twice; after that the receivers may be busy.
    pub(super) fn retry_at(&self) -> u64 {
        let retry_timeout = match self.trip.typical() {
            Some(typical) if self.asks <= 1 && self.train => {
                typical.saturating_add(self.timing.report_after / 4 * 5)
            }
            Some(typical) if self.asks <= 1 => typical,
            Some(typical) if self.asks == 2 => typical.saturating_mul(4),
            _ => self.trip.retry_timeout(&self.timing, self.asks),
        };
        self.since
            .saturating_add(retry_timeout.min(self.timing.most))
    }

    /// Returns the end of the send window as a packet number.
    pub(super) fn end(&self) -> u32 {
        if self.train {
            let room = self.up().map(|state| state.expected + state.credit).min();
            return room.unwrap_or(0).min(self.packets);
        }
        let credit = self.up().map(|state| state.credit).min().unwrap_or(1);
        let window = u32::from(self.config.window).clamp(1, WINDOW).min(credit);
        let end = self.base.saturating_add(window).min(self.packets);
        match self.config.repair {
            Repair::Bursts { packets, .. } => {
                let burst = u32::from(packets).clamp(1, window);
                end.min((self.base / burst + 1).saturating_mul(burst))
            }
            _ => end,
        }
    }

    fn repair(&self) -> Option<RepairSet> {
        let missing = self.missing();
        let first = missing.from(self.base).next()?;
        match self.config.repair {
            // Small messages differ in length, so they cannot be combined.
            _ if self.train => Some(RepairSet::one(first)),
            Repair::Plain => Some(RepairSet::one(first)),
            Repair::Bursts { .. } => {
                let answered = |state: &ReceiverState| {
                    let granted = state.echo.wrapping_sub(self.asked) < 1 << 31;
                    granted || state.expected == self.next
                };
                let granted = self.next == self.end() && self.up().all(answered);
                granted.then(|| RepairSet::one(first))
            }
            Repair::Coded => {
                // The longer a repair waits the more packets it can combine.
                let age = self.next - first;
                let late = age >= u32::from(self.config.window) * 7 / 8;
                let due = late || self.next == self.end();
                due.then(|| choose_repair(self.receiver_states.as_ref(), self.base))
                    .flatten()
            }
        }
    }

    fn missing(&self) -> PacketBitmap {
        self.up().fold(PacketBitmap::default(), |bitmap, state| {
            bitmap.or(&state.missing)
        })
    }

    /// Returns whether this frame polls: every few frames, and if no frame can follow it without a report.
    pub(super) fn asks_with(&self, next_frame: &NextFrame) -> bool {
        if self.train {
            return self.train_asks_with(next_frame);
        }
        if let Repair::Bursts { asked: false, .. } = self.config.repair {
            return matches!(next_frame, NextFrame::Announce | NextFrame::Poll);
        }
        let often = !matches!(self.config.repair, Repair::Bursts { .. })
            && self.unasked + 1 >= self.config.ask_after;
        let last = match next_frame {
            NextFrame::Announce | NextFrame::Poll => true,
            NextFrame::Packet(packet) => packet + 1 == self.end(),
            // A closed window opens only by reports, one of which may be lost.
            NextFrame::Repair(_) => self.next == self.end(),
        };
        often || last
    }

    /// Returns whether a packet of a train polls: occasionally, as long as there is room for more and the round-trip
    /// time is known.
    fn train_asks_with(&self, next_frame: &NextFrame) -> bool {
        let NextFrame::Packet(packet) = next_frame else {
            return true;
        };
        let quarter = (MessageRing::<Z, S>::PLACES / 4).max(1) as u16;
        let room = self.up().map(|state| state.expected + state.credit).min();
        let closes = room.is_some_and(|room| packet + 1 >= room);
        let unknown = self.trip.typical().is_none() && self.asks == 0;
        closes || unknown || self.unasked + 1 >= quarter
    }
}
