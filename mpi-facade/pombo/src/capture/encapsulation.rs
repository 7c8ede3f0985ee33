//! The headers in front of Pombo's protocols: Ethernet with our own header, or with IP and UDP. Only the decoder uses
//! it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice, UdpSlice};
use pombo_netdrivers::ethernet::ETHER_TYPE;

use super::bytes::{bytes, u16_at};

/// The source or destination of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// A peer of a job.
    Peer(u16),
    /// All peers of a job.
    All,
    /// A socket address from the headers of IP and UDP.
    Socket(SocketAddr),
}

/// The payload of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Payload<'a> {
    pub(super) from: End,
    pub(super) to: End,
    /// The job, for frames whose header identifies them as Pombo's.
    pub(super) job: Option<u16>,
    /// Number of payload bytes on the wire.
    pub(super) announced_len: usize,
    /// The payload bytes that were captured.
    pub(super) bytes: &'a [u8],
}

/// Bytes of our header behind the Ethernet header.
const OURS: usize = 10;
const UDP_HEAD: usize = 8;
/// The peer number that stands for all peers.
pub(super) const ALL: u16 = u16::MAX;

/// Removes the headers of an Ethernet frame. Returns `None` if it is neither Pombo's nor UDP, or is cut within these
/// headers.
pub(super) fn open(frame: &[u8]) -> Option<Payload<'_>> {
    let packet = LaxSlicedPacket::from_ethernet(frame).ok()?;
    if let Some(TransportSlice::Udp(datagram)) = &packet.transport {
        return udp(packet.net.as_ref()?, datagram);
    }
    let inside = packet.ether_payload()?;
    match inside.ether_type.0 {
        ETHER_TYPE => ours(inside.payload),
        _ => None,
    }
}

/// Parses the header of `ethernet_frame.rs` of the drivers: version and traffic, 0, job, from, to, length.
fn ours(rest: &[u8]) -> Option<Payload<'_>> {
    if !matches!(bytes(rest, 0)?, [0x11 | 0x12, 0]) {
        return None;
    }
    let to = u16_at(rest, 6)?;
    let announced_len: usize = u16_at(rest, 8)?.into();
    Some(Payload {
        from: End::Peer(u16_at(rest, 4)?),
        to: if to == ALL { End::All } else { End::Peer(to) },
        job: u16_at(rest, 2),
        announced_len,
        bytes: first(rest.get(OURS..)?, announced_len),
    })
}

fn udp<'a>(net: &LaxNetSlice<'_>, datagram: &UdpSlice<'a>) -> Option<Payload<'a>> {
    let [from, to]: [IpAddr; 2] = match net {
        LaxNetSlice::Ipv4(ip) => [
            ip.header().source_addr().into(),
            ip.header().destination_addr().into(),
        ],
        LaxNetSlice::Ipv6(ip) => [
            ip.header().source_addr().into(),
            ip.header().destination_addr().into(),
        ],
        LaxNetSlice::Arp(_) => return None,
    };
    let announced_len = usize::from(datagram.length()).checked_sub(UDP_HEAD)?;
    Some(Payload {
        from: End::Socket(SocketAddr::new(from, datagram.source_port())),
        to: End::Socket(SocketAddr::new(to, datagram.destination_port())),
        job: None,
        announced_len,
        bytes: first(datagram.payload(), announced_len),
    })
}

/// Removes the padding of short frames.
fn first(bytes: &[u8], announced_len: usize) -> &[u8] {
    bytes.get(..announced_len).unwrap_or(bytes)
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Peer(peer) => f.pad(&peer.to_string()),
            End::All => f.pad("all"),
            End::Socket(address) => f.pad(&address.to_string()),
        }
    }
}
