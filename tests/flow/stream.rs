//! Messages that are generated as they are sent and verified as they are received, so that tests need no memory for
//! them.

use pombo_kernel::{Loan, Memory, Sink, Source};
use std::sync::LazyLock;

/// The memory of such messages.
pub(crate) struct Stream;

/// The message of that number: eight bytes of number, then bytes that depend on it.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    pub(crate) number: u64,
    pub(crate) len: usize,
}

/// A receive that verifies its message.
pub(crate) struct Check {
    room: usize,
    number: [u8; 8],
    /// Number of bytes that were correct and in order.
    good: usize,
}

const LONGEST: usize = 64 << 10;

static TABLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut x = 1_u32;
    let mut next = || {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (x >> 24) as u8
    };
    (0..2 * LONGEST).map(|_| next()).collect()
});

/// Returns the bytes of message `number` from `offset`; the first eight are not valid.
fn bytes(number: u64, offset: usize, len: usize) -> &'static [u8] {
    let start = (number as usize * 61) % LONGEST + offset;
    &TABLE[start..start + len]
}

impl Memory for Stream {
    type Out = Item;
    type In = Check;
}

impl Source for Item {
    fn len(&self) -> usize {
        self.len
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(bytes(self.number, offset, into.len()));
        let number = self.number.to_le_bytes();
        for (at, byte) in (offset..8).zip(into) {
            *byte = number[at];
        }
    }
}

impl Sink for Check {
    fn len(&self) -> usize {
        self.room
    }

    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        if offset != self.good {
            return;
        }
        let front = from.len().min(8_usize.saturating_sub(offset));
        self.number[offset.min(8)..][..front].copy_from_slice(&from[..front]);
        let number = u64::from_le_bytes(self.number);
        if from[front..] == *bytes(number, offset + front, from.len() - front) {
            self.good += from.len();
        }
    }
}

impl Check {
    pub(crate) fn new(room: usize) -> Self {
        Check {
            room,
            number: [0; 8],
            good: 0,
        }
    }

    /// Takes the verification out of a completed receive.
    pub(crate) fn of(loan: Loan<Stream>) -> Self {
        match loan {
            Loan::Received(check) => check,
            Loan::Sent(_) => panic!("a receive"),
        }
    }

    /// Returns the number of a message of that length if every byte was correct.
    pub(crate) fn number(&self, len: usize) -> Option<u64> {
        (self.good == len && len >= 8).then(|| u64::from_le_bytes(self.number))
    }
}
