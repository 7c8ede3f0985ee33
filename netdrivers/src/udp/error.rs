//! What can go wrong before a rank is on the network.

use crate::Errno;
use core::fmt;
use core::net::{IpAddr, SocketAddr};

/// Why a rank cannot talk over UDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UdpError {
    /// The address stands for any: others cannot send there.
    UnspecifiedAddress,
    /// No interface of this host has the address.
    NotLocal {
        /// The address.
        address: IpAddr,
    },
    /// The interface carries too little.
    Mtu {
        /// The interface's address.
        address: IpAddr,
        /// What it carries in one piece.
        mtu: usize,
    },
    /// The table has no node, or too many.
    Nodes {
        /// How many.
        nodes: usize,
    },
    /// The node is not in the table.
    NoSuchNode {
        /// The node.
        node: u16,
        /// How many the table has.
        nodes: usize,
    },
    /// The table has another address for this node than it has bound.
    AddressMismatch {
        /// The node.
        node: u16,
        /// The address in the table.
        listed: SocketAddr,
        /// The one that this node has.
        bound: SocketAddr,
    },
    /// The table has the same address twice.
    DuplicateAddress {
        /// The address.
        address: SocketAddr,
    },
    /// Addresses of both versions of IP.
    MixedFamilies {
        /// One of the other version than this node's.
        address: SocketAddr,
    },
    /// Groups exist for IPv4 only.
    MulticastNeedsV4 {
        /// This node's address.
        address: SocketAddr,
    },
    /// A system call failed.
    System {
        /// Its name.
        call: &'static str,
        /// Its error number.
        errno: i32,
    },
}

impl fmt::Display for UdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            UdpError::UnspecifiedAddress => f.write_str("bind to an address of this host, not to any"),
            UdpError::NotLocal { address } => write!(
                f,
                "no interface of this host has the address {address}: choose one that it has"
            ),
            UdpError::Mtu { address, mtu } => write!(
                f,
                "the interface of {address} carries {mtu} bytes, too few: raise its MTU"
            ),
            UdpError::Nodes { nodes } => {
                write!(f, "{nodes} nodes: a network has 1 to {}", u16::MAX)
            }
            UdpError::NoSuchNode { node, nodes } => write!(
                f,
                "there is no node {node} among {nodes} addresses: count nodes from 0"
            ),
            UdpError::AddressMismatch { node, listed, bound } => write!(
                f,
                "the table says {listed} for node {node}, which is at {bound}: \
                 publish the address that was bound"
            ),
            UdpError::DuplicateAddress { address } => write!(
                f,
                "{address} stands twice in the table: every node has an address of its own"
            ),
            UdpError::MixedFamilies { address } => write!(
                f,
                "{address} is of the other version of IP than this node's: use one version"
            ),
            UdpError::MulticastNeedsV4 { address } => write!(
                f,
                "groups need IPv4, and this node is at {address}: bind to an IPv4 address"
            ),
            UdpError::System { call, errno } => {
                write!(f, "{call} failed: {}", Errno(errno))
            }
        }
    }
}

impl core::error::Error for UdpError {}

impl UdpError {
    /// That call has failed.
    pub(super) fn system(call: &'static str, Errno(errno): Errno) -> Self {
        UdpError::System { call, errno }
    }

    /// Turns a failed call into its error.
    pub(super) fn check(result: i32, call: &'static str) -> Result<i32, Self> {
        Errno::check(result).map_err(|errno| Self::system(call, errno))
    }
}
