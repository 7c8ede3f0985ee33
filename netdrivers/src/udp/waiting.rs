//! How a rank waits for the network, and the time. Used by `udp` and `ethernet`.

use crate::sleep;
use pombo_kernel::channel::{ChannelError, Wake};

/// How long a rank looks before it sleeps. It does not pause in between; where the ranks of the host have no processor
/// each, it lets the others work at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Patience {
    looks: u32,
}

/// Idle polls before the first yield: ten microseconds where a look is a read of memory, some tens where it is a system
/// call; longer than an answer takes that is under way.
const LOOKS: u32 = 128;
/// Yields before the first sleep: far longer than waking a rank on another processor takes.
const YIELDS: u32 = 500;

impl Patience {
    /// For that many ranks on this host.
    pub(crate) fn of(ranks: usize) -> Self {
        let looks = if ranks > processors() { 0 } else { LOOKS };
        Patience { looks }
    }

    /// Waits for that; `until` at most.
    pub(crate) fn wait(self, idle: u32, until: u64, wake: Wake) -> Result<(), ChannelError> {
        if idle < self.looks {
            return Ok(());
        }
        if idle < self.looks + YIELDS {
            // SAFETY: takes nothing and touches no memory.
            unsafe { libc::sched_yield() };
            return Ok(());
        }
        let wake = match until {
            u64::MAX => wake,
            _ => wake.at_most(until.saturating_sub(now())),
        };
        sleep(wake).map_err(ChannelError::Device)
    }
}

/// Processors that this machine has at work; at least 1.
fn processors() -> usize {
    // SAFETY: computes a number.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(count).unwrap_or(1).max(1)
}

/// Nanoseconds on a clock that never goes back.
#[inline]
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is valid; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
