//! `POMBO_AUTH`: the authentication of frames between hosts. The creator of a job's name reads it.

/// How frames between hosts prove that a rank of the job has sent them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Auth {
    /// A tag covers headers, numbers, and a checksum of the payload.
    On,
    /// A tag covers the whole frame.
    Full,
    /// There is no proof: a checksum covers the whole frame.
    Off,
}

impl Auth {
    pub(super) const ALL: [Auth; 3] = [Auth::On, Auth::Full, Auth::Off];
    /// The valid values of the variable.
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

    /// Returns a description for a user who asks how frames are authenticated.
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
