//! Ranks on any hosts, over UDP. `no_std` with an allocator; needs no privileges. Launchers and tests use it.
//!
//! Every rank binds ([`Udp::bind`]) and publishes its address; the launcher distributes the table of all addresses;
//! then each rank joins ([`BoundUdp::join`]). The index in the table is the peer number. [`BoundUdp::join_multicast`]
//! makes the multicast device from the same first step, over multicast or, where that does not pass, broadcast; frames
//! of the two devices never mix, because each has a socket of its own.
//!
//! A frame is a datagram. It is gathered from its parts, or leaves together with others of its length by one call,
//! which the system segments (UDP_SEGMENT); if the receiving system coalesces them (UDP_GRO), they are read as one.
//! Datagrams are received into a ring of this driver, a batch per call. Datagrams from addresses that are not in the
//! table are counted and dropped. The system checks UDP's checksum of 16 bits in addition to that of the link: as much
//! as TCP has.
//!
//! | bound | |
//! | --- | --- |
//! | datagrams taken at once | 32, each of up to 64 frames of one sender |
//! | frames that leave at once | 64, below 64 KiB together, to one address |
//! | frames that wait for a poll | what the system grants of [`RECEIVE_BYTES`]; beyond it they are lost |
//! | frames that wait to leave | what it grants of [`SEND_BYTES`]; beyond it the device is full |
//! | bytes of a frame | what the interface carries without fragmentation |
//! | peers | 65535 |
//!
//! A receiver that does not exist, or a network that is down, is no error: frames are lost and counted. The loss of a
//! peer is reported elsewhere. Frames that this host refuses to send, by a rule of its firewall or a route, are lost
//! and counted too: only if no frame leaves for one address for 10 seconds, or as long as [`Udp::set_refused_limit`]
//! says, the error is [`ChannelError::Device`](pombo_kernel::ChannelError::Device) with EPERM (1) or EACCES (13), and
//! [`Udp::refused`] returns the address.

mod address;
mod bound;
mod device;
mod device_state;
mod error;
mod gso;
mod interface;
pub(crate) mod iovec;
mod multicast;
mod recv_batch;
mod send_refusals;
mod socket;

pub use address::SockAddr;
pub use bound::{BoundUdp, multicast_group};
pub use device::Udp;
pub use device_state::UdpCounts;
pub use error::UdpError;
pub use interface::{Interface, interfaces};
pub use multicast::UdpMulticast;
pub use socket::{RECEIVE_BYTES, SEND_BYTES};
