//! Acknowledgements from a receiver to a sender of exposed memory: in order, by one word that the receiver alone
//! writes. Only `Connection` uses them.
//!
//! After one refused read all later ones are refused: their sender copies from then on.

use super::sync::{AtomicU64, Ordering};

/// Number of reads done; with [`REFUSED`] all later ones are refused.
#[repr(transparent)]
pub(super) struct ReadAcks(pub(super) AtomicU64);

const REFUSED: u64 = 1 << 63;

/// The result of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReadAck {
    /// The memory was read, or is not needed: it belongs to the sender again.
    Read,
    /// The memory was not and will not be read.
    Refused,
}

impl ReadAcks {
    /// Returns whether reads were refused.
    pub(super) fn has_refused(&self) -> bool {
        self.0.load(Ordering::Relaxed) & REFUSED != 0
    }

    /// Returns the number of reads done.
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed) & !REFUSED
    }

    /// Acknowledges the next read. Its memory is not accessed any more.
    pub(super) fn acknowledge(&self, ack: ReadAck) {
        let word = self.0.load(Ordering::Relaxed);
        let next = match ack {
            _ if word & REFUSED != 0 => return,
            ReadAck::Read => word + 1,
            ReadAck::Refused => word | REFUSED,
        };
        self.0.store(next, Ordering::Release);
    }

    /// Returns the acknowledgement of the read of that number; the first is 1.
    pub(super) fn ack_of(&self, number: u64) -> Option<ReadAck> {
        let word = self.0.load(Ordering::Acquire);
        if number <= word & !REFUSED {
            Some(ReadAck::Read)
        } else {
            (word & REFUSED != 0).then_some(ReadAck::Refused)
        }
    }
}
