//! Reliable broadcast from one sender to many receivers, on a network that loses frames. Collectives and drivers use
//! it.
//!
//! A [`Sender`] sends a message as packets within a window. Its frames carry stamps and occasionally a poll; each
//! receiver's [`Receiver`] reports the highest stamp that it received and its packets. So the sender knows which
//! receiver lacks which packets, and one repair can serve several receivers: it is the exclusive or of packets of which
//! each of them lacks just one. [`GroupTable`] is a table of groups over one network, with a sender and its receivers
//! for each.
//!
//! A small message is copied and sent at once in one frame: several form a train, in which every packet is a message,
//! and receivers keep them until the user receives them. A longer message is announced first, and sent when every
//! receiver has made room; the users' own buffers hold it on both sides: every call passes them, and no reference is
//! kept in between.
//!
//! | bound | set by | at the bound |
//! | --- | --- | --- |
//! | packets in flight | [`SenderConfig::window`], the least credit of a receiver, 256 | the sender waits for reports |
//! | small messages that not all receivers have | [`GroupSizes::Kept`] | [`ChannelError::Full`](pombo_kernel::ChannelError::Full) |
//! | small messages that a receiver keeps of a sender | [`GroupSizes::Kept`] | the sender waits |
//! | long messages in flight of one sender in one group | 1 | [`ChannelError::Full`](pombo_kernel::ChannelError::Full)
//! |
//! | receivers of a group | [`GroupSizes::Members`], 64 | [`Error::TooManyPeers`](pombo_kernel::Error::TooManyPeers) |
//! | packets of a message | 2^31 | [`ChannelError::TooLong`](pombo_kernel::ChannelError::TooLong) |
//!
//! If the network stops delivering broadcasts, though it delivers unicasts, each receiver gets its own copy
//! ([`Sender::is_unicast_only`]).
//!
//! A silent receiver is polled more and more rarely; its loss must be reported by the caller
//! ([`Sender::declare_lost`]). ECCLib's stop-and-wait bursts are implemented as well ([`Repair::Bursts`]), for
//! comparison.

mod frame;
mod index_coding;
mod known_receiver;
mod message_ring;
mod packet_bitmap;
mod reassembly_buffer;
mod receiver;
mod sender;
mod table;
mod tx;
mod with_multicast;

pub use frame::HEADER_LEN;
pub use reassembly_buffer::ReassemblyBuffer;
pub use receiver::Receiver;
pub use sender::Sender;
pub use table::{BufferProvider, GroupTable, NoBuffers};
pub use with_multicast::WithMulticast;

use crate::reliable::frame::Refusal;
use pombo_kernel::aspect::{Cap, Capacity};
pub use pombo_kernel::channel::GroupId;

/// The sizes of the tables and buffers.
pub trait GroupSizes: 'static {
    /// Number of groups of a [`GroupTable`].
    type Groups: Capacity;
    /// Number of receivers of a group, at most 64.
    type Members: Capacity;
    /// Size in bytes of the longest frame of the network that is used, up to 65535.
    type Mtu: Capacity;
    /// Number of small messages of one sender in one group that each side keeps: a power of two up to 256, equal at all
    /// peers.
    type Kept: Capacity;
    /// Size in bytes of the longest small message; less if the network's frames are shorter. Equal at all peers.
    type Small: Capacity;
}

/// Sizes given by type parameters.
pub struct GroupCapacities<
    const MEMBERS: usize,
    const MTU: usize,
    const KEPT: usize = 32,
    const SMALL: usize = 1024,
    const GROUPS: usize = 4,
>;

impl<
    const MEMBERS: usize,
    const MTU: usize,
    const KEPT: usize,
    const SMALL: usize,
    const GROUPS: usize,
> GroupSizes for GroupCapacities<MEMBERS, MTU, KEPT, SMALL, GROUPS>
{
    type Groups = Cap<GROUPS>;
    type Members = Cap<MEMBERS>;
    type Mtu = Cap<MTU>;
    type Kept = Cap<KEPT>;
    type Small = Cap<SMALL>;
}

/// The way in which a sender has accepted a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendStatus {
    /// The message is copied: its memory may change immediately.
    Copied,
    /// Every call must pass the message's bytes until it is complete.
    Borrowed,
}

/// The identity of a group in one epoch of the job: equal at all its peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireGroup {
    /// The number of the group within the job.
    pub group: GroupId,
    /// A random number for the job, as for [`Reliable`](crate::Reliable).
    pub epoch: u32,
}

/// The settings of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderConfig {
    /// The repair strategy.
    pub repair: Repair,
    /// Number of packets in flight, 1 to 256. Their bytes should fit the buffer of a switch's port.
    pub window: u16,
    /// Number of frames after which the sender polls for reports, unless it waits for them anyway.
    pub ask_after: u16,
}

impl Default for SenderConfig {
    fn default() -> Self {
        SenderConfig {
            repair: Repair::Coded,
            window: 256,
            ask_after: 32,
        }
    }
}

/// The treatment of packets that a receiver lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Repair {
    /// Each repair serves as many receivers as possible.
    Coded,
    /// Each packet that any receiver lacks is resent.
    Plain,
    /// The sender sends a burst and resends what any receiver lacks of it, until all have all; then the next burst
    /// follows.
    Bursts {
        /// Number of packets in a burst, up to the window.
        packets: u16,
        /// Whether the last packet polls the receivers; if false, they report by a timer of their own.
        asked: bool,
    },
}

/// Counters of the frames of a group at one peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MulticastStats {
    /// Packets sent for the first time.
    pub packets: u64,
    /// Packets resent alone.
    pub resent: u64,
    /// Repair frames sent, each of several packets.
    pub repairs: u64,
    /// Frames sent that only poll or announce.
    pub polls: u64,
    /// Reports sent.
    pub reports: u64,
    /// Packets received for the first time.
    pub received: u64,
    /// Packets of these that were decoded from repairs.
    pub decoded: u64,
    /// Packets and repairs received without new content.
    pub useless: u64,
    /// Frames of another protocol or group, too short frames, or frames of a peer outside the group: dropped.
    pub foreign: u64,
    /// Frames to a table of groups for groups that are not open: dropped.
    pub elsewhere: u64,
    /// Frames with a wrong checksum: dropped.
    pub corrupt: u64,
    /// Frames of another epoch or an earlier message: dropped.
    pub stale: u64,
    /// Frames with invalid content: dropped.
    pub impossible: u64,
}

impl MulticastStats {
    fn add(&mut self, other: &MulticastStats) {
        let MulticastStats {
            packets,
            resent,
            repairs,
            polls,
            reports,
            received,
            decoded,
            useless,
            foreign,
            elsewhere,
            corrupt,
            stale,
            impossible,
        } = other;
        self.packets += packets;
        self.resent += resent;
        self.repairs += repairs;
        self.polls += polls;
        self.reports += reports;
        self.received += received;
        self.decoded += decoded;
        self.useless += useless;
        self.foreign += foreign;
        self.elsewhere += elsewhere;
        self.corrupt += corrupt;
        self.stale += stale;
        self.impossible += impossible;
    }

    fn refuse(&mut self, refusal: Refusal) {
        match refusal {
            Refusal::Foreign => self.foreign += 1,
            Refusal::Corrupt => self.corrupt += 1,
            Refusal::Stale => self.stale += 1,
        }
    }
}
