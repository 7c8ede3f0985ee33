//! Errors of joining a job over UDP.

use crate::Errno;
use crate::ip_text::{IpText, SocketText};
use alloc::boxed::Box;
use core::net::{IpAddr, SocketAddr};
use pombo_kernel::text::{ToText, WriteText, fill};

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

pombo_kernel::text::display_as_text! { UdpError }

impl ToText for UdpError {
    fn put_text(&self, out: &mut dyn WriteText) {
        match *self {
            UdpError::UnspecifiedAddress => {
                out.write_text("bind to an address of this host, not to any")
            }
            UdpError::NotLocal { address } => fill!(
                out,
                "no interface of this host has the address {}: choose one that it has",
                IpText(address)
            ),
            UdpError::Mtu { address, mtu } => fill!(
                out,
                "the interface of {} carries {} bytes, too few: raise its MTU",
                IpText(address),
                mtu
            ),
            UdpError::Peers { peers } => {
                fill!(out, "{} peers: a network has 1 to {}", peers, u16::MAX)
            }
            UdpError::NoSuchPeer { peer, peers } => fill!(
                out,
                "there is no peer {} among {} addresses: count peers from 0",
                peer,
                peers
            ),
            UdpError::AddressMismatch {
                peer,
                listed,
                bound,
            } => fill!(
                out,
                "the table says {} for peer {}, which is at {}: \
                 publish the address that was bound",
                SocketText(listed),
                peer,
                SocketText(bound)
            ),
            UdpError::DuplicateAddress { address } => fill!(
                out,
                "{} stands twice in the table: every peer has an address of its own",
                SocketText(address)
            ),
            UdpError::MixedFamilies { address } => fill!(
                out,
                "{} is of the other version of IP than this peer's: use one version",
                SocketText(address)
            ),
            UdpError::MulticastNeedsV4 { address } => fill!(
                out,
                "groups need IPv4, and this peer is at {}: bind to an IPv4 address",
                SocketText(address)
            ),
            UdpError::System { call, errno } => {
                fill!(out, "{} failed: {}", call, Errno(errno))
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
