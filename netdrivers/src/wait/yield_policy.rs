//! Yields the processor to other tasks, as long as it comes back soon. `shm`, `loopback` and `device_wait` use it.
//!
//! Linux charges a yielding task for the rest of its slice, a millisecond and more, after a poll of a microsecond. If
//! all ready tasks yield, all are charged alike. Beside a task that computes, a task that yields hardly runs any more;
//! one that sleeps is not charged, and runs next when it is woken.

use super::now;
#[cfg(feature = "shm")]
use crate::tuning::RANK_YIELDS;
use crate::tuning::{
    FIRST_BACKOFF, LONG_YIELD, MAX_EXPONENT, MAX_GROWTH, SAMPLE_INTERVAL, SUSPECT_YIELDS,
};
use core::sync::atomic::{AtomicU64, Ordering};

/// The yield policy of one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct YieldPolicy {
    /// Number of yields before the next one that is timed; in [`briefly`](Self::briefly), of sleeps before the next yield.
    untimed: u8,
    /// Number of yields within which another long one shows that they do not pay.
    suspect_left: u8,
}

/// The time until which yields do not pay. Ranks of one host may share it, and then learn from each other.
///
/// It is in nanoseconds, or 0 if yields pay. The lowest bits are the number of successive backoffs.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct YieldBackoff(AtomicU64);

/// Mask of the bits for the number of a backoff.
const EXPONENT_MASK: u64 = 15;

impl YieldPolicy {
    /// Yields the processor.
    #[inline]
    pub(crate) fn yield_cpu(&mut self, backoff: &YieldBackoff) {
        if self.untimed > 0 {
            self.untimed -= 1;
            return sched_yield();
        }
        let before = now();
        sched_yield();
        self.record(backoff, before, now());
    }

    /// Yields the processor in an idle poll of that number if that may pay, where nobody learns from other ranks; returns
    /// whether it did. After a long yield, the next waits of a rank sleep at once.
    #[cfg(feature = "shm")]
    pub(crate) fn briefly(&mut self, idle: u32) -> bool {
        if self.untimed > 0 || idle >= RANK_YIELDS {
            self.untimed = self.untimed.saturating_sub(1);
            return false;
        }
        let before = now();
        sched_yield();
        if now() - before >= LONG_YIELD {
            self.untimed = u8::MAX;
        }
        true
    }

    fn record(&mut self, backoff: &YieldBackoff, before: u64, after: u64) {
        let long = after.saturating_sub(before) >= LONG_YIELD;
        self.suspect_left = match self.suspect_left {
            0 if !long => 0,
            0 if backoff.is_clear() => SUSPECT_YIELDS,
            _ if long => {
                backoff.start(before, after);
                0
            }
            suspect_left => suspect_left - 1,
        };
        let trusts = self.suspect_left == 0 && backoff.is_clear();
        self.untimed = if trusts { SAMPLE_INTERVAL - 1 } else { 0 };
    }
}

impl YieldBackoff {
    /// Returns whether a yield is worth a trial; otherwise the caller should sleep.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_clear() || self.is_over_at(now())
    }

    #[inline]
    fn is_clear(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    #[cold]
    fn is_over_at(&self, now: u64) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        if now >= word.saturating_add(duration(word)) {
            let _ = self.compare_exchange(word, 0);
        }
        now >= word
    }

    /// Starts a backoff after a long yield, unless another rank has started one meanwhile.
    #[cold]
    fn start(&self, before: u64, after: u64) {
        let word = self.0.load(Ordering::Relaxed);
        if word <= before {
            let least = first_exponent(after.saturating_sub(before));
            let exponent = match word {
                0 => least,
                _ => ((word & EXPONENT_MASK) + 1).clamp(least, least + MAX_GROWTH),
            };
            let exponent = exponent.min(MAX_EXPONENT);
            let until = after.saturating_add(FIRST_BACKOFF << exponent);
            let _ = self.compare_exchange(word, until & !EXPONENT_MASK | exponent);
        }
    }

    /// Replaces the word, unless another rank was faster.
    fn compare_exchange(&self, from: u64, to: u64) -> Result<u64, u64> {
        self.0
            .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
    }
}

/// Returns the exponent of the first backoff after a yield of that many nanoseconds.
fn first_exponent(yielded: u64) -> u64 {
    let fits = |exponent: &u64| LONG_YIELD << exponent >= yielded;
    (0..MAX_EXPONENT).find(fits).unwrap_or(MAX_EXPONENT)
}

/// Returns the duration of that backoff in nanoseconds.
fn duration(word: u64) -> u64 {
    FIRST_BACKOFF << (word & EXPONENT_MASK)
}

/// Yields the processor, whatever it costs.
pub(crate) fn sched_yield() {
    rustix::thread::sched_yield();
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1 << 40;

    fn short(yield_policy: &mut YieldPolicy, backoff: &YieldBackoff) {
        yield_policy.record(backoff, START, START + LONG_YIELD - 1);
    }

    fn long(yield_policy: &mut YieldPolicy, backoff: &YieldBackoff, at: u64) -> u64 {
        yield_policy.record(backoff, at, at + LONG_YIELD);
        at + LONG_YIELD
    }

    #[test]
    fn yields_pay_while_few_are_long() {
        let (mut yield_policy, backoff) = (YieldPolicy::default(), YieldBackoff::default());
        for _ in 0..10 {
            long(&mut yield_policy, &backoff, START);
            for _ in 0..SUSPECT_YIELDS {
                assert_eq!(yield_policy.untimed, 0);
                short(&mut yield_policy, &backoff);
            }
            assert_eq!(yield_policy.untimed, SAMPLE_INTERVAL - 1);
            assert!(backoff.is_over_at(START));
        }
    }

    #[test]
    fn after_long_ones_none_pays_for_longer_and_longer() {
        let (mut yield_policy, backoff) = (YieldPolicy::default(), YieldBackoff::default());
        let mut time = long(&mut yield_policy, &backoff, START);
        for exponent in [0, 1, 2, 3, 3, 3] {
            time = long(&mut yield_policy, &backoff, time);
            let until = (time + (FIRST_BACKOFF << exponent)) & !EXPONENT_MASK;
            assert!(!backoff.is_over_at(until - 1));
            time = until + EXPONENT_MASK;
            assert!(backoff.is_over_at(time));
            assert_eq!(yield_policy.untimed, 0);
        }
    }

    /// Simulates tasks of higher weight.
    #[test]
    fn a_trial_takes_little_time_however_long_yields_are() {
        for each in [LONG_YIELD, 10 * LONG_YIELD, 400 * LONG_YIELD] {
            let (mut yield_policy, backoff) = (YieldPolicy::default(), YieldBackoff::default());
            let (mut time, mut yielded) = (START, 0);
            while time < START + 1000 * each {
                if backoff.is_over_at(time) {
                    yield_policy.record(&backoff, time, time + each);
                    (time, yielded) = (time + each, yielded + each);
                } else {
                    time += each;
                }
            }
            let share = (time - START) / yielded;
            assert!(share >= 16, "one of {share} yields of {each} ns");
        }
    }

    #[test]
    fn what_two_ranks_saw_at_a_time_counts_once() {
        let (mut one, mut other, backoff) = (
            YieldPolicy::default(),
            YieldPolicy::default(),
            YieldBackoff::default(),
        );
        for rank in [&mut one, &mut other] {
            long(rank, &backoff, START);
            long(rank, &backoff, START);
        }
        assert!(backoff.is_over_at(START + LONG_YIELD + FIRST_BACKOFF));
    }

    #[test]
    fn a_trial_as_long_as_the_backoff_ends_it() {
        let (mut yield_policy, backoff) = (YieldPolicy::default(), YieldBackoff::default());
        long(&mut yield_policy, &backoff, START);
        let until = long(&mut yield_policy, &backoff, START) + FIRST_BACKOFF;
        assert!(backoff.is_over_at(until) && !backoff.is_clear());
        assert!(backoff.is_over_at(until + FIRST_BACKOFF) && backoff.is_clear());
        short(&mut yield_policy, &backoff);
        assert_eq!(yield_policy.untimed, SAMPLE_INTERVAL - 1);
    }
}
