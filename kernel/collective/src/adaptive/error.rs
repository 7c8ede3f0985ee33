//! What can be wrong with a call of this module.

use core::fmt;

/// Why a call did nothing. A message that causes one is dropped and counted; the state is as before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AdaptiveError {
    /// The number is not the index of a link, or the link is lost.
    NoSuchLink(usize),
    /// Two links lead to this neighbour, or a link leads to the process itself: weights would not be distinct.
    DuplicateNeighbour(u32),
    /// The message has a kind or a body that the protocol does not have.
    Malformed,
    /// No correct neighbour sends this message now.
    Unexpected,
    /// The tree is being built or adapted: call again when `is_settled` holds.
    Unsettled,
    /// The reply belongs to no probe that is under way: it is too late, or a duplicate.
    LateReply,
    /// The times of a reply contradict each other: the other end held the probe for longer than it was away.
    ImpossibleTimes,
}

impl fmt::Display for AdaptiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchLink(link) => write!(
                f,
                "there is no link {link}, or it is lost: name one of the links by its index"
            ),
            Self::DuplicateNeighbour(id) => write!(
                f,
                "process {id} is twice among a process and its neighbours: give each pair one link"
            ),
            Self::Malformed => f.write_str(
                "the message is not one of this protocol: check that both ends use the same version",
            ),
            Self::Unexpected => f.write_str(
                "no correct neighbour sends this message now: check that links deliver each message once, in order",
            ),
            Self::Unsettled => {
                f.write_str("the tree is changing: call again when the process is settled")
            }
            Self::LateReply => {
                f.write_str("the reply is late or a duplicate: nothing needs to be done")
            }
            Self::ImpossibleTimes => f.write_str(
                "the times in the reply contradict each other: check the clocks of both ends",
            ),
        }
    }
}

impl core::error::Error for AdaptiveError {}
