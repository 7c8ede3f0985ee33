//! The faults of one link. `FaultyNetwork` and the simulator of `pombo-testing` use it.

use alloc::vec::Vec;

use super::{FaultCounts, Faults, Rate, SeededRng};

/// The faults of one direction between two peers.
pub struct LinkFaults {
    rng: SeededRng,
    /// The time until which the link pauses.
    stalled_until: u64,
}

impl LinkFaults {
    /// Creates the faults of link `number`, which are independent of those of other links.
    pub fn new(seed: u64, number: u64) -> Self {
        LinkFaults {
            rng: SeededRng::stream(seed, number),
            stalled_until: 0,
        }
    }

    /// Returns whether the next frame is lost.
    pub(super) fn is_lost(&mut self, rate: Rate, counts: &mut FaultCounts) -> bool {
        let lost = self.rng.chance(rate);
        counts.lost += u64::from(lost);
        lost
    }

    /// Applies the faults to a frame that is to arrive at time `at`, in nanoseconds: `out` gets each copy, with its
    /// arrival time. Outages and crashes of the plan are ignored here.
    pub fn apply(
        &mut self,
        faults: &Faults,
        counts: &mut FaultCounts,
        at: u64,
        frame: &[u8],
        mut out: impl FnMut(u64, Vec<u8>),
    ) {
        if self.is_lost(faults.loss, counts) {
            return;
        }
        if self.rng.chance(faults.stall) {
            counts.stalled += 1;
            self.stalled_until = at.max(self.stalled_until) + self.rng.below(faults.max_pause);
        }
        let at = at.max(self.stalled_until);
        let mut late = at;
        if self.rng.chance(faults.reorder) {
            counts.reordered += 1;
            late += 1 + self.rng.below(faults.max_delay);
        }
        out(late, self.damage(faults, counts, frame));
        if self.rng.chance(faults.duplicate) {
            counts.duplicated += 1;
            let late = at + self.rng.below(faults.max_delay.max(1));
            out(late, self.damage(faults, counts, frame));
        }
    }

    fn damage(&mut self, faults: &Faults, counts: &mut FaultCounts, frame: &[u8]) -> Vec<u8> {
        let mut frame = Vec::from(frame);
        if self.rng.chance(faults.truncate) {
            counts.truncated += 1;
            frame.truncate(self.rng.index(frame.len()));
        }
        if self.rng.chance(faults.corrupt) && !frame.is_empty() {
            counts.corrupted += 1;
            for _ in 0..1 + self.rng.below(8) {
                let bit = self.rng.index(frame.len() * 8);
                frame[bit / 8] ^= 1 << (bit % 8);
            }
        }
        frame
    }
}
