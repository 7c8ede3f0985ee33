//! The address of a peer, as it is published.

use core::fmt;
use core::str::FromStr;

use super::error::EthernetError;
use pnet_base::MacAddr;

/// The address of a peer, for publication. As text, `02:00:00:00:00:01/1500`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The MAC address of its interface; peers of one host may share it.
    pub mac: MacAddr,
    /// The MTU of the interface in bytes.
    pub mtu: u32,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.mac, self.mtu)
    }
}

impl FromStr for Address {
    type Err = EthernetError;

    fn from_str(text: &str) -> Result<Self, EthernetError> {
        let (mac, mtu) = text.split_once('/').ok_or(EthernetError::InvalidAddress)?;
        let mtu = mtu.parse().map_err(|_| EthernetError::InvalidAddress)?;
        // What `MacAddr` reads may also be shorter, or have signs.
        let mut words = mac.split(':').map(str::as_bytes);
        let digits = words.all(|word| word.len() == 2 && word.iter().all(u8::is_ascii_hexdigit));
        let mac = mac.parse().ok().filter(|_| digits);
        let mac = mac.ok_or(EthernetError::InvalidAddress)?;
        Ok(Address { mac, mtu })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let address = Address {
            mac: MacAddr(2, 0, 0xab, 0xcd, 0xef, 255),
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
                Err(EthernetError::InvalidAddress),
                "{wrong}"
            );
        }
    }
}
