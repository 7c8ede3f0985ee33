//! What becomes of the frames that arrive at one peer. `FaultyNetwork` alone uses it, without knowing which it has: so
//! who loses frames does not carry the code of what else can go wrong.

use super::{CRASHED, FaultCounts, Faults, InFlight, LinkFaults, Rate};
use alloc::vec::Vec;
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use pombo_transport::ContiguousFrame;

/// Late frames that one peer keeps; beyond it they are lost.
pub const MAX_LATE_FRAMES: usize = 4096;

/// What a peer with faults does to the network below. Everything fails at a peer that has crashed.
pub(super) trait Injector<N>: Send {
    /// Hands out what arrives.
    fn poll(
        &mut self,
        inner: &mut N,
        counts: &mut FaultCounts,
        f: &mut dyn FnMut(ContiguousFrame<'_>),
    ) -> Result<bool, ChannelError>;

    /// Is a frame to that peer lost on the way?
    fn drops_outgoing(
        &self,
        inner: &N,
        counts: &mut FaultCounts,
        to: Peer,
        parts: &[Part<'_>],
    ) -> Result<bool, ChannelError> {
        let _ = (inner, counts, to, parts);
        Ok(false)
    }

    /// When a late frame arrives, on the clock of the network; `u64::MAX`: there is none.
    fn next_arrival(&self, inner: &N) -> Result<u64, ChannelError> {
        let _ = inner;
        Ok(u64::MAX)
    }
}

/// By sender: the links to this peer.
fn links(peer: Peer, peers: usize, seed: u64) -> Vec<LinkFaults> {
    let (peers, peer) = (peers as u64, u64::from(peer.0));
    let link = |from| LinkFaults::new(seed, from * peers + peer);
    (0..peers).map(link).collect()
}

/// Frames arrive as they came, or not at all.
pub(super) struct LossInjector {
    rate: Rate,
    links: Vec<LinkFaults>,
}

impl LossInjector {
    #[inline(never)]
    pub(super) fn new(peer: Peer, peers: usize, rate: Rate, seed: u64) -> Self {
        let links = links(peer, peers, seed);
        LossInjector { rate, links }
    }

    /// Does the next frame of that sender arrive?
    #[inline(never)]
    fn arrives(&mut self, from: Peer, counts: &mut FaultCounts) -> bool {
        let Some(link) = self.links.get_mut(from.index()) else {
            return false;
        };
        counts.sent += 1;
        let arrives = !link.is_lost(self.rate, counts);
        counts.delivered += u64::from(arrives);
        arrives
    }
}

impl<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>>> Injector<N> for LossInjector {
    fn poll(
        &mut self,
        inner: &mut N,
        counts: &mut FaultCounts,
        f: &mut dyn FnMut(ContiguousFrame<'_>),
    ) -> Result<bool, ChannelError> {
        let mut any = false;
        inner.poll(|frame| {
            if self.arrives(frame.from(), counts) {
                any = true;
                f(frame);
            }
        })?;
        Ok(any)
    }
}

/// Frames are copied and may wait.
pub(super) struct FaultInjector {
    faults: Faults,
    /// When the network was decorated.
    begin: u64,
    links: Vec<LinkFaults>,
    /// At most [`MAX_LATE_FRAMES`].
    late: InFlight,
}

impl FaultInjector {
    pub(super) fn new(inner: &impl Network, faults: Faults, seed: u64) -> Self {
        FaultInjector {
            faults,
            begin: inner.now(),
            links: links(inner.me(), inner.peers(), seed),
            late: InFlight::default(),
        }
    }

    /// Nanoseconds since the network was decorated, if this peer has not crashed by then.
    fn check(&self, inner: &impl Network) -> Result<u64, ChannelError> {
        let time = inner.now().saturating_sub(self.begin);
        match self.faults.has_crashed(inner.me(), time) {
            true => Err(ChannelError::Device(CRASHED)),
            false => Ok(time),
        }
    }

    /// Decides over a frame that arrives now.
    fn take(&mut self, frame: ContiguousFrame<'_>, to: Peer, time: u64, counts: &mut FaultCounts) {
        let from = frame.from();
        let Some(link) = self.links.get_mut(from.index()) else {
            return;
        };
        counts.sent += 1;
        if self.faults.is_down(from, to, time) {
            counts.outage += 1;
            return;
        }
        let mut overflowed = 0;
        let late = &mut self.late;
        // It lies in one piece.
        let bytes = frame.head(frame.len()).unwrap_or_default();
        link.apply(&self.faults, counts, time, bytes, |at, frame| {
            if late.len() < MAX_LATE_FRAMES {
                late.push(at, from, to, frame);
            } else {
                overflowed += 1;
            }
        });
        counts.overflowed += overflowed;
    }
}

impl<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>>> Injector<N> for FaultInjector {
    fn poll(
        &mut self,
        inner: &mut N,
        counts: &mut FaultCounts,
        f: &mut dyn FnMut(ContiguousFrame<'_>),
    ) -> Result<bool, ChannelError> {
        let (time, me) = (self.check(inner)?, inner.me());
        inner.poll(|frame| self.take(frame, me, time, counts))?;
        let mut any = false;
        while let Some(frame_in_flight) = self.late.pop(time) {
            any = true;
            counts.delivered += 1;
            f(ContiguousFrame::new(
                frame_in_flight.from,
                &frame_in_flight.frame,
            ));
        }
        Ok(any)
    }

    fn drops_outgoing(
        &self,
        inner: &N,
        counts: &mut FaultCounts,
        to: Peer,
        parts: &[Part<'_>],
    ) -> Result<bool, ChannelError> {
        let time = self.check(inner)?;
        // Where the other side is decorated too this is what it would do; where it is not, a cut has two sides.
        let outage = Part::total(parts) <= inner.mtu() && self.faults.is_down(inner.me(), to, time);
        counts.sent += u64::from(outage);
        counts.outage += u64::from(outage);
        Ok(outage)
    }

    fn next_arrival(&self, inner: &N) -> Result<u64, ChannelError> {
        self.check(inner)?;
        let next = self.late.next().unwrap_or(u64::MAX);
        Ok(next.saturating_add(self.begin))
    }
}
