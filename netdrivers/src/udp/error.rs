//! Errors of joining a job over UDP.

use crate::Errno;
use alloc::boxed::Box;
use core::fmt;
use core::net::{IpAddr, SocketAddr};

/// Why a rank cannot use UDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UdpError {
    /// The address is unspecified: others cannot send to it.
    UnspecifiedAddress,
    /// No interface of this host has the address.
    NotLocal {
        /// The address.
        address: IpAddr,
    },
    /// The MTU of the interface is too small.
    Mtu {
        /// The interface's address.
        address: IpAddr,
        /// The MTU in bytes.
        mtu: usize,
    },
    /// The table has no peer, or too many peers.
    Peers {
        /// Number of peers.
        peers: usize,
    },
    /// The peer is not in the table.
    NoSuchPeer {
        /// The peer.
        peer: u16,
        /// Number of peers in the table.
        peers: usize,
    },
    /// The table has another address for this peer than it has bound.
    AddressMismatch {
        /// The peer.
        peer: u16,
        /// The address in the table.
        listed: SocketAddr,
        /// The address that this peer has bound.
        bound: SocketAddr,
    },
    /// The table has the same address twice.
    DuplicateAddress {
        /// The address.
        address: SocketAddr,
    },
    /// The table has addresses of both versions of IP.
    MixedFamilies {
        /// An address of the other version than this peer's.
        address: SocketAddr,
    },
    /// Multicast devices exist for IPv4 only.
    MulticastNeedsV4 {
        /// This peer's address.
        address: SocketAddr,
    },
    /// A system call failed.
    System {
        /// The name of the call.
        call: &'static str,
        /// The error number.
        errno: i32,
    },
}

impl fmt::Display for UdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            UdpError::UnspecifiedAddress => {
                f.write_str("bind to an address of this host, not to any")
            }
            UdpError::NotLocal { address } => write!(
                f,
                "no interface of this host has the address {address}: choose one that it has"
            ),
            UdpError::Mtu { address, mtu } => write!(
                f,
                "the interface of {address} carries {mtu} bytes, too few: raise its MTU"
            ),
            UdpError::Peers { peers } => {
                write!(f, "{peers} peers: a network has 1 to {}", u16::MAX)
            }
            UdpError::NoSuchPeer { peer, peers } => write!(
                f,
                "there is no peer {peer} among {peers} addresses: count peers from 0"
            ),
            UdpError::AddressMismatch {
                peer,
                listed,
                bound,
            } => write!(
                f,
                "the table says {listed} for peer {peer}, which is at {bound}: \
                 publish the address that was bound"
            ),
            UdpError::DuplicateAddress { address } => write!(
                f,
                "{address} stands twice in the table: every peer has an address of its own"
            ),
            UdpError::MixedFamilies { address } => write!(
                f,
                "{address} is of the other version of IP than this peer's: use one version"
            ),
            UdpError::MulticastNeedsV4 { address } => write!(
                f,
                "groups need IPv4, and this peer is at {address}: bind to an IPv4 address"
            ),
            UdpError::System { call, errno } => {
                write!(f, "{call} failed: {}", Errno(errno))
            }
        }
    }
}

impl core::error::Error for UdpError {}

/// The functions of this driver return errors in boxes, as each of their callers has a copy of what moves one.
impl From<Box<UdpError>> for UdpError {
    fn from(error: Box<UdpError>) -> Self {
        *error
    }
}

impl UdpError {
    /// Returns the error of a system call.
    pub(super) fn failed<E: Into<Errno>>(call: &'static str) -> impl Fn(E) -> Box<Self> {
        move |error| {
            let Errno(errno) = error.into();
            Box::new(UdpError::System { call, errno })
        }
    }

    /// Converts the result of a system call.
    pub(super) fn check(result: i32, call: &'static str) -> Result<i32, Box<Self>> {
        Errno::check(result).map_err(Self::failed(call))
    }
}
