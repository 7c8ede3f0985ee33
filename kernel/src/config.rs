//! What a composition consists of: one policy of each family, and the sizes of all tables.

use crate::aspect::{Buffering, Capacity, Datatypes, Observer, Representation, Storage};
use crate::envelope::EnvelopeFormat;
use crate::matching::Matcher;

/// The policies of a communicator. Libraries are generic over it; final programs name [`Selected`](crate::Selected) or their own.
///
/// The width of lengths and the transfer protocol, which envelopes depend on, are those of [`EnvelopeFormat`].
pub trait Config: EnvelopeFormat + 'static {
    /// The matching of receives and messages.
    type Matcher: Matcher;
    /// The storage of tables.
    type Storage: Storage;
    /// The sizes of tables.
    type Sizes: Sizes;
    /// The events that are counted.
    type Observer: Observer;
    /// The datatypes of messages.
    type Datatypes: Datatypes;
    /// The representation of values between machines.
    type Representation: Representation;
    /// Whether the kernel may copy messages to send them later.
    type Buffering: Buffering;
}

/// The sizes of all tables. Each bound names the error beyond it.
pub trait Sizes: 'static {
    /// Number of sends and receives in progress or unclaimed: beyond it [`Error::Full`](crate::Error::Full).
    type Operations: Capacity;
    /// Number of all unexpected messages, divided evenly among the peers as credit: beyond it senders keep their
    /// messages.
    type Pool: Capacity;
    /// Payload of one unexpected message in bytes, which is also the longest eager message.
    type Cell: Capacity;
    /// Number of peers on the channel: beyond it [`Error::TooManyPeers`](crate::Error::TooManyPeers).
    type Peers: Capacity;
}
