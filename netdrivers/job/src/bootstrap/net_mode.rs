//! `POMBO_NET`: the networks that ranks may use. `bootstrap` reads it, `job_channel` applies it.

use pombo_kernel::text::split_once;

/// The valid values of the variable.
pub(crate) const NETWORKS: &str = "auto, shm, udp, udp: and an address or an interface of this host, ethernet, or ethernet: and an interface";

/// Splits a value into the network and the address or interface behind it; `None` if it is invalid.
pub(crate) fn split(text: &str) -> Option<(&str, Option<&str>)> {
    match split_once(text, b':') {
        Some((means @ ("udp" | "ethernet"), by)) if !by.is_empty() => Some((means, Some(by))),
        None if ["auto", "shm", "udp", "ethernet"].contains(&text) => Some((text, None)),
        _ => None,
    }
}

/// The user's choice.
#[cfg(any(test, feature = "launchers"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Net {
    /// Shared memory within a host; between hosts raw Ethernet if all ranks can use it, else UDP.
    Auto,
    /// Shared memory only.
    Shm,
    /// UDP between hosts; if there is only one host, between all ranks.
    Udp {
        /// The address or the interface to use.
        by: Option<&'static str>,
    },
    /// Raw Ethernet in the same places.
    Ethernet {
        /// The interface to use; empty for the only one with a link.
        by: &'static str,
    },
}

#[cfg(any(test, feature = "launchers"))]
impl Net {
    /// Returns whether the user requests a network even on a single host.
    #[cfg(feature = "launchers")]
    pub(super) fn is_named(self) -> bool {
        matches!(self, Net::Udp { .. } | Net::Ethernet { .. })
    }

    pub(super) fn parse(text: &'static str) -> Option<Self> {
        let (means, by) = split(text)?;
        Some(match means {
            "shm" => Net::Shm,
            "udp" => Net::Udp { by },
            "ethernet" => Net::Ethernet {
                by: by.unwrap_or(""),
            },
            _ => Net::Auto,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_may_say() {
        assert_eq!(Net::parse("auto"), Some(Net::Auto));
        assert_eq!(Net::parse("shm"), Some(Net::Shm));
        assert_eq!(Net::parse("udp"), Some(Net::Udp { by: None }));
        let by = Some("eth0");
        assert_eq!(Net::parse("udp:eth0"), Some(Net::Udp { by }));
        assert_eq!(Net::parse("ethernet"), Some(Net::Ethernet { by: "" }));
        assert_eq!(
            Net::parse("ethernet:eth0"),
            Some(Net::Ethernet { by: "eth0" })
        );
        for wrong in ["", "udp:", "ethernet:", "shm:1", "tcp", "UDP"] {
            assert!(Net::parse(wrong).is_none(), "{wrong}");
        }
    }
}
