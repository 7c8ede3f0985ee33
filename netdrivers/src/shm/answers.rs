//! How a receiver tells a sender what became of its offers: in their order, by one word that it alone writes. Used by
//! `Peer` only.
//!
//! Once an offer was refused, all later ones are: their sender copies from then on.

use super::sync::{AtomicU64, Ordering};

/// How many offers were read; with [`REFUSED`] none behind those will be.
#[repr(transparent)]
pub(super) struct Answers(pub(super) AtomicU64);

const REFUSED: u64 = 1 << 63;

/// What became of an offer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// It was read, or is not needed: the memory is the sender's again.
    Read,
    /// It was not and will not be read.
    Refused,
}

impl Answers {
    /// Were offers refused?
    pub(super) fn refuse(&self) -> bool {
        self.0.load(Ordering::Relaxed) & REFUSED != 0
    }

    /// Answers the next offer. Its memory is not looked at any more.
    pub(super) fn give(&self, answer: Answer) {
        let word = self.0.load(Ordering::Relaxed);
        let next = match answer {
            _ if word & REFUSED != 0 => return,
            Answer::Read => word + 1,
            Answer::Refused => word | REFUSED,
        };
        self.0.store(next, Ordering::Release);
    }

    /// The answer to the offer of that number; the first is 1.
    pub(super) fn to(&self, number: u64) -> Option<Answer> {
        let word = self.0.load(Ordering::Acquire);
        if number <= word & !REFUSED {
            Some(Answer::Read)
        } else {
            (word & REFUSED != 0).then_some(Answer::Refused)
        }
    }
}
