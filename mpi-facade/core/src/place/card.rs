//! What every rank tells the others of itself, as text that a launcher carries. `place` only.

use super::PlaceError;
use super::launcher::Word;
use crate::environment::{text, wrong};
#[cfg(feature = "hosts")]
use pombo_netdrivers::sealed::Key;

/// A rank's first word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Card {
    /// Ranks with the same one share memory.
    pub(super) host: u64,
    /// The same for all ranks that could, whatever they were told.
    pub(super) machine: u64,
    /// Of its composition.
    pub(super) fingerprint: u64,
    /// Of rank 0: what all of the job share and nobody else.
    pub(super) job: Option<Job>,
}

/// What tells a job from all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Job {
    /// Frames of another one are not believed.
    pub(crate) epoch: u32,
    /// Its number, which everybody may see.
    pub(crate) id: u64,
    /// Whoever knows it is a rank. It travels by the launcher alone.
    pub(crate) key: u128,
    /// Frames between hosts carry seals.
    pub(crate) sealed: bool,
}

/// What a seal is for: those of one are worth nothing for another.
#[cfg(feature = "hosts")]
#[derive(Clone, Copy)]
pub(crate) enum Seal {
    Single,
    Group,
    Door,
}

/// In front of all: other versions are told apart.
const VERSION: &str = "pombo2";

impl Card {
    /// No spaces and no '=', so that it passes through any launcher; far below 1024 bytes.
    pub(super) fn text(&self) -> Word {
        let Card {
            host,
            machine,
            fingerprint,
            ..
        } = self;
        let card = format_args!("{VERSION}.{host:016x}.{machine:016x}.{fingerprint:016x}");
        match self.job {
            Some(Job {
                epoch,
                id,
                key,
                sealed,
            }) => {
                let sealed = u8::from(sealed);
                Word::of(format_args!(
                    "{card}.{epoch:08x}.{id:016x}.{key:032x}.{sealed}"
                ))
            }
            None => Word::of(card),
        }
    }

    pub(super) fn read(rank: usize, text: &str) -> Result<Self, PlaceError> {
        let card = || {
            let mut fields = text.split('.');
            let known = fields.next() == Some(VERSION);
            let host = u64::from_str_radix(fields.next()?, 16).ok()?;
            let machine = u64::from_str_radix(fields.next()?, 16).ok()?;
            let fingerprint = u64::from_str_radix(fields.next()?, 16).ok()?;
            let job = match fields.next() {
                Some(epoch) => Some(Job {
                    epoch: u32::from_str_radix(epoch, 16).ok()?,
                    id: u64::from_str_radix(fields.next()?, 16).ok()?,
                    key: u128::from_str_radix(fields.next()?, 16).ok()?,
                    sealed: match fields.next()? {
                        "0" => false,
                        "1" => true,
                        _ => return None,
                    },
                }),
                None => None,
            };
            (known && fields.next().is_none() && job.is_some() == (rank == 0)).then_some(Card {
                host,
                machine,
                fingerprint,
                job,
            })
        };
        card().ok_or_else(|| PlaceError::card(rank, text))
    }
}

impl Job {
    /// That no other job has.
    pub(super) fn new() -> Result<Self, PlaceError> {
        let mut bytes = [0; 28];
        // SAFETY: the buffer is valid for its length. So few bytes come at once or not at all.
        let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        if got != bytes.len() as isize {
            return Err(PlaceError::last("get random numbers"));
        }
        let (epoch, rest) = bytes.split_at(4);
        let (id, key) = rest.split_at(8);
        let number = |bytes: &[u8]| {
            let shift = |number: u128, byte: &u8| number << 8 | u128::from(*byte);
            bytes.iter().fold(0, shift)
        };
        Ok(Job {
            epoch: number(epoch) as u32,
            id: number(id) as u64,
            key: number(key),
            sealed: match text(c"POMBO_AUTH") {
                None | Some("0") => false,
                Some("1") => true,
                Some(_) => return Err(wrong(c"POMBO_AUTH", "0 or 1")),
            },
        })
    }

    /// What seals are made with, if frames carry any.
    #[cfg(feature = "hosts")]
    pub(crate) fn seal(&self, what: Seal) -> Option<Key> {
        self.sealed.then(|| self.key(what))
    }

    /// What seals are made with.
    #[cfg(feature = "hosts")]
    pub(crate) fn key(&self, what: Seal) -> Key {
        Key {
            secret: self.key.to_le_bytes(),
            epoch: self.epoch.into(),
            domain: what as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::String};

    #[test]
    fn a_card_is_read_as_it_was_written() {
        let job = Job::new().expect("random numbers");
        assert_ne!(job, Job::new().expect("random numbers"));
        let mut card = Card {
            host: 7,
            machine: 0,
            fingerprint: u64::MAX,
            job: Some(job),
        };
        assert_eq!(Card::read(0, card.text().as_str()), Ok(card));
        let word = card.text();
        assert!(word.as_str().len() < 128 && !word.as_str().contains([' ', '=', '\n']));
        card.job = None;
        assert_eq!(Card::read(3, card.text().as_str()), Ok(card));
    }

    #[test]
    fn anything_else_is_refused() {
        let key = "0123456789abcdef0123456789abcdef";
        for (rank, text) in [
            (1, String::new()),
            (1, "pombo1.7.6.8".into()),
            (1, "pombo2.7.6".into()),
            (1, "pombo2.7.6.x".into()),
            (1, "pombo2.7.6.8.9".into()),
            (1, format!("pombo2.7.6.8.9.5.{key}.0")),
            (0, "pombo2.7.6.8".into()),
            (0, format!("pombo2.7.6.8.9.5.f{key}.0")),
            (0, format!("pombo2.7.6.8.9.5.{key}")),
            (0, format!("pombo2.7.6.8.9.5.{key}.2")),
            (0, format!("pombo2.7.6.8.9.5.{key}.0.")),
        ] {
            assert_eq!(Card::read(rank, &text), Err(PlaceError::card(rank, &text)));
        }
    }
}
