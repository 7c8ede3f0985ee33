//! `POMBO_NET`: by what the ranks may reach each other. `bootstrap` reads it, `job_channel` obeys.

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

    /// What the variable must be.
    pub(crate) const MUST: &str = "auto, shm, udp, udp: and an address or an interface of this host, ethernet, or ethernet: and an interface";

    /// The means, and the address or the interface behind them; nothing where the variable may not say that.
    pub(crate) fn split(text: &str) -> Option<(&str, Option<&str>)> {
        match text.split_once(':') {
            Some((means @ ("udp" | "ethernet"), by)) if !by.is_empty() => Some((means, Some(by))),
            None if ["auto", "shm", "udp", "ethernet"].contains(&text) => Some((text, None)),
            _ => None,
        }
    }

    pub(super) fn parse(text: &'static str) -> Option<Self> {
        let (means, by) = Self::split(text)?;
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
