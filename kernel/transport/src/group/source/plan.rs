//! What a source sends next, and when it asks. `group` only.

use super::Source;
use crate::group::bits::{Bits, WINDOW};
use crate::group::pick::{Pick, pick};
use crate::group::ring::Ring;
use crate::group::seat::Seat;
use crate::group::{Groups, Repair};
use pombo_kernel::aspect::Storage;

/// The next frame.
pub(super) enum Step {
    Announce,
    Packet(u32),
    Repair(Pick),
    Poll,
}

impl<Z: Groups, S: Storage> Source<Z, S> {
    pub(super) fn step(&self, now: u64) -> Option<Step> {
        let over = self.patient_until() <= now;
        if !self.train && self.up().any(|seat| seat.waits(self.packets)) {
            return (over || self.asks == 0).then_some(Step::Announce);
        }
        if let Some(pick) = self.repair() {
            return Some(Step::Repair(pick));
        }
        if self.next < self.end() {
            return Some(Step::Packet(self.next));
        }
        // Receivers of a train have some time unless the user waits for them.
        let hurry = self.train && self.pressed && self.unasked > 0;
        (over || hurry).then_some(Step::Poll)
    }

    /// A lost question is put again soon, twice; then the others may be busy.
    pub(super) fn patient_until(&self) -> u64 {
        let patience = match self.trip.usual() {
            Some(usual) if self.asks <= 1 && self.train => {
                usual.saturating_add(self.timing.report_after / 4 * 5)
            }
            Some(usual) if self.asks <= 1 => usual,
            Some(usual) if self.asks == 2 => usual.saturating_mul(4),
            _ => self.trip.patience(&self.timing, self.asks),
        };
        self.since.saturating_add(patience.min(self.timing.most))
    }

    /// How far packets may be sent.
    pub(super) fn end(&self) -> u32 {
        if self.train {
            let room = self.up().map(|seat| seat.expected + seat.credit).min();
            return room.unwrap_or(0).min(self.packets);
        }
        let credit = self.up().map(|seat| seat.credit).min().unwrap_or(1);
        let window = u32::from(self.habits.window).clamp(1, WINDOW).min(credit);
        let end = self.base.saturating_add(window).min(self.packets);
        match self.habits.repair {
            Repair::Bursts { packets, .. } => {
                let burst = u32::from(packets).clamp(1, window);
                end.min((self.base / burst + 1).saturating_mul(burst))
            }
            _ => end,
        }
    }

    fn repair(&self) -> Option<Pick> {
        let missing = self.missing();
        let first = missing.from(self.base).next()?;
        match self.habits.repair {
            // Small messages differ in length.
            _ if self.train => Some(Pick::one(first)),
            Repair::Plain => Some(Pick::one(first)),
            Repair::Bursts { .. } => {
                let answered = |seat: &Seat| {
                    let told = seat.echo.wrapping_sub(self.asked) < 1 << 31;
                    told || seat.expected == self.next
                };
                let told = self.next == self.end() && self.up().all(answered);
                told.then(|| Pick::one(first))
            }
            Repair::Coded => {
                // The longer it waits the more packets it finds to combine.
                let age = self.next - first;
                let late = age >= u32::from(self.habits.window) * 7 / 8;
                let due = late || self.next == self.end();
                due.then(|| pick(self.seats.as_ref(), self.base)).flatten()
            }
        }
    }

    fn missing(&self) -> Bits {
        self.up()
            .fold(Bits::default(), |bits, seat| bits.or(&seat.missing))
    }

    /// Does this frame ask? Often enough, and when nothing can follow it without a report.
    pub(super) fn asks_with(&self, step: &Step) -> bool {
        if self.train {
            return self.train_asks_with(step);
        }
        if let Repair::Bursts { asked: false, .. } = self.habits.repair {
            return matches!(step, Step::Announce | Step::Poll);
        }
        let often = !matches!(self.habits.repair, Repair::Bursts { .. })
            && self.unasked + 1 >= self.habits.ask_after;
        let last = match step {
            Step::Announce | Step::Poll => true,
            Step::Packet(packet) => packet + 1 == self.end(),
            // A closed window waits for nothing but reports, and one of them may be lost.
            Step::Repair(_) => self.next == self.end(),
        };
        often || last
    }

    /// Small messages are acknowledged by and by, as long as there is room for more and the round trip is known.
    fn train_asks_with(&self, step: &Step) -> bool {
        let Step::Packet(packet) = step else {
            return true;
        };
        let quarter = (Ring::<Z, S>::PLACES / 4).max(1) as u16;
        let room = self.up().map(|seat| seat.expected + seat.credit).min();
        let closes = room.is_some_and(|room| packet + 1 >= room);
        let unknown = self.trip.usual().is_none() && self.asks == 0;
        closes || unknown || self.unasked + 1 >= quarter
    }
}
