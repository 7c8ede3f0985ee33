//! Ranks on any hosts, over UDP. `no_std` with an allocator; needs no rights. A launcher uses it, and tests.
//!
//! Every rank binds ([`Udp::bind`]) and publishes where it is; whoever starts the job hands the table of all addresses
//! round; then each joins ([`BoundUdp::join`]). The place in the table is the peer. [`BoundUdp::join_multicast`] makes the device
//! for groups of the same first step, over multicast or, where that does not pass, plain broadcast; frames of the two
//! never mix, as each has its socket.
//!
//! A frame is a datagram. It goes out from where its parts lie, or beside others of its length in one call for all of
//! them, which the system cuts apart (UDP_SEGMENT); where it joins them again (UDP_GRO), they are read as one. They are
//! read in a ring of this driver, a batch to a call.
//! Datagrams from addresses that are not in the table are counted and dropped. What the system checks is UDP's sum of
//! 16 bits behind that of the wire: as much as TCP has.
//!
//! | bound | |
//! | --- | --- |
//! | datagrams taken at once | 32, each of up to 64 frames of one sender |
//! | frames that leave at once | 64, below 64 KiB together, to one address |
//! | frames that wait for a poll | what the system grants of [`RECEIVE_BYTES`]; beyond it they are lost |
//! | frames that wait to leave | what it grants of [`SEND_BYTES`]; beyond it the device is full |
//! | bytes of a frame | what the interface carries in one piece |
//! | peers | 65535 |
//!
//! Somebody who is not there, or a network that is down, is no error: frames are lost and counted. That a peer is gone
//! comes from elsewhere. So it is with frames that this host does not let out, by a rule of its firewall or a route that
//! forbids them: only where nothing leaves for one address for 10 seconds, or as long as
//! [`Udp::set_refused_limit`] says, it is [`ChannelError::Device`](pombo_kernel::ChannelError::Device) with EPERM (1)
//! or EACCES (13), and [`Udp::refused`] names the address.

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
