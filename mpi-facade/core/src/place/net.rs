//! `POMBO_NET`: by what the ranks may reach each other. `place` only.

use super::PlaceError;
use crate::environment::{text, wrong};

/// What the user allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Net {
    /// Memory inside a host, UDP between hosts.
    Auto,
    /// Memory alone.
    Shm,
    /// UDP even between ranks of one host.
    Udp {
        /// The address or the interface to use.
        by: Option<&'static str>,
    },
}

impl Net {
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
            _ => Err(wrong(
                c"POMBO_NET",
                "auto, shm, udp, or udp: and an address or an interface of this host",
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
        for wrong in ["", "udp:", "shm:1", "tcp", "UDP"] {
            assert!(Net::parse(wrong).is_err(), "{wrong}");
        }
    }
}
