//! Which node is where. Used inside `ethernet` only.

use alloc::vec::Vec;

use super::address::{Address, Mac};
use super::error::EthernetError;
use super::frame::SHORTEST;
use pombo_kernel::header::Node;

/// Where all nodes are.
pub(super) struct Table {
    macs: Vec<Mac>,
    mine: Mac,
    /// Nodes on this host, this one included.
    pub(super) here: usize,
    /// What all their interfaces carry in one piece.
    pub(super) mtu: usize,
}

impl Table {
    /// Of all nodes, for the one that has that address on that interface.
    pub(super) fn new(
        me: Node,
        bound: Address,
        addresses: &[Address],
    ) -> Result<Self, EthernetError> {
        let (node, nodes) = (me.0, addresses.len());
        if nodes == 0 || nodes > usize::from(u16::MAX) {
            return Err(EthernetError::Nodes { nodes });
        }
        let told = addresses.get(me.index()).copied();
        let told = told.ok_or(EthernetError::NoSuchNode { node, nodes })?;
        if told != bound {
            return Err(EthernetError::NotThisNode { node, told, bound });
        }
        let short = addresses.iter().position(|at| (at.mtu as usize) < SHORTEST);
        if let Some(node) = short {
            return Err(EthernetError::NodeMtu {
                node: node as u16,
                address: addresses[node],
            });
        }
        let here = |address: &&Address| address.mac == bound.mac;
        Ok(Table {
            here: addresses.iter().filter(here).count(),
            macs: addresses.iter().map(|address| address.mac).collect(),
            mine: bound.mac,
            mtu: addresses.iter().map(|at| at.mtu).min().unwrap_or(0) as usize,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.macs.len()
    }

    /// This host.
    pub(super) fn mine(&self) -> Mac {
        self.mine
    }

    #[inline]
    pub(super) fn mac(&self, node: Node) -> Option<Mac> {
        self.macs.get(node.index()).copied()
    }
}
