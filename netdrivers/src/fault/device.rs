//! Any network, with faults on top: real devices lose nothing when a test wants them to.

use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use std::vec::Vec;

use super::fate::Lane;
use super::flight::Flights;
use super::{CRASHED, Counts, Faults};
use crate::InPlace;

/// Late frames that one node keeps; beyond it they are lost.
pub const LATE_FRAMES: usize = 4096;

/// A network that does to the frames that arrive what [`Faults`] says. With the same plan and seed at every node, what
/// one frame for many nodes suffers differs from node to node, as on a real network. The plan's times count from when
/// the decorator was made.
pub struct FaultyNetwork<N: Network> {
    inner: N,
    faults: Faults,
    /// By sender.
    lanes: Vec<Lane>,
    /// At most [`LATE_FRAMES`].
    late: Flights,
    counts: Counts,
    begin: u64,
}

impl<N: Network> FaultyNetwork<N> {
    /// Over a network.
    pub fn new(inner: N, faults: Faults, seed: u64) -> Self {
        let (nodes, node) = (inner.nodes() as u64, u64::from(inner.node().0));
        FaultyNetwork {
            begin: inner.now(),
            lanes: (0..nodes)
                .map(|from| Lane::new(seed, from * nodes + node))
                .collect(),
            late: Flights::default(),
            counts: Counts::default(),
            inner,
            faults,
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

    /// Another plan from now on; its times count from when the decorator was made.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// What has happened at this node so far: frames count as sent when they come in or go out.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Nanoseconds since it was made.
    fn time(&self) -> u64 {
        self.inner.now().saturating_sub(self.begin)
    }

    fn check(&self, time: u64) -> Result<(), ChannelError> {
        match self.faults.has_crashed(self.inner.node(), time) {
            true => Err(ChannelError::Device(CRASHED)),
            false => Ok(()),
        }
    }

    /// Takes what the network has and decides over it.
    fn fetch(&mut self, time: u64) -> Result<(), ChannelError> {
        let FaultyNetwork {
            inner,
            faults,
            lanes,
            late,
            counts,
            ..
        } = self;
        let me = inner.node();
        let mut bytes = Vec::new();
        inner.poll(|frame| {
            let from = frame.from();
            let Some(lane) = lanes.get_mut(from.index()) else {
                return;
            };
            counts.sent += 1;
            if faults.is_cut(from, me, time) {
                counts.cut += 1;
                return;
            }
            bytes.clear();
            frame.pieces(0, frame.len(), |piece| bytes.extend_from_slice(piece));
            let mut overflowed = 0;
            lane.strike(faults, counts, time, &bytes, |at, frame| {
                if late.len() < LATE_FRAMES {
                    late.push(at, from, me, frame);
                } else {
                    overflowed += 1;
                }
            });
            counts.overflowed += overflowed;
        })?;
        Ok(())
    }
}

impl<N: Network> Network for FaultyNetwork<N> {
    type Frame<'a> = InPlace<'a>;

    fn node(&self) -> Node {
        self.inner.node()
    }

    fn nodes(&self) -> usize {
        self.inner.nodes()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let time = self.time();
        self.check(time)?;
        // Where the other side is decorated too this is what it would do; where it is not, a cut has two sides.
        let fits = Part::total(parts) <= self.mtu();
        if fits && self.faults.is_cut(self.inner.node(), to, time) {
            self.counts.sent += 1;
            self.counts.cut += 1;
            return Ok(());
        }
        self.inner.transmit(to, parts)
    }

    fn gather(&mut self, on: bool) {
        self.inner.gather(on);
    }

    fn poll(&mut self, mut f: impl FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        let time = self.time();
        self.check(time)?;
        self.fetch(time)?;
        let mut any = false;
        while let Some(flight) = self.late.pop(time) {
            any = true;
            self.counts.delivered += 1;
            f(InPlace::new(flight.from, &flight.frame));
        }
        Ok(any)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        self.check(self.time())?;
        let next = self.late.next().unwrap_or(u64::MAX);
        let next = next.saturating_add(self.begin);
        self.inner.wait(idle, until.min(next))
    }

    fn now(&self) -> u64 {
        self.inner.now()
    }
}
