//! What has happened at one peer.

/// Frames that a [`Reliable`](super::Reliable) has seen, by what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReliableStats {
    /// Frames of the user that left for the first time.
    pub sent: u64,
    /// Frames that left again.
    pub resent: u64,
    /// Frames without payload that left: they say what has arrived.
    pub reports: u64,
    /// Frames handed to the user.
    pub received: u64,
    /// Of these, those that came too early and were kept.
    pub kept: u64,
    /// Frames that had arrived already.
    pub duplicates: u64,
    /// Frames beyond the window; their sender has them still.
    pub beyond: u64,
    /// Too short, of another protocol or of an unknown peer: dropped.
    pub foreign: u64,
    /// The checksum was wrong: dropped.
    pub corrupt: u64,
    /// Of another epoch, or of a peer that is lost: dropped.
    pub stale: u64,
    /// They acknowledge what was never sent: dropped.
    pub impossible: u64,
}
