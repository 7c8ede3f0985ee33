//! Counters of the frames of one peer.

/// Frames of a [`Reliable`](super::Reliable), by their fate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReliableStats {
    /// Frames of the user that left for the first time.
    pub sent: u64,
    /// Frames that left again.
    pub resent: u64,
    /// Reports that left: frames without payload that acknowledge.
    pub reports: u64,
    /// Frames delivered to the user.
    pub received: u64,
    /// Of these, frames that had arrived too early and were stored.
    pub kept: u64,
    /// Frames that had arrived already.
    pub duplicates: u64,
    /// Frames beyond the window; their sender still has them.
    pub beyond: u64,
    /// Frames that are too short, of another protocol or of an unknown peer: dropped.
    pub foreign: u64,
    /// Frames with a wrong checksum: dropped.
    pub corrupt: u64,
    /// Frames of another epoch, or of a lost peer: dropped.
    pub stale: u64,
    /// Frames that acknowledge what was never sent: dropped.
    pub impossible: u64,
}
