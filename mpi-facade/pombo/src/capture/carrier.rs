//! What stands in front of our protocols: Ethernet with our own header, or with IP and UDP. The decoder only.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use pombo_netdrivers::ethernet::ETHER_TYPE;

use super::bytes::{bytes, net16_at, u16_at};

/// Who sends or receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// A node of a job.
    Node(u16),
    /// All nodes of a job.
    All,
    /// What UDP tells.
    Socket(SocketAddr),
}

/// What a frame carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Carried<'a> {
    pub(super) from: End,
    pub(super) to: End,
    /// The job, if the frame is one of ours for certain.
    pub(super) job: Option<u16>,
    /// How many bytes it carried on the wire.
    pub(super) told: usize,
    /// Those of them that were captured.
    pub(super) bytes: &'a [u8],
}

const VLAN: [u16; 2] = [0x8100, 0x88a8];
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const UDP: u8 = 17;
/// Bytes of our header behind Ethernet's.
const OURS: usize = 10;
const UDP_HEAD: usize = 8;
/// No node has this number.
pub(super) const ALL: u16 = u16::MAX;

/// Takes an Ethernet frame apart. `None`: neither ours nor UDP, or cut within these headers.
pub(super) fn open(frame: &[u8]) -> Option<Carried<'_>> {
    let mut at = 12;
    let mut kind = net16_at(frame, at)?;
    while VLAN.contains(&kind) {
        at += 4;
        kind = net16_at(frame, at)?;
    }
    let rest = frame.get(at + 2..)?;
    match kind {
        ETHER_TYPE => ours(rest),
        IPV4 => internet(rest),
        IPV6 => internet_6(rest),
        _ => None,
    }
}

/// As `ethernet/frame.rs` of the drivers has it: version and traffic, 0, job, from, to, length.
fn ours(rest: &[u8]) -> Option<Carried<'_>> {
    if !matches!(bytes(rest, 0)?, [0x11 | 0x12, 0]) {
        return None;
    }
    let to = u16_at(rest, 6)?;
    let told: usize = u16_at(rest, 8)?.into();
    Some(Carried {
        from: End::Node(u16_at(rest, 4)?),
        to: if to == ALL { End::All } else { End::Node(to) },
        job: u16_at(rest, 2),
        told,
        bytes: first(rest.get(OURS..)?, told),
    })
}

fn internet(rest: &[u8]) -> Option<Carried<'_>> {
    let [first] = bytes(rest, 0)?;
    let head = usize::from(first & 15) * 4;
    // Not the first piece of a datagram: no header of UDP.
    let offset = net16_at(rest, 6)? & 0x1fff;
    if first >> 4 != 4 || head < 20 || bytes(rest, 9)? != [UDP] || offset != 0 {
        return None;
    }
    let ips = [12, 16].map(|at| bytes::<4>(rest, at));
    let [from, to] = [ips[0]?, ips[1]?].map(|ip| IpAddr::V4(Ipv4Addr::from(ip)));
    datagram(rest.get(head..)?, from, to)
}

fn internet_6(rest: &[u8]) -> Option<Carried<'_>> {
    let [first] = bytes(rest, 0)?;
    if first >> 4 != 6 || bytes(rest, 6)? != [UDP] {
        return None;
    }
    let ips = [8, 24].map(|at| bytes::<16>(rest, at));
    let [from, to] = [ips[0]?, ips[1]?].map(|ip| IpAddr::V6(Ipv6Addr::from(ip)));
    datagram(rest.get(40..)?, from, to)
}

fn datagram(rest: &[u8], from: IpAddr, to: IpAddr) -> Option<Carried<'_>> {
    let socket = |ip, at| Some(End::Socket(SocketAddr::new(ip, net16_at(rest, at)?)));
    let told = usize::from(net16_at(rest, 4)?).checked_sub(UDP_HEAD)?;
    Some(Carried {
        from: socket(from, 0)?,
        to: socket(to, 2)?,
        job: None,
        told,
        bytes: first(rest.get(UDP_HEAD..)?, told),
    })
}

/// Interfaces fill short frames up.
fn first(bytes: &[u8], told: usize) -> &[u8] {
    bytes.get(..told).unwrap_or(bytes)
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Node(node) => f.pad(&node.to_string()),
            End::All => f.pad("all"),
            End::Socket(address) => f.pad(&address.to_string()),
        }
    }
}
