//! `POMBO_NET`: by what the ranks may reach each other. `place` reads it, `way` obeys.

use super::PlaceError;
use crate::environment::{text, wrong};

/// What the user allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Net {
    /// Memory inside a host; between hosts raw Ethernet if all ranks can, else UDP.
    Auto,
    /// Memory alone.
    Shm,
    /// UDP between hosts. Where there is only one, between all ranks.
    Udp {
        /// The address or the interface to use.
        by: Option<&'static str>,
    },
    /// Raw Ethernet in the same places.
    Ethernet {
        /// The interface to use; empty: the only one with a link.
        by: &'static str,
    },
}

impl Net {
    /// Does the user want a network, wherever the ranks are?
    pub(super) fn is_named(self) -> bool {
        matches!(self, Net::Udp { .. } | Net::Ethernet { .. })
    }

    pub(super) fn read() -> Result<Self, PlaceError> {
        Self::parse(text(c"POMBO_NET").unwrap_or("auto"))
    }

    fn parse(text: &'static str) -> Result<Self, PlaceError> {
        let (means, by) = match text.split_once(':') {
            Some((means, by)) => (means, Some(by)),
            None => (text, None),
        };
        match (means, by) {
            ("auto", None) => Ok(Net::Auto),
            ("shm", None) => Ok(Net::Shm),
            ("udp", None) => Ok(Net::Udp { by }),
            ("udp", Some(name)) if !name.is_empty() => Ok(Net::Udp { by }),
            ("ethernet", None) => Ok(Net::Ethernet { by: "" }),
            ("ethernet", Some(by)) if !by.is_empty() => Ok(Net::Ethernet { by }),
            _ => Err(wrong(
                c"POMBO_NET",
                "auto, shm, udp, udp: and an address or an interface of this host, ethernet, or ethernet: and an interface",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_may_say() {
        assert_eq!(Net::parse("auto"), Ok(Net::Auto));
        assert_eq!(Net::parse("shm"), Ok(Net::Shm));
        assert_eq!(Net::parse("udp"), Ok(Net::Udp { by: None }));
        let by = Some("eth0");
        assert_eq!(Net::parse("udp:eth0"), Ok(Net::Udp { by }));
        assert_eq!(Net::parse("ethernet"), Ok(Net::Ethernet { by: "" }));
        assert_eq!(
            Net::parse("ethernet:eth0"),
            Ok(Net::Ethernet { by: "eth0" })
        );
        for wrong in ["", "udp:", "ethernet:", "shm:1", "tcp", "UDP"] {
            assert!(Net::parse(wrong).is_err(), "{wrong}");
        }
    }
}
