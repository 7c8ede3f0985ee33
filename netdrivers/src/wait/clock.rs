//! The clock, for drivers and for callers that wait beside them.

#[cfg(feature = "shm")]
use crate::tuning::{
    BURST_GAP, BURST_PAUSE, FAR_BURST, FAR_BURST_PAUSE, MAIL_INTERVAL, MAIL_PAUSE, NEAR_MAIL_PAUSE,
    NEAR_TURN, NEAR_TURN_LINE, TICKS_SAMPLE,
};

#[cfg(feature = "shm")]
static_assertions::const_assert!(MAIL_INTERVAL <= MAIL_PAUSE && BURST_PAUSE <= FAR_BURST_PAUSE);
#[cfg(feature = "shm")]
static_assertions::const_assert!(NEAR_MAIL_PAUSE <= MAIL_PAUSE);

/// Returns the time in nanoseconds of the system's monotonic clock, which is equal in all processes of a host.
#[inline]
pub fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is valid; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// When a rank looks for what its peer writes, in [`ticks`].
#[derive(Clone, Copy, Default)]
#[cfg(feature = "shm")]
pub(crate) struct LookTiming {
    /// From its own mail to the first look for the answer, and the same over a short line.
    pub(crate) pause: u64,
    pub(crate) near_pause: u64,
    /// From a mail to the next one, at most, over a short line, and for each line behind the first.
    pub(crate) near_turn: u64,
    pub(crate) near_line: u64,
    /// Between two looks for a mail.
    pub(crate) interval: u64,
    /// From a look that ends a burst to the next one; 0: none.
    pub(crate) burst: u64,
    /// The same over a line that takes long, at least as long.
    pub(crate) far_burst: u64,
    /// For each KiB of a burst over such a line.
    pub(crate) far_kib: u64,
    /// Between two frames of a burst, at most.
    pub(crate) gap: u64,
}

#[cfg(feature = "shm")]
impl LookTiming {
    /// Converts the constants, by comparing both clocks for some microseconds.
    pub(crate) fn measure() -> Self {
        let (start, from) = (now(), ticks());
        let mut time = 0;
        while time < TICKS_SAMPLE {
            time = now().saturating_sub(start);
        }
        let passed = u128::from(ticks().saturating_sub(from));
        let of = |nanoseconds| (u128::from(nanoseconds) * passed / u128::from(time)) as u64;
        Self {
            pause: of(MAIL_PAUSE),
            near_pause: of(NEAR_MAIL_PAUSE),
            near_turn: of(NEAR_TURN),
            near_line: of(NEAR_TURN_LINE),
            interval: of(MAIL_INTERVAL),
            burst: of(BURST_PAUSE),
            far_burst: of(FAR_BURST_PAUSE),
            far_kib: of(FAR_BURST),
            gap: of(BURST_GAP),
        }
    }

    /// Returns the pause after a mail, which came so long after the one before.
    #[inline(always)]
    pub(crate) fn pause(&self, turn: u64) -> u64 {
        match turn <= self.near_turn {
            true => self.near_pause,
            false => self.pause,
        }
    }

    /// Returns the pause after a look that ends a burst, of which so many bytes have arrived in that time.
    #[inline]
    pub(crate) fn burst_pause(&self, time: u64, bytes: u64) -> u64 {
        match time.saturating_mul(1 << 10) > self.far_kib.saturating_mul(bytes) {
            true => self.far_burst,
            false => self.burst,
        }
    }
}

/// Returns whether the next look is due. It is at most a pause away; if not, the counter was set back meanwhile, as when
/// the machine sleeps or moves.
#[cfg(feature = "shm")]
#[inline(always)]
pub(crate) fn is_due(next_look: u64, now: u64, pause: u64) -> bool {
    next_look.wrapping_sub(now).wrapping_sub(1) >= pause
}

/// Returns the time of a clock that is quicker to read; its ticks are never longer than a nanosecond or so.
#[cfg(feature = "shm")]
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: all such processors have this counter, and Linux lets programs read it unless they ask it not to.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    now()
}

#[cfg(all(test, feature = "shm"))]
mod tests {
    use super::{LookTiming, is_due};

    #[test]
    fn bursts_that_take_long_have_the_longer_pause() {
        let timing = LookTiming {
            burst: 7,
            far_burst: 13,
            far_kib: 200,
            ..LookTiming::default()
        };
        assert_eq!(timing.burst_pause(1999, 10 << 10), 7);
        assert_eq!(timing.burst_pause(2001, 10 << 10), 13);
        assert_eq!(timing.burst_pause(u64::MAX, 1), 13);
        assert_eq!(timing.burst_pause(1, u64::MAX), 7);
    }

    #[test]
    fn a_look_is_due_in_time_and_if_the_counter_was_set_back() {
        let due = |now| is_due(1000, now, 300);
        assert!([700, 940, 999].iter().all(|now| !due(*now)));
        assert!([1000, 1001, 1 << 60].iter().all(|now| due(*now)));
        assert!([0, 699].iter().all(|now| due(*now)));
        assert!(is_due(1000, 1000, 0));
    }
}
