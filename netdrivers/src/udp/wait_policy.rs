//! How a rank waits for the network. Used by `udp` and `ethernet`.

use crate::clock::now;
use crate::wait_fds;
use crate::yield_policy::{NO_SLEEP_POLLS, SHORT_SLEEP, YieldBackoff, YieldPolicy};
use pombo_kernel::channel::{ChannelError, WaitSet};

/// How long a rank looks before it sleeps. It does not pause in between; where the ranks of the host have no processor
/// each, it lets the others work at once.
pub(crate) struct NetworkWaitPolicy {
    polls: u32,
    yield_policy: YieldPolicy,
    backoff: YieldBackoff,
}

/// Idle polls before the first yield: ten microseconds where a look is a read of memory, some tens where it is a system
/// call; longer than an answer takes that is under way.
const POLLS: u32 = 128;
/// Yields before the first sleep, as long as they pay: far longer than waking a rank on another processor takes.
const YIELDS: u32 = 500;

impl NetworkWaitPolicy {
    /// For that many ranks on this host.
    pub(crate) fn of(ranks: usize) -> Self {
        let polls = if ranks > processors() { 0 } else { POLLS };
        NetworkWaitPolicy {
            polls,
            yield_policy: YieldPolicy::default(),
            backoff: YieldBackoff::default(),
        }
    }

    /// Waits for that; `until` at most.
    pub(crate) fn wait(
        &mut self,
        idle: u32,
        until: u64,
        wake: WaitSet,
    ) -> Result<(), ChannelError> {
        if idle < self.polls {
            return Ok(());
        }
        let mut wake = wake;
        if idle < self.polls + YIELDS {
            if self.backoff.is_over() {
                self.yield_policy.yield_cpu(&self.backoff);
                return Ok(());
            }
            if idle < NO_SLEEP_POLLS {
                return Ok(());
            }
            wake = wake.at_most(SHORT_SLEEP);
        }
        let wake = match until {
            u64::MAX => wake,
            _ => wake.at_most(until.saturating_sub(now())),
        };
        wait_fds(wake).map_err(ChannelError::Device)
    }
}

/// Processors that this machine has at work; at least 1.
fn processors() -> usize {
    // SAFETY: computes a number.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(count).unwrap_or(1).max(1)
}
