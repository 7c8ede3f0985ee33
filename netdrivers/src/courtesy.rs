//! Leaving the processor to whoever is ready, as long as it comes back soon. Used by `shm`, `udp` and `ethernet`.
//!
//! Linux charges who yields the rest of its slice, a millisecond and more, for a look of a microsecond. Where all that
//! are ready yield, all pay alike. Beside a task that computes, one that yields hardly gets a turn any more; one that
//! sleeps pays nothing, and is the next when it is woken.

use crate::clock::now;

/// One rank's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Courtesy {
    /// Yields that nobody times before the next one that is.
    untimed: u32,
    /// Timed yields that still have to be short, before not every one is timed.
    doubts: u32,
    /// How long no yield pays, after the next that is long.
    penance: u64,
    /// No yield pays until then. 0: they do.
    until: u64,
}

/// Of so many yields one is timed: that takes a tenth of the time of a yield.
const SAMPLE: u32 = 16;
/// A yield takes less where nobody else is ready but ranks that wait.
const LONG: u64 = 1_000_000;
/// After a long one, so many short ones in a row tell that the others have gone. Others at idle priority get a turn in
/// some hundred yields.
const TRUST: u32 = 1024;
/// Nanoseconds without yields after a long one, and at most: the next trial fails in a few milliseconds.
const PENANCE: (u64, u64) = (8_000_000, 256_000_000);

impl Courtesy {
    pub(crate) const NEW: Self = Self {
        untimed: SAMPLE,
        doubts: 0,
        penance: PENANCE.0,
        until: 0,
    };

    /// Is it worth a try? Else who waits should sleep.
    #[inline]
    pub(crate) fn pays(&mut self) -> bool {
        self.until == 0 || self.pays_at(now())
    }

    #[cold]
    fn pays_at(&mut self, now: u64) -> bool {
        if now >= self.until {
            self.until = 0;
        }
        self.until == 0
    }

    /// Lets others have the processor.
    #[inline]
    pub(crate) fn give_way(&mut self) {
        if self.untimed > 0 {
            self.untimed -= 1;
            return give_way();
        }
        let before = now();
        give_way();
        self.took(before, now());
    }

    fn took(&mut self, before: u64, after: u64) {
        if after.saturating_sub(before) >= LONG {
            self.until = after + self.penance;
            self.penance = PENANCE.1.min(2 * self.penance);
            self.doubts = TRUST;
        } else if self.doubts > 0 {
            self.doubts -= 1;
        } else {
            self.penance = PENANCE.0;
            self.untimed = SAMPLE - 1;
        }
    }
}

fn give_way() {
    // SAFETY: takes nothing and touches no memory.
    unsafe { libc::sched_yield() };
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: u64 = 1 << 40;

    #[test]
    fn short_yields_pay() {
        let mut courtesy = Courtesy::NEW;
        for _ in 0..10 * TRUST {
            courtesy.took(LATER, LATER + LONG - 1);
            assert!(courtesy.pays_at(LATER));
        }
    }

    #[test]
    fn after_a_long_yield_none_pays_for_a_while() {
        let mut courtesy = Courtesy::NEW;
        let (mut time, mut penance) = (LATER, PENANCE.0);
        for _ in 0..20 {
            courtesy.took(time, time + LONG);
            time += LONG + penance;
            assert!(!courtesy.pays_at(time - 1));
            assert!(courtesy.pays_at(time));
            assert_eq!(courtesy.until, 0);
            penance = PENANCE.1.min(2 * penance);
        }
    }

    #[test]
    fn who_was_long_is_timed_until_it_is_trusted() {
        let mut courtesy = Courtesy::NEW;
        courtesy.took(LATER, LATER + LONG);
        courtesy.untimed = 0;
        for _ in 0..TRUST {
            courtesy.took(LATER, LATER);
            assert_eq!(courtesy.untimed, 0);
            assert_eq!(courtesy.penance, 2 * PENANCE.0);
        }
        courtesy.took(LATER, LATER);
        assert_eq!(courtesy.untimed, SAMPLE - 1);
        assert_eq!(courtesy.penance, PENANCE.0);
    }
}
