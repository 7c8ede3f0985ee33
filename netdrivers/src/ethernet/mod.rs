//! Ranks on the hosts of one Ethernet network, without IP. `no_std` with an allocator; Linux. Launchers use it.
//!
//! Every peer opens a socket at an interface ([`Ethernet::open`]) and publishes its address; the launcher distributes
//! the table of all addresses; then each peer joins ([`BoundEthernet::join`]). The index in the table is the peer
//! number. Two sockets of one peer, one for each [`Traffic`], give the unicast and the multicast device; their frames
//! never mix. Every peer has a socket of its own, also where several share an interface, and a filter in the system
//! that passes only its frames; so no peer's progress depends on another's.
//!
//! A frame is gathered from its parts, and received into memory that is shared with the system, which puts it there on
//! arrival: a check for frames is no system call. Peers of the same host reach each other over its loopback interface,
//! not over the network; shared memory is better for that. A frame from an interface that the table does not have for
//! its peer is counted and dropped: this detects errors, not attackers, against whom there is authentication
//! (`pombo-transport`). Interfaces check a checksum of 32 bits, which an attacker computes as well: it does not count
//! as a check.
//!
//! Each frame of usual length costs the system more than the line's time for it, from some 3 Gb/s on, whatever takes
//! several in one call: so [`EthernetAndUdp`] leaves long messages to UDP, whose datagrams the system segments late.
//!
//! | bound | |
//! | --- | --- |
//! | frames taken at once | 32 |
//! | frames that wait for a poll | 640 at MTU 1500, 112 at 9000, 32 at 65000 (1 MiB, or 2); then lost and counted |
//! | frames that wait to leave | 3 ms of the link's rate; at least 24, at most what is granted of [`SEND_BYTES`] |
//! | bytes of a frame | the smallest MTU of all peers' interfaces |
//! | peers | 65535 |
//!
//! An interface that is down is no error: frames are lost and counted, and when it is up again communication continues.
//! If an interface is removed, sends fail with [`ChannelError::Device`](pombo_kernel::ChannelError::Device) and ENXIO
//! (6); [`Ethernet::interface`] names it. If its MTU is lowered, sends fail in the same way with EMSGSIZE (90), and
//! [`Ethernet::reduced_mtu`] returns both values.

mod address;
mod bound;
mod device;
mod error;
mod filter;
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
mod with_udp;

pub use crate::ethernet_frame::{ETHER_TYPE, FrameAddress, Traffic};
pub use address::Address;
pub use bound::BoundEthernet;
pub use device::{Ethernet, EthernetCounts};
pub use error::EthernetError;
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
pub use with_udp::EthernetAndUdp;

/// What an [`Ethernet`] stands on: the ring, or with the feature `pnet` the way that it was opened by.
#[cfg(not(feature = "pnet"))]
pub type SelectedIo = AfPacket;
/// What an [`Ethernet`] stands on: the way that it was opened by.
#[cfg(feature = "pnet")]
pub type SelectedIo = RingOrPnet;
