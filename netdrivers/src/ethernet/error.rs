//! What can go wrong before a rank is on the segment.

use super::address::Address;
use crate::Errno;
use alloc::string::String;
use core::fmt;

/// Why a rank cannot talk over raw Ethernet.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EthernetError {
    /// The process may not open such sockets, and no helper opened one for it.
    NotPermitted {
        /// The interface that was asked for.
        interface: String,
    },
    /// The helper may not open the interface for others.
    Forbidden {
        /// The interface that was asked for.
        interface: String,
    },
    /// This host has no such interface.
    NoSuchInterface {
        /// The name.
        name: String,
    },
    /// No interface has a link.
    NoLink,
    /// Several interfaces have a link.
    AmbiguousInterface {
        /// Their names.
        names: String,
    },
    /// The interface is not one of Ethernet.
    NotEthernet {
        /// The interface.
        interface: String,
    },
    /// The interface carries too little.
    Mtu {
        /// The interface.
        interface: String,
        /// What it carries in one piece.
        mtu: usize,
    },
    /// A peer's interface carries too little.
    PeerMtu {
        /// The peer.
        peer: u16,
        /// Where it is, and what it carries.
        address: Address,
    },
    /// The table has no peer, or too many.
    Peers {
        /// How many.
        peers: usize,
    },
    /// The peer is not in the table.
    NoSuchPeer {
        /// The peer.
        peer: u16,
        /// How many the table has.
        peers: usize,
    },
    /// The table has another address for this peer than its interface has.
    AddressMismatch {
        /// The peer.
        peer: u16,
        /// The address in the table.
        listed: Address,
        /// The one that this peer has.
        bound: Address,
    },
    /// There are several peers on this host, and its loopback interface is down.
    LoopbackDown,
    /// A text is not an address.
    InvalidAddress,
    /// A system call failed.
    System {
        /// Its name.
        call: &'static str,
        /// Its error number.
        errno: i32,
    },
}

impl fmt::Display for EthernetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EthernetError::NotPermitted { interface } => write!(
                f,
                "no right to send raw frames on {interface}: `pombo setup` tells how to get it"
            ),
            EthernetError::Forbidden { interface } => write!(
                f,
                "{interface} does not stand in /etc/pombo/interfaces: choose one that does, or ask who looks after it"
            ),
            EthernetError::NoSuchInterface { name } => write!(
                f,
                "this host has no interface {name}: `ip link` names those that it has"
            ),
            EthernetError::NoLink => f.write_str("no Ethernet interface has a link: set one up"),
            EthernetError::AmbiguousInterface { names } => {
                write!(
                    f,
                    "several interfaces have a link: choose one by name: {names}"
                )
            }
            EthernetError::NotEthernet { interface } => {
                write!(
                    f,
                    "{interface} is not an Ethernet interface: choose another"
                )
            }
            EthernetError::Mtu { interface, mtu } => {
                write!(f, "{interface} carries {mtu} bytes, too few: raise its MTU")
            }
            EthernetError::PeerMtu { peer, address } => write!(
                f,
                "peer {peer} is at {address}, which carries too few bytes: raise its MTU"
            ),
            EthernetError::Peers { peers } => {
                write!(f, "{peers} peers: a network has 1 to {}", u16::MAX)
            }
            EthernetError::NoSuchPeer { peer, peers } => write!(
                f,
                "there is no peer {peer} among {peers} addresses: count peers from 0"
            ),
            EthernetError::AddressMismatch {
                peer,
                listed,
                bound,
            } => write!(
                f,
                "the table says {listed} for peer {peer}, which is at {bound}: \
                 publish the address of the interface that was opened"
            ),
            EthernetError::LoopbackDown => {
                f.write_str("peers of one host need its loopback interface: set it up")
            }
            EthernetError::InvalidAddress => {
                f.write_str("an address is six bytes and an MTU, like 02:00:00:00:00:01/1500")
            }
            EthernetError::System { call, errno } => {
                write!(f, "{call} failed: {}", Errno(*errno))
            }
        }
    }
}

impl core::error::Error for EthernetError {}

impl EthernetError {
    /// That call has failed.
    pub(super) fn system(call: &'static str, Errno(errno): Errno) -> Self {
        EthernetError::System { call, errno }
    }

    /// The call just made has failed.
    pub(super) fn last(call: &'static str) -> Self {
        Self::system(call, Errno::last())
    }

    /// Turns a failed call into its error.
    pub(super) fn check(result: i32, call: &'static str) -> Result<i32, Self> {
        Errno::check(result).map_err(|errno| Self::system(call, errno))
    }
}
