//! Delays every frame by what its link needs at that time. Only `FaultyNetwork` uses it.
//!
//! Each frame carries when it left: a rank that computes while frames arrive delivers them as late as the link says, not
//! later. The clock is the machine's, so all peers must be on one machine, and all must inject delays. Times of the plan
//! count from when the first peer opened its network: each frame carries the earliest such time that its sender knows.

use super::injector::{Injector, MAX_LATE_FRAMES, links};
use super::{Delays, FaultCounts, InFlight, LinkFaults, Rate};
use alloc::vec::Vec;
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::network::Network;
use pombo_transport::ContiguousFrame;

/// When the frame left, and the beginning of the plan's times as far as its sender knows, in nanoseconds.
pub(super) type Stamp = [u8; 16];

/// Delays frames, and loses some.
pub(super) struct DelayInjector {
    delays: Delays,
    /// The beginning of the plan's times as far as this peer knows.
    begin: u64,
    rate: Rate,
    links: Vec<LinkFaults>,
    /// At most [`MAX_LATE_FRAMES`].
    late: InFlight,
}

impl DelayInjector {
    pub(super) fn new(inner: &impl Network, delays: Delays, rate: Rate, seed: u64) -> Self {
        DelayInjector {
            delays,
            begin: inner.now(),
            rate,
            links: links(inner.me(), inner.peers(), seed),
            late: InFlight::default(),
        }
    }

    fn take(
        &mut self,
        frame: &ContiguousFrame<'_>,
        inner_me: pombo_kernel::Peer,
        counts: &mut FaultCounts,
    ) {
        let from = frame.from();
        let bytes = frame.head(frame.len()).unwrap_or_default();
        let Some((bytes, stamp)) = bytes.split_last_chunk::<{ size_of::<Stamp>() }>() else {
            return;
        };
        let Some(link) = self.links.get_mut(from.index()) else {
            return;
        };
        counts.sent += 1;
        let (left, begin) = read(stamp);
        self.begin = self.begin.min(begin);
        if link.is_lost(self.rate, counts) {
            return;
        }
        let time = left.saturating_sub(self.begin);
        let at = left.saturating_add(self.delays.between(from, inner_me, time));
        match self.late.len() < MAX_LATE_FRAMES {
            true => self.late.push(at, from, inner_me, Vec::from(bytes)),
            false => counts.overflowed += 1,
        }
    }
}

fn read(stamp: &Stamp) -> (u64, u64) {
    let number = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&stamp[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    (number(0), number(8))
}

impl<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>>> Injector<N> for DelayInjector {
    fn poll(
        &mut self,
        inner: &mut N,
        counts: &mut FaultCounts,
        f: &mut dyn FnMut(ContiguousFrame<'_>),
    ) -> Result<bool, ChannelError> {
        let me = inner.me();
        inner.poll(|frame| self.take(&frame, me, counts))?;
        let (now, mut any) = (inner.now(), false);
        while let Some(late) = self.late.pop(now) {
            any = true;
            counts.delivered += 1;
            f(ContiguousFrame::new(late.from, &late.frame));
        }
        Ok(any)
    }

    fn stamp(&self, inner: &N) -> Option<Stamp> {
        let mut stamp = Stamp::default();
        stamp[..8].copy_from_slice(&inner.now().to_le_bytes());
        stamp[8..].copy_from_slice(&self.begin.to_le_bytes());
        Some(stamp)
    }

    fn next_arrival(&self, _: &N) -> Result<u64, ChannelError> {
        Ok(self.late.next().unwrap_or(u64::MAX))
    }
}
