//! The text by which every rank describes itself to the others. A launcher transmits and may read it: nothing in it is
//! secret. Only `bootstrap` uses it.

use super::JobError;
use super::auth_mode::Auth;
use super::byte_order::byte_order;
#[cfg(feature = "hosts")]
use super::key_agreement::Block;
use super::launcher_text::ExchangedText;
use crate::environment::random;
use crate::fixed_string::text;
use crate::settings::AUTH;
use alloc::boxed::Box;
use pombo_kernel::text::{Hexadecimal, fields, fill, parse_digits, split_once};
#[cfg(feature = "hosts")]
use pombo_transport::authenticated::{Coverage, Key};

/// The first text that a rank exchanges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BusinessCard {
    /// The number of its host; ranks of equal numbers share memory.
    pub(super) host: u64,
    /// The number of its machine, equal for all ranks that could share memory, whatever `POMBO_FAKE_HOST` says.
    pub(super) machine: u64,
    /// The fingerprint of its composition.
    pub(super) fingerprint: u64,
    /// Whether its machine has the most significant byte of a number first.
    pub(super) big_endian: bool,
    /// The public key with which it agrees on a key with the others.
    #[cfg(feature = "hosts")]
    pub(super) public: Block,
    /// Of rank 0 only: the name of the job.
    pub(super) job: Option<JobName>,
}

/// The public identity of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JobName {
    /// Frames of another epoch are rejected.
    pub(crate) epoch: u32,
    /// The number of the job.
    pub(crate) id: u64,
    /// The authentication of frames between hosts.
    pub(crate) auth: Auth,
}

/// The secret of the ranks on several hosts.
#[cfg(feature = "hosts")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JobKeys {
    /// The name of the job.
    pub(crate) name: JobName,
    /// The key: whoever knows it is a rank. It is never transmitted.
    pub(crate) key: u128,
}

/// The use of a key: authentication tags of one use are invalid for another.
#[cfg(feature = "hosts")]
#[derive(Clone, Copy)]
pub(crate) enum KeyUse {
    Unicast,
    Multicast,
    Listener,
}

/// In front of all: other versions are told apart.
const VERSION: &str = "pombo5";

impl BusinessCard {
    /// Returns the card as text without spaces and '=', so that any launcher can transmit it; far below 1024 bytes.
    pub(super) fn text(&self) -> ExchangedText {
        let BusinessCard {
            host,
            machine,
            fingerprint,
            ..
        } = self;
        let order = byte_order(self.big_endian);
        #[cfg(feature = "hosts")]
        let public = self.public;
        #[cfg(not(feature = "hosts"))]
        let public = NO_KEY;
        let wide = |number: u64| Hexadecimal(number, 16);
        let mut card: ExchangedText = text!(
            "{}.{}.{}.{}-{}.{}",
            VERSION,
            wide(*host),
            wide(*machine),
            wide(*fingerprint),
            order,
            public
        );
        if let Some(JobName { epoch, id, auth }) = self.job {
            let epoch = Hexadecimal(epoch.into(), 8);
            fill!(&mut card, ".{}.{}.{}", epoch, wide(id), auth.name());
        }
        card
    }

    pub(super) fn read(rank: usize, text: &str) -> Result<Self, Box<JobError>> {
        let hexadecimal = |text: &str| parse_digits(text.as_bytes(), 16);
        let card = || {
            let mut fields = fields(text, b'.');
            let known = fields.next() == Some(VERSION);
            let host = hexadecimal(fields.next()?)?;
            let machine = hexadecimal(fields.next()?)?;
            let (fingerprint, order) = split_once(fields.next()?, b'-')?;
            let fingerprint = hexadecimal(fingerprint)?;
            let big_endian = order == byte_order(true);
            let known = known && order == byte_order(big_endian);
            let public = fields.next()?;
            #[cfg(feature = "hosts")]
            let public = Block::read(public)?;
            #[cfg(not(feature = "hosts"))]
            let _ = public;
            let job = match fields.next() {
                Some(epoch) => Some(JobName {
                    epoch: hexadecimal(epoch)?.try_into().ok()?,
                    id: hexadecimal(fields.next()?)?,
                    auth: Auth::read(fields.next()?)?,
                }),
                None => None,
            };
            (known && fields.next().is_none() && job.is_some() == (rank == 0)).then_some(
                BusinessCard {
                    host,
                    machine,
                    fingerprint,
                    big_endian,
                    #[cfg(feature = "hosts")]
                    public,
                    job,
                },
            )
        };
        card().ok_or_else(|| JobError::card(rank, text))
    }
}

/// The text in place of a public key, of a rank that never leaves its host.
#[cfg(not(feature = "hosts"))]
const NO_KEY: &str = "none";

impl JobName {
    /// Creates a random name, which no other job has.
    pub(super) fn new() -> Result<Self, Box<JobError>> {
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
    /// Returns the key of authentication tags and the bytes of a frame that they cover, if frames carry tags.
    pub(crate) fn frame_auth(&self, what: KeyUse) -> Option<(Key, Coverage)> {
        let cover = match self.name.auth {
            Auth::On => Coverage::Headers,
            Auth::Full => Coverage::Whole,
            Auth::Off => return None,
        };
        Some((self.key(what), cover))
    }

    /// Returns the key of authentication tags for one use.
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
                big_endian: auth == Auth::Off,
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
            (1, format!("pombo2.7.6.8-big.{key}")),
            (1, "pombo5.7.6.8-big".into()),
            (1, format!("pombo5.7.6.x-big.{key}")),
            (1, format!("pombo5.7.6.8.{key}")),
            (1, format!("pombo5.7.6.8-middle.{key}")),
            (1, format!("pombo5.7.6.8-big.{key}.9")),
            (1, format!("pombo5.7.6.8-big.{key}.9.5.on")),
            (0, format!("pombo5.7.6.8-big.{key}")),
            (0, format!("pombo5.7.6.8-big.f{key}.9.5.on")),
            (0, format!("pombo5.7.6.8-big.{key}.9.5")),
            (0, format!("pombo5.7.6.8-big.{key}.9.5.1")),
            (0, format!("pombo5.7.6.8-big.{key}.9.5.on.")),
        ] {
            assert_eq!(
                BusinessCard::read(rank, &text),
                Err(JobError::card(rank, &text))
            );
        }
    }
}
