//! The wire form of the protocol.

use super::{AdaptiveError, EdgeWeight, Fragment};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A message between neighbours: 34 bytes, little endian. It may be sent as it is, or be the header of a message.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Message {
    pub(super) kind: u8,
    pub(super) level: u8,
    pub(super) epoch: U32,
    pub(super) round: U32,
    pub(super) tag: U32,
    pub(super) count: U32,
    pub(super) low: U32,
    pub(super) high: U32,
    pub(super) weight: U64,
}

/// What a message says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// The sender's measured weight of this link, in ns. The first message of a new epoch on every link.
    Weight,
    /// The sender has taken note of the weight, in a round.
    WeightAck,
    /// The sender's fragment has this link as its least outgoing edge.
    Connect,
    /// The level and the identity of the fragment; with a search for its least outgoing edge, or without.
    Initiate,
    /// Is the receiver in another fragment?
    Test,
    /// It is.
    Accept,
    /// It is in the same one.
    Reject,
    /// The least outgoing edge of a subtree.
    Report,
    /// The least outgoing edge lies in the direction of the receiver, which connects there.
    ChangeRoot,
    /// A wave from the root: has every link that became worse been seen to?
    NotFail,
    /// The answer of a subtree.
    NotFailAck,
    /// Every such link has been seen to.
    GoSleepFail,
    /// A wave from the root: has every link that became better been seen to?
    NotRec,
    /// The answer of a subtree.
    NotRecAck,
    /// Every such link has been seen to: the tree stands.
    GoSleepRec,
    /// Tree links that became worse leave the tree; the fragments get new identities and join.
    Reiden,
    /// Tree links that may be the heaviest of a cycle leave the tree; the fragments get new identities and join.
    Recover,
    /// The root of coming operations.
    Root,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 18] = [
        Kind::Weight,
        Kind::WeightAck,
        Kind::Connect,
        Kind::Initiate,
        Kind::Test,
        Kind::Accept,
        Kind::Reject,
        Kind::Report,
        Kind::ChangeRoot,
        Kind::NotFail,
        Kind::NotFailAck,
        Kind::GoSleepFail,
        Kind::NotRec,
        Kind::NotRecAck,
        Kind::GoSleepRec,
        Kind::Reiden,
        Kind::Recover,
        Kind::Root,
    ];
}

impl Message {
    pub(super) fn new(kind: Kind) -> Message {
        Message {
            kind: kind as u8,
            level: 0,
            epoch: U32::ZERO,
            round: U32::ZERO,
            tag: U32::ZERO,
            count: U32::ZERO,
            low: U32::ZERO,
            high: U32::ZERO,
            weight: U64::ZERO,
        }
    }

    pub(super) fn with_level(self, level: u8) -> Message {
        Message { level, ..self }
    }

    pub(super) fn with_count(self, count: u32) -> Message {
        let count = count.into();
        Message { count, ..self }
    }

    pub(super) fn with_fragment(self, Fragment { low, high }: Fragment) -> Message {
        let (low, high) = (low.into(), high.into());
        Message { low, high, ..self }
    }

    pub(super) fn with_edge(self, edge: EdgeWeight) -> Message {
        let weight = edge.weight.into();
        Message { weight, ..self }.with_fragment(edge.ends)
    }

    pub(super) fn with_weight(self, weight: u64) -> Message {
        let weight = weight.into();
        Message { weight, ..self }
    }

    pub(super) fn with_round(self, round: u32) -> Message {
        let low = round.into();
        Message { low, ..self }
    }

    pub(super) fn fragment(&self) -> Fragment {
        Fragment {
            low: self.low.get(),
            high: self.high.get(),
        }
    }

    pub(super) fn edge(&self) -> EdgeWeight {
        EdgeWeight {
            weight: self.weight.get(),
            ends: self.fragment(),
        }
    }

    /// Returns what the message says.
    ///
    /// # Errors
    /// `Malformed` if the protocol has no such kind.
    pub fn kind(&self) -> Result<Kind, AdaptiveError> {
        let kind = Kind::ALL.get(usize::from(self.kind)).copied();
        kind.ok_or(AdaptiveError::Malformed)
    }
}
