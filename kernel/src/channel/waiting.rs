//! How to wait, as a policy of the program's: for bare systems, and for programs that know better than the driver.

use super::wake::NAP;
use super::{Channel, ChannelError, Cookie, Event, Sent, Taker, Wake};
use crate::header::Node;
use crate::memory::Part;

/// A channel that waits as its owner says; everything else is the channel's own.
///
/// The policy gets the channel, how many times in a row polling has found nothing, and how many nanoseconds it may take
/// (`u64::MAX`: nobody waits for a certain time), and may return whenever it likes before these are over. A bare system
/// spins a few times and then waits for an interrupt, of its timer too, in the way that its processor has to close the
/// gap between the last poll and the wait: masked interrupts wake `wfi` on Arm and RISC-V, and x86 has `sti; hlt`.
///
/// ```
/// use pombo_kernel::{Channel, channel::Waiting};
/// # let device = pombo_netdrivers::Loopback::world(1).remove(0);
/// # fn wait_for_interrupt() {}
/// # fn set_timer(_nanoseconds: u64) {}
/// let mut channel = Waiting::new(device, |_device, idle, within| {
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
pub struct Waiting<L, W> {
    channel: L,
    policy: W,
}

impl<L, W: FnMut(&mut L, u32, u64) -> Result<(), ChannelError>> Waiting<L, W> {
    /// The channel with that policy.
    pub const fn new(channel: L, policy: W) -> Self {
        Waiting { channel, policy }
    }
}

impl<L: Channel, W> Channel for Waiting<L, W>
where
    W: FnMut(&mut L, u32, u64) -> Result<(), ChannelError> + 'static,
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
    fn poll_for(&mut self, taker: &mut impl Taker) -> Result<bool, ChannelError> {
        self.channel.poll_for(taker)
    }

    #[inline]
    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        (self.policy)(&mut self.channel, idle, u64::MAX)
    }

    fn wait_within(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        (self.policy)(&mut self.channel, idle, nanoseconds)
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        self.channel.wakes_by()
    }

    fn wait_beside(&mut self, idle: u32, other: Wake) -> Result<(), ChannelError> {
        (self.policy)(&mut self.channel, idle, other.within.min(NAP))
    }

    fn now(&self) -> u64 {
        self.channel.now()
    }
}
