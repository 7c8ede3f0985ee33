//! Applies faults to the frames that arrive at one peer. Only `FaultyNetwork` uses it, by a trait object: so a program
//! that only loses frames does not contain the code of other faults.

use super::delay_injector::Stamp;
use super::{CRASHED, FaultCounts, Faults, InFlight, LinkFaults, Rate};
use alloc::vec::Vec;
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use pombo_transport::ContiguousFrame;

/// Largest number of delayed frames that one peer stores; further ones are lost.
pub const MAX_LATE_FRAMES: usize = 4096;

/// The faults of a peer over the network below. After a crash of the peer every call fails.
pub(super) trait Injector<N>: Send {
    /// Delivers the frames that arrive.
    fn poll(
        &mut self,
        inner: &mut N,
        counts: &mut FaultCounts,
        f: &mut dyn FnMut(ContiguousFrame<'_>),
    ) -> Result<bool, ChannelError>;

    /// Returns whether a frame to that peer is lost on the way.
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

    /// Returns what goes behind each frame that leaves now.
    fn stamp(&self, inner: &N) -> Option<Stamp> {
        let _ = inner;
        None
    }

    /// Returns when a delayed frame arrives, on the clock of the network; `u64::MAX` if there is none.
    fn next_arrival(&self, inner: &N) -> Result<u64, ChannelError> {
        let _ = inner;
        Ok(u64::MAX)
    }
}

/// Returns the links to this peer, by sender.
pub(super) fn links(peer: Peer, peers: usize, seed: u64) -> Vec<LinkFaults> {
    let (peers, peer) = (peers as u64, u64::from(peer.0));
    let link = |from| LinkFaults::new(seed, from * peers + peer);
    (0..peers).map(link).collect()
}

/// Loses frames; the others arrive unchanged.
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

    /// Returns whether the next frame of that sender arrives.
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

/// Copies and delays frames.
pub(super) struct FaultInjector {
    faults: Faults,
    /// The time when the network was wrapped.
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

    /// Returns the nanoseconds since the network was wrapped, unless this peer has crashed by then.
    fn check(&self, inner: &impl Network) -> Result<u64, ChannelError> {
        let time = inner.now().saturating_sub(self.begin);
        match self.faults.has_crashed(inner.me(), time) {
            true => Err(ChannelError::Device(CRASHED)),
            false => Ok(time),
        }
    }

    /// Applies the faults to a frame that arrives now.
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
        // The frame is contiguous.
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
        // If the other side has faults too, it would lose the frame itself; if not, this makes the outage take effect
        // in both directions.
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
