//! What carries long messages where raw Ethernet carries the others. `raw_ethernet` finds it out, `connect` says it.

use crate::bootstrap::JobError;
use crate::settings::{ETHERNET_BULK, RAW};
use alloc::boxed::Box;

/// Longest frame, in bytes, of a network of usual MTU: raw frames of 9000 bytes are as fast as UDP.
pub(super) const USUAL_FRAME: usize = 1500;
/// The slowest line, in megabits per second, that raw frames of usual length do not fill: they come to some 3 Gb/s.
pub(super) const FAST_LINE: u32 = 2500;

/// What carries long messages, with the reason if it is raw Ethernet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bulk {
    /// UDP carries them.
    Udp,
    /// The line of a rank is too slow for a difference.
    SlowLine,
    /// A rank does not receive all others' datagrams.
    Unheard,
    /// The user of a rank wants raw Ethernet.
    Unwanted,
}

impl Bulk {
    /// Returns what the user of this rank wants.
    pub(super) fn asked() -> Result<Self, Box<JobError>> {
        ETHERNET_BULK.read(|text| match text {
            "auto" => Some(Bulk::Udp),
            RAW => Some(Bulk::Unwanted),
            _ => None,
        })
    }

    /// Returns the letter by which a rank tells it to the others.
    pub(super) fn letter(self) -> char {
        match self {
            Bulk::Udp => 'u',
            Bulk::SlowLine => 's',
            Bulk::Unheard => 'n',
            Bulk::Unwanted => 'r',
        }
    }

    pub(super) fn of_letter(letter: char) -> Option<Self> {
        let all = [Bulk::Udp, Bulk::SlowLine, Bulk::Unheard, Bulk::Unwanted];
        all.into_iter().find(|bulk| bulk.letter() == letter)
    }

    /// Returns the end of the line that says what was taken.
    pub(super) fn description(self) -> &'static str {
        match self {
            Bulk::Udp => ", and UDP for long messages, as the line is fast and frames are short",
            Bulk::SlowLine => ", for long messages too, as a line has 1 Gb/s or less",
            Bulk::Unheard => ", for long messages too, as UDP does not reach all ranks",
            Bulk::Unwanted => ", for long messages too, as POMBO_ETHERNET_BULK says",
        }
    }
}
