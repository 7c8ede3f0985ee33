//! Any network, with faults on top: real devices lose nothing when a test wants them to.

use super::injector::{Everything, Injector, Losses};
use super::{CRASHED, Counts, Faults, Rate};
use crate::InPlace;
use alloc::boxed::Box;
use pombo_kernel::channel::{ChannelError, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};

/// A network that does to the frames that arrive what [`Faults`] says. With the same plan and seed at every node, what
/// one frame for many nodes suffers differs from node to node, as on a real network. The plan's times count from when
/// the decorator was made.
///
/// A plan of losses alone copies no frame; with one of nothing this is the network below, and counts its frames.
pub struct FaultyNetwork<N> {
    inner: N,
    /// None where nothing goes wrong.
    injector: Option<Box<dyn Injector>>,
    counts: Counts,
    /// When it was made.
    begin: u64,
    keeps_bytes: bool,
}

impl<N: Network> FaultyNetwork<N> {
    /// Over a network.
    pub fn new(inner: N, faults: Faults, seed: u64) -> Self {
        if faults.only_lose() {
            return Self::losing(inner, faults.lose, seed);
        }
        let keeps_bytes = faults.keep_bytes();
        let injector = Everything::new(inner.node(), inner.nodes(), faults, seed);
        FaultyNetwork {
            injector: Some(Box::new(injector)),
            keeps_bytes,
            ..Self::losing(inner, Rate::NEVER, seed)
        }
    }

    /// Over a network of which frames are to be lost, and nothing else: a program that calls only this carries the code
    /// of no other fault.
    pub fn losing(inner: N, rate: Rate, seed: u64) -> Self {
        let injector: Option<Box<dyn Injector>> = match rate {
            Rate::NEVER => None,
            rate => Some(Box::new(Losses::new(
                inner.node(),
                inner.nodes(),
                rate,
                seed,
            ))),
        };
        FaultyNetwork {
            injector,
            counts: Counts::default(),
            begin: inner.now(),
            keeps_bytes: true,
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

    /// What has happened at this node so far: frames count as sent when they come in or go out.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Nanoseconds since it was made, if this node has not crashed by then.
    fn check(&self, injector: &dyn Injector) -> Result<u64, ChannelError> {
        let time = self.inner.now().saturating_sub(self.begin);
        match injector.has_crashed(time) {
            true => Err(ChannelError::Device(CRASHED)),
            false => Ok(time),
        }
    }

    /// Is a frame to that node lost on the way?
    #[cold]
    fn cuts_off(&mut self, to: Node, parts: &[Part<'_>]) -> Result<bool, ChannelError> {
        let Some(injector) = self.injector.as_deref() else {
            return Ok(false);
        };
        let time = self.check(injector)?;
        // Where the other side is decorated too this is what it would do; where it is not, a cut has two sides.
        let cut = injector.cuts_off(to, time) && Part::total(parts) <= self.inner.mtu();
        self.counts.sent += u64::from(cut);
        self.counts.cut += u64::from(cut);
        Ok(cut)
    }

    /// When a late frame arrives on the clock of the network below, if this node has not crashed; `u64::MAX`: none will.
    #[cold]
    fn wakes_at(&self) -> Result<u64, ChannelError> {
        let Some(injector) = self.injector.as_deref() else {
            return Ok(u64::MAX);
        };
        self.check(injector)?;
        let next = injector.next().unwrap_or(u64::MAX);
        Ok(next.saturating_add(self.begin))
    }
}

impl<N: for<'a> Network<Frame<'a> = InPlace<'a>>> FaultyNetwork<N> {
    #[cold]
    fn poll_with_faults(&mut self, f: &mut dyn FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        let Some(injector) = self.injector.as_deref() else {
            return Ok(false);
        };
        let time = self.check(injector)?;
        let Some(injector) = self.injector.as_deref_mut() else {
            return Ok(false);
        };
        let counts = &mut self.counts;
        let before = counts.delivered;
        self.inner
            .poll(|frame| injector.take(frame, time, counts, f))?;
        injector.hand_out(time, counts, f);
        Ok(counts.delivered > before)
    }
}

impl<N: for<'a> Network<Frame<'a> = InPlace<'a>>> Network for FaultyNetwork<N> {
    type Frame<'a> = InPlace<'a>;

    /// As the network below, unless the plan changes bytes.
    #[inline]
    fn is_checked(&self) -> bool {
        self.keeps_bytes && self.inner.is_checked()
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
        if self.injector.is_some() && self.cuts_off(to, parts)? {
            return Ok(());
        }
        self.inner.transmit(to, parts)
    }

    #[inline]
    fn gather(&mut self, on: bool) {
        self.inner.gather(on);
    }

    #[inline]
    fn poll(&mut self, mut f: impl FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        if self.injector.is_some() {
            return self.poll_with_faults(&mut f);
        }
        let mut passed = 0;
        let polled = self.inner.poll(|frame| {
            passed += 1;
            f(frame);
        });
        self.counts.sent += passed;
        self.counts.delivered += passed;
        polled
    }

    #[inline]
    fn wait(&mut self, idle: u32, mut until: u64) -> Result<(), ChannelError> {
        if self.injector.is_some() {
            until = until.min(self.wakes_at()?);
        }
        self.inner.wait(idle, until)
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        let wake = self.inner.wakes_by()?;
        if self.injector.is_none() {
            return Some(wake);
        }
        // Who has crashed hears of it from the next poll.
        Some(wake.at_most(match self.wakes_at().unwrap_or(0) {
            u64::MAX => u64::MAX,
            next => next.saturating_sub(self.inner.now()),
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
        if let Some(injector) = self.injector.as_deref() {
            self.check(injector)?;
        }
        self.inner.broadcast(parts)
    }
}
