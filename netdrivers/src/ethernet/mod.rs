//! Ranks on the hosts of one Ethernet segment, without IP. `no_std` with an allocator; Linux. A launcher uses it.
//!
//! Every peer opens a socket at an interface ([`Ethernet::open`]) and publishes where it is; whoever starts the job
//! hands the table of all addresses round; then each joins ([`BoundEthernet::join`]). The place in the table is the peer.
//! Two sockets of one peer, one for each [`Traffic`], give the devices for single peers and for groups; their frames
//! never meet. Every peer has a socket of its own, also where several share an interface, and a filter in the system
//! that passes only what is for it; so nobody's progress depends on another's.
//!
//! A frame goes out from where its parts lie, and is read in memory that is shared with the system, which puts it there
//! when it comes: to look for frames is no system call. Peers of the same
//! host reach each other by its loopback interface, not by the segment; shared memory is better for that. What comes
//! from an interface that the table does not have for that peer is counted and dropped: this keeps mistakes out, not
//! enemies, for whom there is authentication (`pombo-transport`).
//! Interfaces check a sum of 32 bits, which whoever writes to the segment makes as well: it does not count as a check.
//!
//! | bound | |
//! | --- | --- |
//! | frames taken at once | 32 |
//! | frames that wait for a poll | 640 where 1500 bytes are the longest, 112 with 9000, 32 with 65000: 1 MiB, or 2; beyond it they are lost, and counted |
//! | frames that wait to leave | what the line takes in 3 ms, 24 to what it grants of [`SEND_BYTES`]; beyond it the device is full |
//! | bytes of a frame | what the interfaces of all peers carry |
//! | peers | 65535 |
//!
//! An interface that is down is no error: frames are lost and counted, and when it is up again all goes on. One that is
//! taken away is [`ChannelError::Device`](pombo_kernel::ChannelError::Device) with ENXIO (6) for who sends;
//! [`Ethernet::interface`] names it. One whose MTU is lowered is the same with EMSGSIZE (90), and [`Ethernet::reduced_mtu`]
//! says from what to what.

mod address;
mod bound;
mod device;
mod error;
mod filter;
mod frame;
mod frame_io;
mod interface;
#[cfg(feature = "pnet")]
mod pnet;
mod privileged_helper;
#[cfg(feature = "pnet")]
mod ring_or_pnet;
mod rx_ring;
mod send_queue_limit;
mod sniffer;
mod socket;
mod table;

pub use address::Address;
pub use bound::BoundEthernet;
pub use device::{Ethernet, EthernetCounts};
pub use error::EthernetError;
pub use frame::{ETHER_TYPE, FrameAddress, Traffic};
pub use frame_io::{AfPacket, FrameIo};
pub use interface::{Interface, interfaces};
#[cfg(feature = "pnet")]
pub use pnet::Pnet;
pub use pnet_base::MacAddr;
pub use privileged_helper::{EXIT_FORBIDDEN, parse_arguments, pass_socket};
#[cfg(feature = "pnet")]
pub use ring_or_pnet::RingOrPnet;
pub use sniffer::{SniffedFrame, Sniffer};
pub use socket::{RECEIVE_BYTES, SEND_BYTES};

/// What an [`Ethernet`] stands on: the ring, or with the feature `pnet` the way that it was opened by.
#[cfg(not(feature = "pnet"))]
pub type SelectedIo = AfPacket;
/// What an [`Ethernet`] stands on: the way that it was opened by.
#[cfg(feature = "pnet")]
pub type SelectedIo = RingOrPnet;
