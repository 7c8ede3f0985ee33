//! The address of a peer, as it is published.

use core::str::FromStr;

use super::error::EthernetError;
use pnet_base::MacAddr;
use pombo_kernel::text::{Hexadecimal, ToText, WriteText, fill, parse_digits};

/// The address of a peer, for publication. As text, `02:00:00:00:00:01/1500`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The MAC address of its interface; peers of one host may share it.
    pub mac: MacAddr,
    /// The MTU of the interface in bytes.
    pub mtu: u32,
}

pombo_kernel::text::display_as_text! { Address }

impl ToText for Address {
    fn put_text(&self, out: &mut dyn WriteText) {
        let [a, b, c, d, e, f] = self.mac.octets().map(|byte| Hexadecimal(byte.into(), 2));
        fill!(out, "{}:{}:{}:{}:{}:{}/{}", a, b, c, d, e, f, self.mtu)
    }
}

impl FromStr for Address {
    type Err = EthernetError;

    fn from_str(text: &str) -> Result<Self, EthernetError> {
        Self::parse(text.as_bytes()).ok_or(EthernetError::InvalidAddress)
    }
}

impl Address {
    #[inline(never)]
    fn parse(text: &[u8]) -> Option<Self> {
        let (mac, mtu) = text.split_at_checked("02:00:00:00:00:01".len())?;
        let mut bytes = [0; 6];
        for (byte, word) in bytes.iter_mut().zip(mac.chunks(3)) {
            let digit = |at: usize| char::from(*word.get(at)?).to_digit(16);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
            if word.get(2).is_some_and(|behind| *behind != b':') {
                return None;
            }
        }
        let mtu = parse_digits(mtu.strip_prefix(b"/")?, 10)?.try_into().ok()?;
        let mac = bytes.into();
        Some(Address { mac, mtu })
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
