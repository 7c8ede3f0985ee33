//! The address of a peer, as it is published.

use core::fmt;
use core::str::FromStr;

use super::error::EthernetError;

/// A MAC address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mac(pub [u8; 6]);

/// The address of a peer, for publication. As text, `02:00:00:00:00:01/1500`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The MAC address of its interface; peers of one host may share it.
    pub mac: Mac,
    /// The MTU of the interface in bytes.
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
            let place = mac.get_mut(count).ok_or(EthernetError::InvalidAddress)?;
            *place = byte.ok_or(EthernetError::InvalidAddress)?;
            count += 1;
        }
        match count {
            6 => Ok(Mac(mac)),
            _ => Err(EthernetError::InvalidAddress),
        }
    }
}

impl FromStr for Address {
    type Err = EthernetError;

    fn from_str(text: &str) -> Result<Self, EthernetError> {
        let (mac, mtu) = text.split_once('/').ok_or(EthernetError::InvalidAddress)?;
        let mtu = mtu.parse().map_err(|_| EthernetError::InvalidAddress)?;
        let mac = mac.parse()?;
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
                Err(EthernetError::InvalidAddress),
                "{wrong}"
            );
        }
    }
}
