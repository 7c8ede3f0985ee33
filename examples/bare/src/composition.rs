//! The protocol's header and the policies and sizes of its communicator. Both sides must have the same.

use pombo_collective::{Protocol, SharedMemory};
use pombo_kernel::aspect::{Eager, Static};
use pombo_kernel::matching::Linear;
use pombo_kernel::prelude::*;
use pombo_kernel::{Capacities, Composition, Select};
use pombo_transport::reliable::Window;
use static_assertions::const_assert;

header! {
    /// The protocol: what a message is for, and its number there.
    pub struct Message {
        /// Which exchange it belongs to.
        pub kind: u8,
        /// Its number within the exchange.
        pub number: U32,
    }
}

impl Protocol<Message> for Message {
    fn header(&self) -> Message {
        *self
    }

    fn pattern(&self, from: Peer) -> Select<Message> {
        Select::from(Exact(*self)).from_peer(from)
    }
}

/// The most ranks of a job.
pub const PEERS: usize = 4;
/// Operations under way, and unexpected messages that wait: the slots of the queues.
const SLOTS: usize = 16;
/// Bytes of the longest message.
const CELL: usize = 512;
/// Bytes of the longest frame that is used of a network: a message with the headers of kernel and channel.
pub const FRAME: usize = 608;

/// The policies: short lengths, no rendezvous, linear matching, no allocator.
pub type Small = Composition<U32, Eager, Linear, Static, Capacities<SLOTS, SLOTS, CELL, PEERS>>;
/// Frames under way to and from each peer.
pub type Windows = Window<PEERS, 4, FRAME>;
/// The communicator of the programs, over any channel.
pub type Comm<'buf, L> = Communicator<Message, L, SharedMemory<'buf>, Small>;

/// What 16 operations and 16 waiting messages of 512 bytes take, without the channel.
const SLOTS_BYTES: usize = size_of::<Comm<'static, pombo_kernel::channel::SelfChannel<FRAME>>>()
    - size_of::<pombo_kernel::channel::SelfChannel<FRAME>>();
const_assert!(SLOTS_BYTES <= 11 << 10);
