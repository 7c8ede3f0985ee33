//! Counters of the frames between hosts, for statistics.

use core::ops::Add;

/// Counters of the frames between hosts. Frames in shared memory are not counted: none is lost or resent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Frames sent for the first time, reports included.
    pub frames: u64,
    /// Frames resent.
    pub resent: u64,
    /// Repair frames of groups.
    pub repairs: u64,
    /// Frames received more than once.
    pub duplicates: u64,
    /// Frames received without room for them, or lost by injection.
    pub dropped: u64,
    /// Frames rejected as foreign, forged or invalid.
    pub rejected: u64,
}

impl Add for Traffic {
    type Output = Traffic;

    fn add(self, other: Traffic) -> Traffic {
        Traffic {
            frames: self.frames + other.frames,
            resent: self.resent + other.resent,
            repairs: self.repairs + other.repairs,
            duplicates: self.duplicates + other.duplicates,
            dropped: self.dropped + other.dropped,
            rejected: self.rejected + other.rejected,
        }
    }
}
