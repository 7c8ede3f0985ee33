//! Whether a rank that shares its processor polls another member's board for a while before it yields.

use crate::tuning::{FAR_LINE, FAST_PATHS, SHARED_BOARD_SPIN};
use crate::wait;
use alloc::boxed::Box;

/// Spins in vain for which one that paid makes up. It saves two yields, the time of four spins, but ranks fall into step
/// only if they go on for some operations.
const GAIN: u8 = 8;
/// Credit is at most this, so that a rank soon notices that spins do not pay any more.
const MOST: u8 = 4 * GAIN;
/// Waits without credit after which [`GAIN`] of them spin again.
const RETRY: u8 = 255;

/// What this rank knows about its waits for each member. A spin does not pay where the rank yields after all before the
/// operation ends, as a member waits for the same processor, nor over a line that takes long: each look delays its writer.
pub(super) struct SpinCredits {
    of: Box<[SpinCredit]>,
    /// Whether a spin of the operation under way has found what it looked for.
    found: bool,
}

#[derive(Clone, Copy)]
struct SpinCredit {
    credit: u8,
    /// Waits without credit since the last spin.
    skipped: u8,
    found: bool,
}

impl SpinCredits {
    pub(super) fn new(members: usize) -> Self {
        // Builds without fast paths never spin.
        let members = if FAST_PATHS { members } else { 0 };
        let of = (0..members).map(|_| SpinCredit {
            credit: GAIN,
            skipped: 0,
            found: false,
        });
        let (of, found) = (of.collect(), false);
        SpinCredits { of, found }
    }

    /// Polls for a while, unless that did not pay lately. Returns whether the member's payload is there.
    #[cold]
    #[inline(never)]
    pub(super) fn spin(&mut self, rank: usize, is_there: impl Fn() -> bool) -> bool {
        if !FAST_PATHS {
            return false;
        }
        let Some(credit) = self.of.get_mut(rank) else {
            return false;
        };
        if !credit.is_worth_a_spin() {
            return false;
        }
        let start = wait::now();
        let mut before = start;
        while before.saturating_sub(start) < SHARED_BOARD_SPIN {
            let found = is_there();
            let after = wait::now();
            if found {
                match after.saturating_sub(before) < FAR_LINE {
                    true => (credit.found, self.found) = (true, true),
                    false => credit.credit = 0,
                }
                return true;
            }
            before = after;
        }
        credit.record(false);
        false
    }

    /// Settles the spins of an operation that found what they looked for: they have paid if it ends without a yield.
    #[inline]
    pub(super) fn settle(&mut self, paid: bool) {
        if FAST_PATHS && self.found {
            self.settle_found(paid);
        }
    }

    #[cold]
    fn settle_found(&mut self, paid: bool) {
        self.found = false;
        for credit in self.of.iter_mut().filter(|credit| credit.found) {
            credit.found = false;
            credit.record(paid);
        }
    }
}

impl SpinCredit {
    fn is_worth_a_spin(&mut self) -> bool {
        if self.credit == 0 {
            self.skipped += 1;
            if self.skipped < RETRY {
                return false;
            }
            (self.skipped, self.credit) = (0, GAIN);
        }
        true
    }

    fn record(&mut self, paid: bool) {
        self.credit = match paid {
            true => (self.credit + GAIN).min(MOST),
            false => self.credit.saturating_sub(1),
        };
    }
}

#[cfg(all(test, feature = "fast-paths"))]
mod tests {
    use super::{GAIN, RETRY, SpinCredits};
    use core::cell::Cell;

    /// Returns how many of that many waits in vain have spun.
    fn spins(credits: &mut SpinCredits, waits: u8) -> u8 {
        let spins = (0..waits).map(|_| {
            let has_looked = Cell::new(false);
            assert!(!credits.spin(1, || {
                has_looked.set(true);
                false
            }));
            u8::from(has_looked.get())
        });
        spins.sum()
    }

    #[test]
    fn waits_in_vain_hardly_spin_any_more() {
        let mut credits = SpinCredits::new(2);
        for _ in 0..3 {
            assert_eq!(spins(&mut credits, GAIN), GAIN);
            assert_eq!(spins(&mut credits, RETRY - 1), 0);
        }
    }

    #[test]
    fn a_spin_before_a_yield_was_in_vain() {
        for (paid, credit) in [(true, 1 + GAIN), (false, 0)] {
            let mut credits = SpinCredits::new(2);
            spins(&mut credits, GAIN - 1);
            (credits.of[1].found, credits.found) = (true, true);
            credits.settle(paid);
            credits.settle(!paid); // what is settled stays so
            assert_eq!(credits.of[1].credit, credit);
        }
    }

    #[test]
    fn a_rank_that_is_no_member_is_not_there() {
        assert!(!SpinCredits::new(2).spin(2, || true));
    }
}
