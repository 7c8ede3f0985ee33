//! Where a node is, and which node is where.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::error::EthernetError;
use super::opened::SHORTEST;
use pombo_kernel::header::Node;

/// The six bytes that a segment knows an interface by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mac(pub [u8; 6]);

/// Where a node is: to be published. As text, `02:00:00:00:00:01/1500`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// Of its interface; nodes of one host may share it.
    pub mac: Mac,
    /// What the interface carries in one piece.
    pub mtu: u32,
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.mac, self.mtu)
    }
}

impl FromStr for Mac {
    type Err = EthernetError;

    fn from_str(text: &str) -> Result<Self, EthernetError> {
        let (mut mac, mut count) = ([0; 6], 0);
        for word in text.split(':') {
            let digits = word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
            let byte = u8::from_str_radix(word, 16).ok().filter(|_| digits);
            let place = mac.get_mut(count).ok_or(EthernetError::NoAddress)?;
            *place = byte.ok_or(EthernetError::NoAddress)?;
            count += 1;
        }
        match count {
            6 => Ok(Mac(mac)),
            _ => Err(EthernetError::NoAddress),
        }
    }
}

impl FromStr for Address {
    type Err = EthernetError;

    fn from_str(text: &str) -> Result<Self, EthernetError> {
        let (mac, mtu) = text.split_once('/').ok_or(EthernetError::NoAddress)?;
        let mtu = mtu.parse().map_err(|_| EthernetError::NoAddress)?;
        let mac = mac.parse()?;
        Ok(Address { mac, mtu })
    }
}

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

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let address = Address {
            mac: Mac([2, 0, 0xab, 0xcd, 0xef, 255]),
            mtu: 9000,
        };
        let text = address.to_string();
        assert_eq!(text, "02:00:ab:cd:ef:ff/9000");
        assert_eq!(text.parse(), Ok(address));
        for wrong in [
            "",
            "/",
            "02:00:00:00:00:01",
            "02:00:00:00:00/1500",
            "02:00:00:00:00:01:02/1500",
            "02:00:00:00:00:+1/1500",
            "02:00:00:00:00:1/1500",
            "02:00:00:00:00:01/-1",
            "02:00:00:00:00:01/4294967296",
        ] {
            assert_eq!(
                wrong.parse::<Address>(),
                Err(EthernetError::NoAddress),
                "{wrong}"
            );
        }
    }
}
