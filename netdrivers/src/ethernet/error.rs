//! Errors of joining a job over raw Ethernet.

use super::address::Address;
use crate::Errno;
use alloc::boxed::Box;
use alloc::string::String;
use pombo_kernel::text::{ToText, WriteText, fill};

/// Why a rank cannot use raw Ethernet.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EthernetError {
    /// The process has no right to open such sockets, and no helper opened one for it.
    NotPermitted {
        /// The requested interface.
        interface: String,
    },
    /// The helper is not allowed to open the interface for others.
    Forbidden {
        /// The requested interface.
        interface: String,
    },
    /// This host has no such interface.
    NoSuchInterface {
        /// The name of the interface.
        name: String,
    },
    /// No interface has a link.
    NoLink,
    /// Several interfaces have a link.
    AmbiguousInterface {
        /// Their names, separated by commas.
        names: String,
    },
    /// The interface is not an Ethernet interface.
    NotEthernet {
        /// The interface.
        interface: String,
    },
    /// The MTU of the interface is too small.
    Mtu {
        /// The interface.
        interface: String,
        /// The MTU in bytes.
        mtu: usize,
    },
    /// The MTU of a peer's interface is too small.
    PeerMtu {
        /// The peer.
        peer: u16,
        /// Its address, which includes the MTU.
        address: Address,
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
    /// The table has another address for this peer than its interface has.
    AddressMismatch {
        /// The peer.
        peer: u16,
        /// The address in the table.
        listed: Address,
        /// The address of this peer's interface.
        bound: Address,
    },
    /// There are several peers on this host, and its loopback interface is down.
    LoopbackDown,
    /// A text is not an address.
    InvalidAddress,
    /// A system call failed.
    System {
        /// The name of the call.
        call: &'static str,
        /// The error number.
        errno: i32,
    },
}

pombo_kernel::text::display_as_text! { EthernetError }

impl ToText for EthernetError {
    fn put_text(&self, out: &mut dyn WriteText) {
        match self {
            EthernetError::NotPermitted { interface } => fill!(
                out,
                "no right to send raw frames on {}: `pombo setup` tells how to get it",
                interface.as_str()
            ),
            EthernetError::Forbidden { interface } => fill!(
                out,
                "{} does not stand in /etc/pombo/interfaces: choose one that does, or ask who looks after it",
                interface.as_str()
            ),
            EthernetError::NoSuchInterface { name } => fill!(
                out,
                "this host has no interface {}: `ip link` names those that it has",
                name.as_str()
            ),
            EthernetError::NoLink => out.write_text("no Ethernet interface has a link: set one up"),
            EthernetError::AmbiguousInterface { names } => {
                fill!(
                    out,
                    "several interfaces have a link: choose one by name: {}",
                    names.as_str()
                )
            }
            EthernetError::NotEthernet { interface } => {
                fill!(
                    out,
                    "{} is not an Ethernet interface: choose another",
                    interface.as_str()
                )
            }
            EthernetError::Mtu { interface, mtu } => {
                fill!(
                    out,
                    "{} carries {} bytes, too few: raise its MTU",
                    interface.as_str(),
                    mtu
                )
            }
            EthernetError::PeerMtu { peer, address } => fill!(
                out,
                "peer {} is at {}, which carries too few bytes: raise its MTU",
                peer,
                address
            ),
            EthernetError::Peers { peers } => {
                fill!(out, "{} peers: a network has 1 to {}", peers, u16::MAX)
            }
            EthernetError::NoSuchPeer { peer, peers } => fill!(
                out,
                "there is no peer {} among {} addresses: count peers from 0",
                peer,
                peers
            ),
            EthernetError::AddressMismatch {
                peer,
                listed,
                bound,
            } => fill!(
                out,
                "the table says {} for peer {}, which is at {}: \
                 publish the address of the interface that was opened",
                listed,
                peer,
                bound
            ),
            EthernetError::LoopbackDown => {
                out.write_text("peers of one host need its loopback interface: set it up")
            }
            EthernetError::InvalidAddress => {
                out.write_text("an address is six bytes and an MTU, like 02:00:00:00:00:01/1500")
            }
            EthernetError::System { call, errno } => {
                fill!(out, "{} failed: {}", call, Errno(*errno))
            }
        }
    }
}

impl core::error::Error for EthernetError {}

/// The functions of this driver return errors in boxes, as each of their callers has a copy of what moves one.
impl From<Box<EthernetError>> for EthernetError {
    fn from(error: Box<EthernetError>) -> Self {
        *error
    }
}

impl EthernetError {
    /// Returns the error of a system call.
    pub(super) fn failed<E: Into<Errno>>(call: &'static str) -> impl Fn(E) -> Box<Self> {
        move |error| {
            let Errno(errno) = error.into();
            Box::new(EthernetError::System { call, errno })
        }
    }

    /// Converts the result of a system call.
    pub(super) fn check(result: i32, call: &'static str) -> Result<i32, Box<Self>> {
        Errno::check(result).map_err(Self::failed(call))
    }
}
