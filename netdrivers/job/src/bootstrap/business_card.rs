//! What every rank tells the others of itself, as text that a launcher carries. Whoever carries it reads it: nothing in it
//! is secret. `bootstrap` only.

use super::JobError;
use super::auth_mode::Auth;
use super::exchanged_text::ExchangedText;
#[cfg(feature = "hosts")]
use super::key_agreement::Block;
use crate::environment::random;
use crate::settings::AUTH;
#[cfg(feature = "hosts")]
use pombo_transport::authenticated::{Coverage, Key};

/// A rank's first word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BusinessCard {
    /// Ranks with the same one share memory.
    pub(super) host: u64,
    /// The same for all ranks that could, whatever they were told.
    pub(super) machine: u64,
    /// Of its composition.
    pub(super) fingerprint: u64,
    /// By which it agrees with others on a secret.
    #[cfg(feature = "hosts")]
    pub(super) public: Block,
    /// Of rank 0: what is the same for all of the job.
    pub(super) job: Option<JobName>,
}

/// What tells a job from all others, which everybody may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JobName {
    /// Frames of another one are not believed.
    pub(crate) epoch: u32,
    /// Its number.
    pub(crate) id: u64,
    /// What frames between hosts are believed by.
    pub(crate) auth: Auth,
}

/// What the ranks on several hosts share and nobody else.
#[cfg(feature = "hosts")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JobKeys {
    /// Its name.
    pub(crate) name: JobName,
    /// Whoever knows it is a rank. It never travels.
    pub(crate) key: u128,
}

/// What a seal is for: those of one are worth nothing for another.
#[cfg(feature = "hosts")]
#[derive(Clone, Copy)]
pub(crate) enum KeyUse {
    Unicast,
    Multicast,
    Listener,
}

/// In front of all: other versions are told apart.
const VERSION: &str = "pombo4";

impl BusinessCard {
    /// No spaces and no '=', so that it passes through any launcher; far below 1024 bytes.
    pub(super) fn text(&self) -> ExchangedText {
        let BusinessCard {
            host,
            machine,
            fingerprint,
            ..
        } = self;
        #[cfg(feature = "hosts")]
        let public = self.public;
        #[cfg(not(feature = "hosts"))]
        let public = NO_KEY;
        let card = format_args!("{VERSION}.{host:016x}.{machine:016x}.{fingerprint:016x}.{public}");
        match self.job {
            Some(JobName { epoch, id, auth }) => {
                let auth = auth.name();
                ExchangedText::of(format_args!("{card}.{epoch:08x}.{id:016x}.{auth}"))
            }
            None => ExchangedText::of(card),
        }
    }

    pub(super) fn read(rank: usize, text: &str) -> Result<Self, JobError> {
        let card = || {
            let mut fields = text.split('.');
            let known = fields.next() == Some(VERSION);
            let host = u64::from_str_radix(fields.next()?, 16).ok()?;
            let machine = u64::from_str_radix(fields.next()?, 16).ok()?;
            let fingerprint = u64::from_str_radix(fields.next()?, 16).ok()?;
            let public = fields.next()?;
            #[cfg(feature = "hosts")]
            let public = Block::read(public)?;
            #[cfg(not(feature = "hosts"))]
            let _ = public;
            let job = match fields.next() {
                Some(epoch) => Some(JobName {
                    epoch: u32::from_str_radix(epoch, 16).ok()?,
                    id: u64::from_str_radix(fields.next()?, 16).ok()?,
                    auth: Auth::read(fields.next()?)?,
                }),
                None => None,
            };
            (known && fields.next().is_none() && job.is_some() == (rank == 0)).then_some(
                BusinessCard {
                    host,
                    machine,
                    fingerprint,
                    #[cfg(feature = "hosts")]
                    public,
                    job,
                },
            )
        };
        card().ok_or_else(|| JobError::card(rank, text))
    }
}

/// In the place of a public key, of a rank that never leaves its host.
#[cfg(not(feature = "hosts"))]
const NO_KEY: &str = "none";

impl JobName {
    /// That no other job has.
    pub(super) fn new() -> Result<Self, JobError> {
        let [a, b, c, d, id @ ..] = random::<12>()?;
        Ok(JobName {
            epoch: u32::from_le_bytes([a, b, c, d]),
            id: u64::from_le_bytes(id),
            auth: AUTH.read(Auth::read)?,
        })
    }
}

#[cfg(feature = "hosts")]
impl JobKeys {
    /// What seals are made with and what of a frame they cover, if frames carry any.
    pub(crate) fn frame_auth(&self, what: KeyUse) -> Option<(Key, Coverage)> {
        let cover = match self.name.auth {
            Auth::On => Coverage::Headers,
            Auth::Full => Coverage::Whole,
            Auth::Off => return None,
        };
        Some((self.key(what), cover))
    }

    /// What seals are made with.
    pub(crate) fn key(&self, what: KeyUse) -> Key {
        Key {
            secret: self.key.to_le_bytes(),
            epoch: self.name.epoch.into(),
            domain: what as u8,
        }
    }
}

#[cfg(all(test, feature = "hosts"))]
mod tests {
    use super::*;
    use alloc::{format, string::String};

    #[test]
    fn a_card_is_read_as_it_was_written() {
        let job = JobName::new().expect("random numbers");
        assert_ne!(job, JobName::new().expect("random numbers"));
        for auth in Auth::ALL {
            let mut card = BusinessCard {
                host: 7,
                machine: 0,
                fingerprint: u64::MAX,
                public: Block([0xa5; 32]),
                job: Some(JobName { auth, ..job }),
            };
            assert_eq!(BusinessCard::read(0, card.text().as_str()), Ok(card));
            let word = card.text();
            assert!(word.as_str().len() < 200 && !word.as_str().contains([' ', '=', '\n']));
            card.job = None;
            assert_eq!(BusinessCard::read(3, card.text().as_str()), Ok(card));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let key = "0123456789abcdef".repeat(4);
        for (rank, text) in [
            (1, String::new()),
            (1, format!("pombo2.7.6.8.{key}")),
            (1, "pombo4.7.6.8".into()),
            (1, format!("pombo4.7.6.x.{key}")),
            (1, format!("pombo4.7.6.8.{key}.9")),
            (1, format!("pombo4.7.6.8.{key}.9.5.on")),
            (0, format!("pombo4.7.6.8.{key}")),
            (0, format!("pombo4.7.6.8.f{key}.9.5.on")),
            (0, format!("pombo4.7.6.8.{key}.9.5")),
            (0, format!("pombo4.7.6.8.{key}.9.5.1")),
            (0, format!("pombo4.7.6.8.{key}.9.5.on.")),
        ] {
            assert_eq!(
                BusinessCard::read(rank, &text),
                Err(JobError::card(rank, &text))
            );
        }
    }
}
