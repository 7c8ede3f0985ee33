//! The errors of the kernel.

use crate::channel::ChannelError;
use crate::channel::GroupId;
use crate::header::Peer;
use crate::text::{ToText, WriteText, fill};

/// Errors of a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The table of operations is full: claim finished ones, or compose a larger one.
    Full,
    /// The receiver's pool is full and the composition has no rendezvous: call `check_messages`, then send again.
    NoCredit(Peer),
    /// The message is longer than the composition or the channel allows.
    TooLong {
        /// The longest message in bytes.
        limit: usize,
    },
    /// There is no such peer on this channel.
    NoSuchPeer(Peer),
    /// There is no such group here: open each number once, in ascending order.
    NoSuchGroup(GroupId),
    /// The channel has more peers than the composition allows.
    TooManyPeers {
        /// Peers on the channel.
        peers: usize,
        /// Largest number of peers of the composition.
        bound: usize,
    },
    /// The pool has less than one slot for every peer: compose a larger one.
    PoolTooSmall {
        /// Peers on the channel.
        peers: usize,
        /// Number of slots in the pool.
        pool: usize,
    },
    /// The message was longer than the buffer; the first `room` bytes are in it.
    Truncated {
        /// Length of the message in bytes.
        sent: usize,
        /// Length of the buffer in bytes.
        room: usize,
    },
    /// The operation was cancelled before it matched.
    Cancelled,
    /// The sender withdrew the message after it had matched, because its buffer went out of scope.
    Revoked,
    /// The operation did not complete in the given time.
    TimedOut,
    /// The peer is lost.
    PeerLost(Peer),
    /// This ticket names no operation here: it was claimed, or it belongs to another scope.
    UnknownTicket,
    /// A layout has a displacement or a length of more than 63 bits, or more than 32 groups within each other.
    LayoutOverflow,
    /// A layout reaches beyond the memory that is to be lent.
    OutOfBounds,
    /// The composition lacks the named aspect: choose it.
    FeatureDisabled(&'static str),
    /// The channel below failed.
    Channel(ChannelError),
}

crate::text::display_as_text! { Error }

impl ToText for Error {
    fn put_text(&self, out: &mut dyn WriteText) {
        match *self {
            Error::Full => out.write_text("the table of operations is full: claim finished ones"),
            Error::NoCredit(to) => {
                fill!(out, "the pool of peer {} is full: check for messages, then send again", to)
            }
            Error::TooLong { limit } => {
                fill!(out, "the message is longer than the {} bytes that this composition carries", limit)
            }
            Error::NoSuchPeer(peer) => fill!(out, "there is no peer {} on this channel", peer),
            Error::NoSuchGroup(group) => fill!(
                out,
                "group {} is not open here, or cannot be opened: open each number once, in ascending order",
                group
            ),
            Error::TooManyPeers { peers, bound } => {
                fill!(out, "{} peers on the channel, but the composition has places for {}", peers, bound)
            }
            Error::PoolTooSmall { peers, pool } => {
                fill!(out, "a pool of {} places is too small for {} peers", pool, peers)
            }
            Error::Truncated { sent, room } => {
                fill!(out, "a message of {} bytes came into a buffer of {}", sent, room)
            }
            Error::Cancelled => out.write_text("the operation was cancelled"),
            Error::Revoked => out.write_text("the sender withdrew the message"),
            Error::TimedOut => out.write_text("the time that the call was given is over"),
            Error::PeerLost(peer) => fill!(out, "peer {} is gone", peer),
            Error::UnknownTicket => out.write_text("the ticket names no operation here"),
            Error::LayoutOverflow => {
                out.write_text("the layout has a displacement or a length of more than 63 bits, or is nested too deep")
            }
            Error::OutOfBounds => out.write_text("the layout reaches beyond the memory"),
            Error::FeatureDisabled(aspect) => {
                fill!(out, "this composition has no {}: choose it to use this", aspect)
            }
            Error::Channel(error) => fill!(out, "the channel failed: {}", error),
        }
    }
}

impl core::error::Error for Error {}

impl From<ChannelError> for Error {
    fn from(error: ChannelError) -> Self {
        match error {
            ChannelError::PeerLost(peer) => Error::PeerLost(peer),
            ChannelError::NoSuchPeer(peer) => Error::NoSuchPeer(peer),
            other => Error::Channel(other),
        }
    }
}

/// The error of an operation that was not accepted, which returns the buffer.
#[derive(Debug)]
pub struct Refused<T> {
    /// The buffer that was to be lent.
    pub loan: T,
    /// The reason of the refusal.
    pub error: Error,
}

impl<T> From<Refused<T>> for Error {
    fn from(refused: Refused<T>) -> Self {
        refused.error
    }
}
