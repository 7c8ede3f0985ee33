//! Any network, with faults on top: real devices lose nothing when a test wants them to.

use super::injector::{FaultInjector, Injector, LossInjector};
use super::{FaultCounts, Faults, Rate};
use alloc::boxed::Box;
use pombo_kernel::channel::{ChannelError, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_transport::ContiguousFrame;

/// A network that does to the frames that arrive what [`Faults`] says. With the same plan and seed at every peer, what
/// one frame for many peers suffers differs from peer to peer, as on a real network. The plan's times count from when
/// the decorator was made.
///
/// A plan of losses alone copies no frame; with one of nothing this is the network below, and counts its frames.
pub struct FaultyNetwork<N> {
    inner: N,
    /// None where nothing goes wrong.
    injector: Option<Box<dyn Injector<N>>>,
    counts: FaultCounts,
    keeps_bytes: bool,
}

impl<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>>> FaultyNetwork<N> {
    /// Over a network.
    pub fn new(inner: N, faults: Faults, seed: u64) -> Self {
        if faults.is_loss_only() {
            return Self::with_loss(inner, faults.loss, seed);
        }
        let keeps_bytes = faults.preserves_bytes();
        let injector = FaultInjector::new(&inner, faults, seed);
        FaultyNetwork {
            injector: Some(Box::new(injector)),
            keeps_bytes,
            ..Self::with_loss(inner, Rate::NEVER, seed)
        }
    }

    /// Over a network of which frames are to be lost, and nothing else: a program that calls only this carries the code
    /// of no other fault.
    pub fn with_loss(inner: N, rate: Rate, seed: u64) -> Self {
        let mut injector: Option<Box<dyn Injector<N>>> = None;
        if rate != Rate::NEVER {
            injector = Some(Box::new(LossInjector::new(
                inner.me(),
                inner.peers(),
                rate,
                seed,
            )));
        }
        FaultyNetwork {
            inner,
            injector,
            counts: FaultCounts::default(),
            keeps_bytes: true,
        }
    }
}

impl<N> FaultyNetwork<N> {
    /// The network below.
    pub fn inner(&self) -> &N {
        &self.inner
    }

    /// The network below. Frames sent there meet no faults on this side.
    pub fn inner_mut(&mut self) -> &mut N {
        &mut self.inner
    }

    /// What has happened at this peer so far: frames count as sent when they come in or go out.
    pub fn counts(&self) -> FaultCounts {
        self.counts
    }
}

impl<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>>> Network for FaultyNetwork<N> {
    type Frame<'a> = ContiguousFrame<'a>;

    pombo_kernel::forward_network! { inner: me, peers, mtu, #[inline] set_corked, #[inline] now }

    /// As the network below, unless the plan changes bytes.
    #[inline]
    fn is_checked(&self) -> bool {
        self.keeps_bytes && self.inner.is_checked()
    }

    #[inline]
    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        if let Some(injector) = &self.injector
            && injector.drops_outgoing(&self.inner, &mut self.counts, to, parts)?
        {
            return Ok(());
        }
        self.inner.transmit(to, parts)
    }

    #[inline]
    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        if let Some(injector) = &mut self.injector {
            return injector.poll(&mut self.inner, &mut self.counts, &mut f);
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
        if let Some(injector) = &self.injector {
            until = until.min(injector.next_arrival(&self.inner)?);
        }
        self.inner.wait(idle, until)
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        let wake = self.inner.wait_sources()?;
        let Some(injector) = &self.injector else {
            return Some(wake);
        };
        // Who has crashed hears of it from the next poll.
        Some(match injector.next_arrival(&self.inner).unwrap_or(0) {
            u64::MAX => wake,
            next => wake.at_most(next.saturating_sub(self.inner.now())),
        })
    }
}

/// A cut link does not hold back what goes to all: it is the receiving side that loses the frame.
impl<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>> + Broadcast> Broadcast
    for FaultyNetwork<N>
{
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        if let Some(injector) = &self.injector {
            injector.next_arrival(&self.inner)?;
        }
        self.inner.broadcast(parts)
    }
}
