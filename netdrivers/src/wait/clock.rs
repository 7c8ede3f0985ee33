//! The clock, for drivers and for callers that wait beside them.

#[cfg(feature = "shm")]
use crate::tuning::{MAIL_INTERVAL, MAIL_PAUSE, TICKS_SAMPLE};

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

/// When a rank looks for a mail of its peer, in [`ticks`].
#[derive(Clone, Copy)]
#[cfg(feature = "shm")]
pub(crate) struct MailTiming {
    /// From its own mail to the first look.
    pub(crate) pause: u64,
    /// Between two looks.
    pub(crate) interval: u64,
}

#[cfg(feature = "shm")]
impl MailTiming {
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
            interval: of(MAIL_INTERVAL),
        }
    }
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
