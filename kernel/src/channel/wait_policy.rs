//! A waiting policy supplied by the program: for bare-metal systems, and for programs that know better than the driver.

use super::wait_set::SHORT_SLEEP;
use super::{Channel, ChannelError, WaitSet};

/// A channel with the waiting policy of its owner; all other methods are the channel's own.
///
/// The policy gets the channel, the number of polls in a row that have found nothing, and the number of nanoseconds for
/// which it may wait (`u64::MAX`: without limit); it may always return earlier. A bare-metal system spins a few times
/// and then waits for an interrupt, including that of its timer, in the way in which its processor closes the race
/// between the last poll and the wait: masked interrupts wake `wfi` on Arm and RISC-V, and x86 has `sti; hlt`.
///
/// ```
/// use pombo_kernel::{Channel, channel::WithWaitPolicy};
/// # let device = pombo_kernel::channel::SelfChannel::<1024>::new();
/// # fn wait_for_interrupt() {}
/// # fn set_timer(_nanoseconds: u64) {}
/// let mut channel = WithWaitPolicy::new(device, |_device, idle, within| {
///     if idle < 100 {
///         core::hint::spin_loop();
///     } else {
///         set_timer(within);
///         wait_for_interrupt();
///     }
///     Ok(())
/// });
/// channel.wait(100)?;
/// # Ok::<(), pombo_kernel::ChannelError>(())
/// ```
#[derive(Debug)]
pub struct WithWaitPolicy<L, W> {
    channel: L,
    policy: W,
}

impl<L, W: FnMut(&mut L, u32, u64) -> Result<(), ChannelError>> WithWaitPolicy<L, W> {
    /// Creates a channel with that policy.
    pub const fn new(channel: L, policy: W) -> Self {
        WithWaitPolicy { channel, policy }
    }
}

impl<L: Channel, W> Channel for WithWaitPolicy<L, W>
where
    W: FnMut(&mut L, u32, u64) -> Result<(), ChannelError> + 'static,
{
    type Arrival<'a> = L::Arrival<'a>;

    crate::forward_channel! {
        channel: me, peers, #[inline] limit, #[inline] supports_single_copy, #[inline] favours_early_data, #[inline] try_send, #[inline] set_corked,
        #[inline] poll, #[inline] poll_with, wait_sources, now
    }

    #[inline]
    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        (self.policy)(&mut self.channel, idle, u64::MAX)
    }

    fn wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        (self.policy)(&mut self.channel, idle, nanoseconds)
    }

    fn wait_with(&mut self, idle: u32, other: WaitSet) -> Result<(), ChannelError> {
        (self.policy)(&mut self.channel, idle, other.timeout.min(SHORT_SLEEP))
    }
}
