//! Waiting of a rank on a network device. `udp` and `ethernet` use it.

use super::yield_policy::{YieldBackoff, YieldPolicy};
use super::{WaitPolicy, WaitStep, now, processors, wait_fds};
use crate::tuning::BACKOFF_SLEEP;
use pombo_kernel::channel::{ChannelError, WaitSet};

/// The waiting state of one device.
pub(crate) struct DeviceWait {
    wait_policy: WaitPolicy,
    yield_policy: YieldPolicy,
    backoff: YieldBackoff,
}

impl DeviceWait {
    /// Creates the state for `ranks` ranks on this host.
    pub(crate) fn of(ranks: usize) -> Self {
        DeviceWait {
            wait_policy: WaitPolicy::of_device(ranks, processors::online()),
            yield_policy: YieldPolicy::default(),
            backoff: YieldBackoff::default(),
        }
    }

    /// Waits for the device, until `until` at most.
    pub(crate) fn wait(
        &mut self,
        idle: u32,
        until: u64,
        wake: WaitSet,
    ) -> Result<(), ChannelError> {
        let yields_pay = || self.backoff.is_over();
        let wake = match self.wait_policy.step_if(idle, yields_pay) {
            WaitStep::Poll | WaitStep::Spin => return Ok(()),
            WaitStep::Yield => {
                self.yield_policy.yield_cpu(&self.backoff);
                return Ok(());
            }
            WaitStep::ShortSleep => wake.at_most(BACKOFF_SLEEP),
            WaitStep::Sleep => wake,
        };
        let wake = match until {
            u64::MAX => wake,
            _ => wake.at_most(until.saturating_sub(now())),
        };
        wait_fds(wake).map_err(ChannelError::Device)
    }
}
