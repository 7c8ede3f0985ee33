//! What became of the frames between hosts, for statistics.

use core::ops::Add;

/// What became of the frames between hosts. Those in memory are not counted: nothing becomes of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Frames that left for the first time, reports among them.
    pub frames: u64,
    /// Frames that left again.
    pub resent: u64,
    /// Frames that repair others of a group.
    pub repairs: u64,
    /// Frames that arrived again.
    pub duplicates: u64,
    /// Frames that arrived and found no place, or were lost on purpose.
    pub dropped: u64,
    /// Frames that were not believed.
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
