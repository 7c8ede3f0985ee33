//! Any network with injected faults: real devices lose no frames on demand.

use super::delay_injector::{DelayInjector, Stamp};
use super::injector::{FaultInjector, Injector, LossInjector};
use super::{Delays, FaultCounts, Faults, Rate};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use pombo_kernel::channel::{ChannelError, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_transport::ContiguousFrame;

/// A network that applies [`Faults`] to the frames that arrive. With the same plan and seed at every peer, the faults
/// of one broadcast differ from peer to peer, as on a real network. The plan's times count from the creation of this
/// wrapper.
///
/// A plan of losses alone copies no frame; an empty plan leaves the network below unchanged and counts its frames.
pub struct FaultyNetwork<N> {
    inner: N,
    /// The injector; `None` without faults.
    injector: Option<Box<dyn Injector<N>>>,
    counts: FaultCounts,
    keeps_bytes: bool,
    /// Bytes behind every frame that the injector needs.
    trailer: usize,
}

impl<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>>> FaultyNetwork<N> {
    /// Wraps a network.
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

    /// Wraps a network with losses only: a program that calls only this function does not contain the code of other
    /// faults.
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
            trailer: 0,
        }
    }

    /// Wraps a network of peers on one machine with delays that change over time, and losses. All peers must do so.
    pub fn with_delays(inner: N, delays: Delays, rate: Rate, seed: u64) -> Self {
        if delays.is_empty() {
            return Self::with_loss(inner, rate, seed);
        }
        let injector = DelayInjector::new(&inner, delays, rate, seed);
        FaultyNetwork {
            injector: Some(Box::new(injector)),
            trailer: size_of::<Stamp>(),
            ..Self::with_loss(inner, Rate::NEVER, seed)
        }
    }
}

impl<N: Network> FaultyNetwork<N> {
    /// Sends a frame, with what the injector puts behind it.
    #[inline]
    fn send(
        &mut self,
        parts: &[Part<'_>],
        transmit: impl FnOnce(&mut N, &[Part<'_>]) -> Result<(), ChannelError>,
    ) -> Result<(), ChannelError> {
        let stamp = self.injector.as_ref().and_then(|it| it.stamp(&self.inner));
        let Some(stamp) = stamp else {
            return transmit(&mut self.inner, parts);
        };
        let frame = stamped(parts, &stamp);
        transmit(&mut self.inner, &[Part::Bytes(&frame)])
    }
}

impl<N> FaultyNetwork<N> {
    /// Returns the network below.
    pub fn inner(&self) -> &N {
        &self.inner
    }

    /// Returns the network below. Frames sent through it get no faults on this side.
    pub fn inner_mut(&mut self) -> &mut N {
        &mut self.inner
    }

    /// Returns the counts of this peer so far: frames count as sent when they arrive or leave.
    pub fn counts(&self) -> FaultCounts {
        self.counts
    }
}

impl<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>>> Network for FaultyNetwork<N> {
    type Frame<'a> = ContiguousFrame<'a>;

    pombo_kernel::forward_network! { inner: me, peers, #[inline] set_corked, #[inline] now }

    /// As the network below, unless the plan changes bytes.
    #[inline]
    fn is_checked(&self) -> bool {
        self.keeps_bytes && self.inner.is_checked()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu() - self.trailer
    }

    #[inline]
    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        if let Some(injector) = &self.injector
            && injector.drops_outgoing(&self.inner, &mut self.counts, to, parts)?
        {
            return Ok(());
        }
        self.send(parts, |inner, parts| inner.transmit(to, parts))
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
        // The next poll reports a crash.
        Some(match injector.next_arrival(&self.inner).unwrap_or(0) {
            u64::MAX => wake,
            next => wake.at_most(next.saturating_sub(self.inner.now())),
        })
    }
}

/// An outage does not stop a broadcast on this side: the receiving side loses the frame.
impl<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>> + Broadcast> Broadcast
    for FaultyNetwork<N>
{
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        if let Some(injector) = &self.injector {
            injector.next_arrival(&self.inner)?;
        }
        self.send(parts, N::broadcast)
    }
}

/// Returns a frame with a stamp behind it.
#[cold]
#[inline(never)]
fn stamped(parts: &[Part<'_>], stamp: &Stamp) -> Vec<u8> {
    let mut frame = vec![0; Part::total(parts)];
    let mut rest = &mut *frame;
    for part in parts {
        let (place, behind) = rest.split_at_mut(part.len());
        part.copy_to(0, place);
        rest = behind;
    }
    frame.extend_from_slice(stamp);
    frame
}
