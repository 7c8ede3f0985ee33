//! How to wait, as a policy of the program's: for bare systems, and for programs that know better than the driver.

use super::{Channel, ChannelError, Cookie, Event, Sent};
use crate::header::Node;
use crate::memory::Part;

/// A channel that waits as its owner says; everything else is the channel's own.
///
/// The policy gets the channel and how many times in a row polling has found nothing, and may return whenever it
/// likes. A bare system spins a few times and then waits for an interrupt, in the way that its processor has to close
/// the gap between the last poll and the wait: masked interrupts wake `wfi` on Arm and RISC-V, and x86 has `sti; hlt`.
///
/// ```
/// use pombo_kernel::{Channel, channel::Waiting};
/// # let device = pombo_netdrivers::Loopback::world(1).remove(0);
/// # fn wait_for_interrupt() {}
/// let mut channel = Waiting::new(device, |_device, idle| {
///     if idle < 100 {
///         core::hint::spin_loop();
///     } else {
///         wait_for_interrupt();
///     }
///     Ok(())
/// });
/// channel.wait(100)?;
/// # Ok::<(), pombo_kernel::ChannelError>(())
/// ```
#[derive(Debug)]
pub struct Waiting<L, W> {
    channel: L,
    policy: W,
}

impl<L, W: FnMut(&mut L, u32) -> Result<(), ChannelError>> Waiting<L, W> {
    /// The channel with that policy.
    pub const fn new(channel: L, policy: W) -> Self {
        Waiting { channel, policy }
    }
}

impl<L: Channel, W> Channel for Waiting<L, W>
where
    W: FnMut(&mut L, u32) -> Result<(), ChannelError> + 'static,
{
    type Arrival<'a> = L::Arrival<'a>;

    fn node(&self) -> Node {
        self.channel.node()
    }

    fn nodes(&self) -> usize {
        self.channel.nodes()
    }

    #[inline]
    fn limit(&self, to: Node) -> usize {
        self.channel.limit(to)
    }

    #[inline]
    fn offers(&self, to: Node, len: usize) -> bool {
        self.channel.offers(to, len)
    }

    #[inline]
    fn try_send(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        self.channel.try_send(to, cookie, parts)
    }

    #[inline]
    fn gather(&mut self, on: bool) {
        self.channel.gather(on);
    }

    #[inline]
    fn poll(&mut self, f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        self.channel.poll(f)
    }

    #[inline]
    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        (self.policy)(&mut self.channel, idle)
    }

    fn now(&self) -> u64 {
        self.channel.now()
    }
}
