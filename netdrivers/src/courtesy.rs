//! Leaving the processor to whoever is ready, as long as it comes back soon. Used by `shm`, `loopback`, `udp` and
//! `ethernet`.
//!
//! Linux charges who yields the rest of its slice, a millisecond and more, for a look of a microsecond. Where all that
//! are ready yield, all pay alike. Beside a task that computes, one that yields hardly gets a turn any more; one that
//! sleeps pays nothing, and is the next when it is woken.

use crate::clock::now;
use core::sync::atomic::{AtomicU64, Ordering};

/// One rank's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Courtesy {
    /// Yields before the next one that is timed.
    untimed: u8,
    /// Yields in which one more long one tells that they do not pay.
    doubts: u8,
}

/// Yields do not pay until then. Ranks of one host may share it, and then learn from each other.
///
/// Nanoseconds, or 0 where they pay. The lowest bits say how often in a row they did not.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Penance(AtomicU64);

/// Idle polls after which nobody sleeps yet, instead of a yield: who waits may just have had something to do.
pub(crate) const AWAKE: u32 = 2;
/// Nanoseconds of a sleep in place of a yield: so early who waits may not yet look for all that it waits for.
pub(crate) const NAP: u64 = 1_000_000;
/// Of so many yields one is timed: that takes a tenth of the time of a yield.
const SAMPLE: u8 = 16;
/// A yield takes less where nobody else is ready but ranks that wait.
const LONG: u64 = 1_000_000;
/// Yields do not pay where of so many two are long, or one soon after a penance. With fewer long ones a yield still
/// takes less than a sleep, on average.
const DOUBTS: u8 = 32;
/// Nanoseconds of the first penance after a yield that is hardly long, and in proportion after longer ones: beside tasks
/// of more weight a yield may take seconds. Each one is twice as long as the one before, if a trial of the same length
/// fails.
const FIRST: u64 = 8_000_000;
/// So often: a trial takes little of the last one.
const MOST: u64 = 5;
/// The longest of all, about half a minute: who has the processor again yields before long.
const LONGEST: u64 = 12;
/// Bits for the number of a penance.
const NUMBER: u64 = 15;

impl Courtesy {
    /// Lets others have the processor.
    #[inline]
    pub(crate) fn give_way(&mut self, penance: &Penance) {
        if self.untimed > 0 {
            self.untimed -= 1;
            return give_way();
        }
        let before = now();
        give_way();
        self.took(penance, before, now());
    }

    fn took(&mut self, penance: &Penance, before: u64, after: u64) {
        let long = after.saturating_sub(before) >= LONG;
        self.doubts = match self.doubts {
            0 if !long => 0,
            0 if penance.is_forgotten() => DOUBTS,
            _ if long => {
                penance.begin(before, after);
                0
            }
            doubts => doubts - 1,
        };
        let trusts = self.doubts == 0 && penance.is_forgotten();
        self.untimed = if trusts { SAMPLE - 1 } else { 0 };
    }
}

impl Penance {
    /// Is it worth a try? Else who waits should sleep.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_forgotten() || self.is_over_at(now())
    }

    #[inline]
    fn is_forgotten(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    #[cold]
    fn is_over_at(&self, now: u64) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        if now >= word.saturating_add(length(word)) {
            let _ = self.change(word, 0);
        }
        now >= word
    }

    /// After a long yield, unless another rank told so meanwhile.
    #[cold]
    fn begin(&self, before: u64, after: u64) {
        let word = self.0.load(Ordering::Relaxed);
        if word <= before {
            let least = first(after.saturating_sub(before));
            let number = match word {
                0 => least,
                _ => ((word & NUMBER) + 1).clamp(least, least + MOST),
            };
            let number = number.min(LONGEST);
            let until = after.saturating_add(FIRST << number);
            let _ = self.change(word, until & !NUMBER | number);
        }
    }

    /// Another rank may be faster.
    fn change(&self, from: u64, to: u64) -> Result<u64, u64> {
        self.0
            .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
    }
}

/// The number of the first penance after a yield that took so long.
fn first(took: u64) -> u64 {
    let fits = |number: &u64| LONG << number >= took;
    (0..LONGEST).find(fits).unwrap_or(LONGEST)
}

/// Nanoseconds of that penance.
fn length(word: u64) -> u64 {
    FIRST << (word & NUMBER)
}

/// Lets others have the processor, whatever it costs.
pub(crate) fn give_way() {
    // SAFETY: takes nothing and touches no memory.
    unsafe { libc::sched_yield() };
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1 << 40;

    fn short(courtesy: &mut Courtesy, penance: &Penance) {
        courtesy.took(penance, START, START + LONG - 1);
    }

    fn long(courtesy: &mut Courtesy, penance: &Penance, at: u64) -> u64 {
        courtesy.took(penance, at, at + LONG);
        at + LONG
    }

    #[test]
    fn yields_pay_while_few_are_long() {
        let (mut courtesy, penance) = (Courtesy::default(), Penance::default());
        for _ in 0..10 {
            long(&mut courtesy, &penance, START);
            for _ in 0..DOUBTS {
                assert_eq!(courtesy.untimed, 0);
                short(&mut courtesy, &penance);
            }
            assert_eq!(courtesy.untimed, SAMPLE - 1);
            assert!(penance.is_over_at(START));
        }
    }

    #[test]
    fn after_long_ones_none_pays_for_longer_and_longer() {
        let (mut courtesy, penance) = (Courtesy::default(), Penance::default());
        let mut time = long(&mut courtesy, &penance, START);
        for number in [0, 1, 2, 3, 4, 5, 5, 5] {
            time = long(&mut courtesy, &penance, time);
            let until = (time + (FIRST << number)) & !NUMBER;
            assert!(!penance.is_over_at(until - 1));
            time = until + NUMBER;
            assert!(penance.is_over_at(time));
            assert_eq!(courtesy.untimed, 0);
        }
    }

    /// Beside tasks of more weight.
    #[test]
    fn a_trial_takes_little_time_however_long_yields_are() {
        for each in [LONG, 10 * LONG, 400 * LONG] {
            let (mut courtesy, penance) = (Courtesy::default(), Penance::default());
            let (mut time, mut yielded) = (START, 0);
            while time < START + 1000 * each {
                if penance.is_over_at(time) {
                    courtesy.took(&penance, time, time + each);
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
        let (mut one, mut other, penance) =
            (Courtesy::default(), Courtesy::default(), Penance::default());
        for rank in [&mut one, &mut other] {
            long(rank, &penance, START);
            long(rank, &penance, START);
        }
        assert!(penance.is_over_at(START + LONG + FIRST));
    }

    #[test]
    fn a_trial_as_long_as_the_penance_ends_it() {
        let (mut courtesy, penance) = (Courtesy::default(), Penance::default());
        long(&mut courtesy, &penance, START);
        let until = long(&mut courtesy, &penance, START) + FIRST;
        assert!(penance.is_over_at(until) && !penance.is_forgotten());
        assert!(penance.is_over_at(until + FIRST) && penance.is_forgotten());
        short(&mut courtesy, &penance);
        assert_eq!(courtesy.untimed, SAMPLE - 1);
    }
}
