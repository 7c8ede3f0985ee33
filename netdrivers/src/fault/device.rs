//! Any network, with faults on top: real devices lose nothing when a test wants them to.

use super::injector::{Injector, Work};
use super::{Counts, Faults};
use crate::InPlace;
use pombo_kernel::channel::{Arrival, ChannelError, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};

/// A network that does to the frames that arrive what [`Faults`] says. With the same plan and seed at every node, what
/// one frame for many nodes suffers differs from node to node, as on a real network. The plan's times count from when
/// the decorator was made.
///
/// A plan of losses alone copies no frame, and one of nothing is the network below.
pub struct FaultyNetwork<N> {
    inner: N,
    injector: Injector,
}

impl<N: Network> FaultyNetwork<N> {
    /// Over a network.
    pub fn new(inner: N, faults: Faults, seed: u64) -> Self {
        FaultyNetwork {
            injector: Injector::new(inner.node(), inner.nodes(), inner.now(), faults, seed),
            inner,
        }
    }

    /// The network below.
    pub fn inner(&self) -> &N {
        &self.inner
    }

    /// The network below. Frames sent there meet no faults on this side.
    pub fn inner_mut(&mut self) -> &mut N {
        &mut self.inner
    }

    /// Another plan from now on; its times count from when the decorator was made. Over a
    /// checked network it may change bytes only if the first plan did: protocols have asked [`Network::is_checked`].
    pub fn set_faults(&mut self, faults: Faults) {
        self.injector.set_faults(faults);
    }

    /// What has happened at this node so far: frames count as sent when they come in or go out.
    pub fn counts(&self) -> Counts {
        self.injector.counts
    }

    /// Is there more to do than to lose frames that arrive?
    #[inline]
    fn is_involved(&self) -> bool {
        self.injector.work == Work::Everything
    }

    /// Nanoseconds since it was made, if this node has not crashed by then.
    fn check(&self) -> Result<u64, ChannelError> {
        self.injector.check(self.inner.now())
    }
}

impl<N: for<'a> Network<Frame<'a> = InPlace<'a>>> FaultyNetwork<N> {
    #[cold]
    fn poll_and_lose(&mut self, f: &mut dyn FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        let (inner, injector) = (&mut self.inner, &mut self.injector);
        let mut any = false;
        inner.poll(|frame| {
            if injector.passes(frame.from()) {
                any = true;
                f(frame);
            }
        })?;
        Ok(any)
    }

    #[cold]
    fn poll_and_strike(&mut self, f: &mut dyn FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        let time = self.check()?;
        let (inner, injector) = (&mut self.inner, &mut self.injector);
        inner.poll(|frame| injector.strike(frame, time))?;
        Ok(injector.hand_out(time, f))
    }
}

impl<N: for<'a> Network<Frame<'a> = InPlace<'a>>> Network for FaultyNetwork<N> {
    type Frame<'a> = InPlace<'a>;

    /// As the network below, unless the first plan changes bytes.
    #[inline]
    fn is_checked(&self) -> bool {
        self.injector.keeps_bytes && self.inner.is_checked()
    }

    fn node(&self) -> Node {
        self.inner.node()
    }

    fn nodes(&self) -> usize {
        self.inner.nodes()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    #[inline]
    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        if self.is_involved() {
            let time = self.check()?;
            // Where the other side is decorated too this is what it would do; where it is not, a cut has two sides.
            if Part::total(parts) <= self.mtu() && self.injector.cuts_off(to, time) {
                return Ok(());
            }
        }
        self.inner.transmit(to, parts)
    }

    #[inline]
    fn gather(&mut self, on: bool) {
        self.inner.gather(on);
    }

    #[inline]
    fn poll(&mut self, mut f: impl FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        match self.injector.work {
            Work::Nothing => {
                let mut passed = 0;
                let polled = self.inner.poll(|frame| {
                    passed += 1;
                    f(frame);
                });
                self.injector.passed(passed);
                polled
            }
            Work::Losses => self.poll_and_lose(&mut f),
            Work::Everything => self.poll_and_strike(&mut f),
        }
    }

    #[inline]
    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        if self.is_involved() {
            self.check()?;
            return self.inner.wait(idle, until.min(self.injector.wakes_at()));
        }
        self.inner.wait(idle, until)
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        let wake = self.inner.wakes_by()?;
        let wakes_at = self.injector.wakes_at();
        Some(wake.at_most(match wakes_at {
            u64::MAX => u64::MAX,
            _ => wakes_at.saturating_sub(self.inner.now()),
        }))
    }

    #[inline]
    fn now(&self) -> u64 {
        self.inner.now()
    }
}

/// A cut link does not hold back what goes to all: it is the receiving side that loses the frame.
impl<N: for<'a> Network<Frame<'a> = InPlace<'a>> + Broadcast> Broadcast for FaultyNetwork<N> {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        if self.is_involved() {
            self.check()?;
        }
        self.inner.broadcast(parts)
    }
}
