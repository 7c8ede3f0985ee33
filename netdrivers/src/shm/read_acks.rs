//! How a receiver tells a sender what became of the memory that it exposed: in order, by one word that it alone writes. Used by
//! `Connection` only.
//!
//! Once a read was refused, all later ones are: their sender copies from then on.

use super::sync::{AtomicU64, Ordering};

/// How many reads were done; with [`REFUSED`] none behind those will be.
#[repr(transparent)]
pub(super) struct ReadAcks(pub(super) AtomicU64);

const REFUSED: u64 = 1 << 63;

/// What became of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReadAck {
    /// It was read, or is not needed: the memory is the sender's again.
    Read,
    /// It was not and will not be read.
    Refused,
}

impl ReadAcks {
    /// Were reads refused?
    pub(super) fn has_refused(&self) -> bool {
        self.0.load(Ordering::Relaxed) & REFUSED != 0
    }

    /// Acknowledges the next read. Its memory is not looked at any more.
    pub(super) fn acknowledge(&self, ack: ReadAck) {
        let word = self.0.load(Ordering::Relaxed);
        let next = match ack {
            _ if word & REFUSED != 0 => return,
            ReadAck::Read => word + 1,
            ReadAck::Refused => word | REFUSED,
        };
        self.0.store(next, Ordering::Release);
    }

    /// The acknowledgement of the read of that number; the first is 1.
    pub(super) fn ack_of(&self, number: u64) -> Option<ReadAck> {
        let word = self.0.load(Ordering::Acquire);
        if number <= word & !REFUSED {
            Some(ReadAck::Read)
        } else {
            (word & REFUSED != 0).then_some(ReadAck::Refused)
        }
    }
}
