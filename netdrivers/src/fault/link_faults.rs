//! What becomes of the frames of one link. `FaultyNetwork` uses it, and the simulator of `pombo-testing`.

use alloc::vec::Vec;

use super::{Counts, Dice, Faults, Rate};

/// What goes wrong on one link: one direction between two nodes.
pub struct LinkFaults {
    dice: Dice,
    /// Nothing passes before this time.
    opens: u64,
}

impl LinkFaults {
    /// Of the link of that number: others do not change what happens on it.
    pub fn new(seed: u64, number: u64) -> Self {
        LinkFaults {
            dice: Dice::stream(seed, number),
            opens: 0,
        }
    }

    /// Is the next frame one that never arrives?
    pub(super) fn loses(&mut self, rate: Rate, counts: &mut Counts) -> bool {
        let loses = self.dice.hits(rate);
        counts.lost += u64::from(loses);
        loses
    }

    /// Decides over a frame that is to arrive at time `at`, in nanoseconds: `out` gets each copy, with the time when it
    /// arrives. Nothing that the plan says of cuts and crashes is looked at.
    pub fn strike(
        &mut self,
        faults: &Faults,
        counts: &mut Counts,
        at: u64,
        frame: &[u8],
        mut out: impl FnMut(u64, Vec<u8>),
    ) {
        if self.loses(faults.lose, counts) {
            return;
        }
        if self.dice.hits(faults.stall) {
            counts.stalled += 1;
            self.opens = at.max(self.opens) + self.dice.below(faults.pause);
        }
        let at = at.max(self.opens);
        let mut late = at;
        if self.dice.hits(faults.reorder) {
            counts.reordered += 1;
            late += 1 + self.dice.below(faults.overtaken);
        }
        out(late, self.damage(faults, counts, frame));
        if self.dice.hits(faults.duplicate) {
            counts.duplicated += 1;
            let late = at + self.dice.below(faults.overtaken.max(1));
            out(late, self.damage(faults, counts, frame));
        }
    }

    fn damage(&mut self, faults: &Faults, counts: &mut Counts, frame: &[u8]) -> Vec<u8> {
        let mut frame = Vec::from(frame);
        if self.dice.hits(faults.truncate) {
            counts.truncated += 1;
            frame.truncate(self.dice.index(frame.len()));
        }
        if self.dice.hits(faults.corrupt) && !frame.is_empty() {
            counts.corrupted += 1;
            for _ in 0..1 + self.dice.below(8) {
                let bit = self.dice.index(frame.len() * 8);
                frame[bit / 8] ^= 1 << (bit % 8);
            }
        }
        frame
    }
}
