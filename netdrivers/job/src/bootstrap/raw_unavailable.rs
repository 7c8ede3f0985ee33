//! Why a rank cannot use raw Ethernet, as ranks tell each other and errors report it. `job_channel` determines it.

use super::JobError;
use pombo_kernel::text::{ToText, WriteText, fill};
use pombo_netdrivers::ethernet::EthernetError;

/// Why a rank cannot use raw Ethernet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RawUnavailable {
    /// The rank was told to use another network.
    NotAsked,
    /// The rank has no right to send raw frames.
    NoRight,
    /// The rank finds no Ethernet interface.
    NoInterface,
    /// The interface is down.
    NoLink,
    /// The rank receives no frames of another one.
    Unheard {
        /// The other rank.
        rank: usize,
    },
}

pombo_kernel::text::display_as_text! { RawUnavailable }

impl ToText for RawUnavailable {
    fn put_text(&self, out: &mut dyn WriteText) {
        out.write_text(match self {
            RawUnavailable::NotAsked => "was told to use another network: give POMBO_NET to all alike",
            RawUnavailable::NoRight => {
                "has no right to send raw frames: `pombo setup` on its host tells how to get it"
            }
            RawUnavailable::NoInterface => "has no Ethernet interface that would do: name one in POMBO_NET",
            RawUnavailable::NoLink => "has an interface that is down: set it up, and put its cable in",
            RawUnavailable::Unheard { rank } => {
                return fill!(
                    out,
                    "hears no frames of rank {}: put all hosts on one segment that carries frames as long as \
                     their interfaces do, or use UDP",
                    rank
                );
            }
        })
    }
}

/// The names in exchanged texts.
const NAMES: [(&str, RawUnavailable); 4] = [
    ("other", RawUnavailable::NotAsked),
    ("right", RawUnavailable::NoRight),
    ("interface", RawUnavailable::NoInterface),
    ("link", RawUnavailable::NoLink),
];

impl RawUnavailable {
    pub(crate) fn name(self) -> &'static str {
        let named = NAMES.iter().find(|(_, why)| *why == self);
        named.map_or("interface", |(name, _)| name)
    }

    #[inline(never)]
    pub(crate) fn read(name: &str) -> Option<Self> {
        let named = NAMES.iter().find(|(known, _)| *known == name);
        named.map(|(_, why)| *why)
    }

    /// Returns the short form of an error, for other ranks.
    pub(crate) fn of(error: &JobError) -> Self {
        match error {
            JobError::NoEthernet { why, .. } => *why,
            JobError::Ethernet(error) => match **error {
                EthernetError::NotPermitted { .. } | EthernetError::Forbidden { .. } => {
                    RawUnavailable::NoRight
                }
                _ => RawUnavailable::NoInterface,
            },
            _ => RawUnavailable::NoInterface,
        }
    }
}
