//! `POMBO_AUTH`: how frames between hosts show who has sent them. Whoever makes a job's name reads it.

/// `POMBO_AUTH`: how frames between hosts show that a rank of the job has sent them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Auth {
    /// A tag covers headers, numbers, and a checksum of the payload.
    On,
    /// A tag covers everything.
    Full,
    /// They do not: a checksum covers everything.
    Off,
}

impl Auth {
    pub(super) const ALL: [Auth; 3] = [Auth::On, Auth::Full, Auth::Off];
    /// What the variable must say.
    pub(crate) const MUST: &str = "on, full, or off; 1 is full now, and 0 is off";

    pub(crate) fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|auth| auth.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Auth::On => "on",
            Auth::Full => "full",
            Auth::Off => "off",
        }
    }

    /// To whoever wants to know what frames are worth.
    #[cfg(feature = "hosts")]
    pub(crate) fn description(self) -> &'static str {
        match self {
            Auth::On => {
                "frames between hosts have a tag over headers and a checksum of the payload (POMBO_AUTH=on)"
            }
            Auth::Full => "frames between hosts have a tag over every byte (POMBO_AUTH=full)",
            Auth::Off => {
                "frames between hosts are not authenticated (POMBO_AUTH=off): whoever can send to these hosts can \
                 write messages of this job"
            }
        }
    }
}
