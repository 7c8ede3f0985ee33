//! The table of peers and their addresses. Only `ethernet` uses it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::address::Address;
use super::error::EthernetError;
use crate::ethernet_frame::{MIN_INTERFACE_MTU, MacBytes};
use pombo_kernel::header::Peer;

/// The addresses of all peers.
pub(super) struct PeerTable {
    macs: Vec<MacBytes>,
    own_mac: MacBytes,
    /// Number of peers on this host, including this one.
    pub(super) local: usize,
    /// Smallest MTU of all their interfaces.
    pub(super) mtu: usize,
}

impl PeerTable {
    /// Creates the table of all peers, for the one that has that address on that interface.
    pub(super) fn new(
        me: Peer,
        bound: Address,
        addresses: &[Address],
    ) -> Result<Self, Box<EthernetError>> {
        let (peer, peers) = (me.0, addresses.len());
        if peers == 0 || peers > usize::from(u16::MAX) {
            return Err(Box::new(EthernetError::Peers { peers }));
        }
        let listed = addresses.get(me.index()).copied();
        let listed = listed.ok_or_else(|| Box::new(EthernetError::NoSuchPeer { peer, peers }))?;
        if listed != bound {
            return Err(Box::new(EthernetError::AddressMismatch {
                peer,
                listed,
                bound,
            }));
        }
        let short = addresses
            .iter()
            .position(|at| (at.mtu as usize) < MIN_INTERFACE_MTU);
        if let Some(peer) = short {
            return Err(Box::new(EthernetError::PeerMtu {
                peer: peer as u16,
                address: addresses[peer],
            }));
        }
        let local = |address: &&Address| address.mac == bound.mac;
        Ok(PeerTable {
            local: addresses.iter().filter(local).count(),
            macs: addresses.iter().map(|at| at.mac.octets()).collect(),
            own_mac: bound.mac.octets(),
            mtu: addresses.iter().map(|at| at.mtu).min().unwrap_or(0) as usize,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.macs.len()
    }

    /// Returns the MAC address of this host.
    pub(super) fn own_mac(&self) -> MacBytes {
        self.own_mac
    }

    #[inline]
    pub(super) fn mac(&self, peer: Peer) -> Option<MacBytes> {
        self.macs.get(peer.index()).copied()
    }
}
