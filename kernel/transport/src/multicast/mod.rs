//! One sender, many receivers, on a network that loses frames: reliable broadcast. Collectives and drivers use it.
//!
//! A [`Sender`] sends a message as packets within a window. Its frames carry stamps; now and then one asks, and each
//! receiver's [`Receiver`] reports the highest stamp it heard and what it has. So the sender knows who lacks what, and one
//! repair can serve several receivers: the exclusive or of packets of which each of them lacks just one. [`GroupTable`] is a
//! table of groups over one network, with a sender and its receivers for each.
//!
//! A small message is copied and goes at once, in one frame: several form a train, in which every packet is a message,
//! and receivers keep them until somebody comes for them. A longer one is announced first, and sent when every receiver
//! has made room; the users' own buffers hold it on both sides: they are shown at every call and nothing of them is
//! kept in between.
//!
//! | bound | set by | at the bound |
//! | --- | --- | --- |
//! | packets under way | [`SenderConfig::window`], the least credit of a receiver, 256 | waits for reports |
//! | small messages that not all receivers have | [`GroupSizes::Kept`] | [`ChannelError::Full`](pombo_kernel::ChannelError::Full) |
//! | small messages that a receiver keeps of a sender | [`GroupSizes::Kept`] | the sender waits |
//! | long messages under way of one sender in one group | 1 | [`ChannelError::Full`](pombo_kernel::ChannelError::Full) |
//! | receivers of a group | [`GroupSizes::Members`], 64 | [`Error::TooManyPeers`](pombo_kernel::Error::TooManyPeers) |
//! | packets of a message | 2^31 | [`ChannelError::TooLong`](pombo_kernel::ChannelError::TooLong) |
//!
//! Where the network stops carrying frames for all, though it carries those for one, each receiver gets its own
//! ([`Sender::is_unicast_only`]).
//!
//! A silent receiver is asked more and more rarely; that it is dead comes from outside ([`Sender::declare_lost`]).
//! ECCLib's stop-and-wait bursts are here as well ([`Repair::Bursts`]), to compare with.

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

/// How much is kept.
pub trait GroupSizes: 'static {
    /// Groups of a [`GroupTable`].
    type Groups: Capacity;
    /// Receivers of a group, at most 64.
    type Members: Capacity;
    /// Bytes of the longest frame of the network that is used, up to 65535.
    type Mtu: Capacity;
    /// Small messages of one sender in one group, on each side: a power of two up to 256, the same at all peers.
    type Kept: Capacity;
    /// Bytes of the longest small message; shorter where the network's frames are. The same at all peers.
    type Small: Capacity;
}

/// Sizes written down as a type.
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

/// How a message was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendStatus {
    /// Its memory may change at once.
    Copied,
    /// Its bytes are shown at every call until it is over.
    Borrowed,
}

/// Which group, in which life of the job: the same at all its peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireGroup {
    /// Among the groups of the job.
    pub group: GroupId,
    /// A random number for the job, as for [`Reliable`](crate::Reliable).
    pub epoch: u32,
}

/// How a sender behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderConfig {
    /// How it repairs.
    pub repair: Repair,
    /// Packets under way, 1 to 256. Their bytes should fit the buffer of a switch's port.
    pub window: u16,
    /// Frames after which it asks for reports, if it does not wait for them anyway.
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

/// What happens to packets that some receiver lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Repair {
    /// Repairs serve as many receivers as possible.
    Coded,
    /// Each packet that anyone lacks is sent again.
    Plain,
    /// A burst, then what anyone lacks of it, until all have all; then the next.
    Bursts {
        /// Packets of a burst, up to the window.
        packets: u16,
        /// Do receivers report when they are asked by the last packet, or (false) by a timer of their own?
        asked: bool,
    },
}

/// What has happened to the frames of a group at one peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MulticastStats {
    /// Packets that left for the first time.
    pub packets: u64,
    /// Packets that left again alone.
    pub resent: u64,
    /// Several packets that left again as one.
    pub repairs: u64,
    /// Frames that only ask or announce.
    pub polls: u64,
    /// Reports that left.
    pub reports: u64,
    /// Packets that came for the first time.
    pub received: u64,
    /// Of these, those won from repairs.
    pub decoded: u64,
    /// Packets and repairs that brought nothing new.
    pub useless: u64,
    /// Of another protocol or group, too short, or of a peer that is not in the group: dropped.
    pub foreign: u64,
    /// Of groups that are not open here, in a table of groups: dropped.
    pub elsewhere: u64,
    /// The checksum was wrong: dropped.
    pub corrupt: u64,
    /// Of another epoch or an earlier message: dropped.
    pub stale: u64,
    /// They say what cannot be: dropped.
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
