//! The faults to inject into a network, and their counts.

use alloc::vec::Vec;
use core::ops::Range;
use pombo_kernel::header::Peer;

use super::{Rate, SeededRng};

/// A plan of faults. Rates hold for each frame of each link independently; times are in nanoseconds since the network
/// began. The faults of the n-th frame of a link follow from the seed, the plan and n alone, as long as no outage or
/// crash applies at that time.
///
/// ```
/// # use pombo_kernel::Peer;
/// # use pombo_netdrivers::fault::{Faults, Outage, Rate};
/// let plan = Faults::NONE
///     .loss(Rate::percent(5))
///     .reorder(Rate::percent(1), 200_000)
///     .outage(Outage::isolate(&[Peer(2)], 4, 1_000_000..3_000_000))
///     .crash(Peer(3), 5_000_000);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Faults {
    /// Rate of frames that never arrive.
    pub loss: Rate,
    /// Rate of frames that arrive twice, the second time with a delay.
    pub duplicate: Rate,
    /// Rate of frames that are delayed alone, so that others overtake them.
    pub reorder: Rate,
    /// Longest such delay, in nanoseconds.
    pub max_delay: u64,
    /// Rate of frames at which the link pauses: these frames and all behind them are delayed.
    pub stall: Rate,
    /// Longest pause, in nanoseconds.
    pub max_pause: u64,
    /// Rate of frames that lose their end, or all bytes.
    pub truncate: Rate,
    /// Rate of frames of which one to eight bits flip.
    pub corrupt: Rate,
    /// Links that carry nothing for a time.
    pub outages: Vec<Outage>,
    /// Peers that stop at a time for ever.
    pub crashes: Vec<(Peer, u64)>,
}

/// An interval in which links carry nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outage {
    /// The links, as pairs of source and destination.
    pub links: Vec<(Peer, Peer)>,
    /// Frames sent in this interval are lost; over a [`FaultyNetwork`](super::FaultyNetwork) also those that arrive in
    /// it.
    pub span: Range<u64>,
}

/// Numbers of frames by fault. One frame may count several times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// Frames that were sent.
    pub sent: u64,
    /// Frames that were delivered, copies included.
    pub delivered: u64,
    /// Frames lost at random.
    pub lost: u64,
    /// Frames lost in an outage.
    pub outage: u64,
    /// Frames lost because a queue was full.
    pub overflowed: u64,
    /// Frames lost because their receiver had stopped.
    pub orphaned: u64,
    /// Frames that arrived twice.
    pub duplicated: u64,
    /// Frames delayed alone.
    pub reordered: u64,
    /// Frames at which the link paused.
    pub stalled: u64,
    /// Frames truncated.
    pub truncated: u64,
    /// Frames with flipped bits.
    pub corrupted: u64,
}

impl Faults {
    /// No faults.
    pub const NONE: Faults = Faults {
        loss: Rate::NEVER,
        duplicate: Rate::NEVER,
        reorder: Rate::NEVER,
        max_delay: 0,
        stall: Rate::NEVER,
        max_pause: 0,
        truncate: Rate::NEVER,
        corrupt: Rate::NEVER,
        outages: Vec::new(),
        crashes: Vec::new(),
    };

    /// Returns the faults of a bad network: frames are lost, duplicated, delayed, truncated or damaged, up to a
    /// twentieth each.
    pub fn rough() -> Self {
        Faults::NONE
            .loss(Rate::percent(5))
            .duplicate(Rate::percent(3))
            .reorder(Rate::percent(3), 100_000)
            .truncate(Rate::percent(1))
            .corrupt(Rate::percent(1))
    }

    /// Returns a plan for `peers` peers without crashes, which every protocol can survive: each rate is zero, small, or
    /// up to a fifth; delays are up to `late` nanoseconds; up to two outages begin before `end` and last up to a fifth
    /// of it.
    pub fn random(rng: &mut SeededRng, peers: u16, late: u64, end: u64) -> Self {
        let mut rate = || match rng.below(3) {
            0 => Rate::NEVER,
            1 => Rate::ppm(rng.below(10_000) as u32),
            _ => Rate::ppm(rng.below(200_000) as u32),
        };
        let mut plan = Faults::NONE
            .loss(rate())
            .duplicate(rate())
            .truncate(rate())
            .corrupt(rate())
            .reorder(rate(), late)
            .stall(rate(), late);
        for _ in 0..rng.below(3) {
            let start = rng.below(end);
            let span = start..start + rng.below(end / 5);
            let alone = Peer(rng.below(peers.into()) as u16);
            plan = plan.outage(Outage::isolate(&[alone], peers, span));
        }
        plan
    }

    /// Sets the rate of frames that never arrive.
    pub fn loss(self, rate: Rate) -> Self {
        Self { loss: rate, ..self }
    }

    /// Sets the rate of frames that arrive twice.
    pub fn duplicate(self, rate: Rate) -> Self {
        Self {
            duplicate: rate,
            ..self
        }
    }

    /// Sets the rate of frames that others overtake, and their longest delay in nanoseconds.
    pub fn reorder(self, rate: Rate, max_delay: u64) -> Self {
        Self {
            reorder: rate,
            max_delay,
            ..self
        }
    }

    /// Sets the rate of frames at which the link pauses, and the longest pause in nanoseconds.
    pub fn stall(self, rate: Rate, max_pause: u64) -> Self {
        Self {
            stall: rate,
            max_pause,
            ..self
        }
    }

    /// Sets the rate of frames that lose their end.
    pub fn truncate(self, rate: Rate) -> Self {
        Self {
            truncate: rate,
            ..self
        }
    }

    /// Sets the rate of frames whose bits flip.
    pub fn corrupt(self, rate: Rate) -> Self {
        Self {
            corrupt: rate,
            ..self
        }
    }

    /// Adds an outage.
    pub fn outage(mut self, outage: Outage) -> Self {
        self.outages.push(outage);
        self
    }

    /// Adds the crash of a peer at that time.
    pub fn crash(mut self, peer: Peer, time: u64) -> Self {
        self.crashes.push((peer, time));
        self
    }

    /// Returns whether frames arrive unchanged or not at all.
    pub(super) fn preserves_bytes(&self) -> bool {
        self.truncate == Rate::NEVER && self.corrupt == Rate::NEVER
    }

    /// Returns whether frames arrive unchanged and at once, or are lost at random.
    pub(super) fn is_loss_only(&self) -> bool {
        let rates = [self.duplicate, self.reorder, self.stall];
        self.preserves_bytes()
            && rates == [Rate::NEVER; 3]
            && self.outages.is_empty()
            && self.crashes.is_empty()
    }

    /// Returns whether that link carries nothing at that time.
    pub fn is_down(&self, from: Peer, to: Peer, time: u64) -> bool {
        let outages =
            |outage: &Outage| outage.span.contains(&time) && outage.links.contains(&(from, to));
        self.outages.iter().any(outages)
    }

    /// Returns whether that peer has stopped by then.
    pub fn has_crashed(&self, peer: Peer, time: u64) -> bool {
        let stopped = |(stops, at): &(Peer, u64)| *stops == peer && *at <= time;
        self.crashes.iter().any(stopped)
    }
}

impl Outage {
    /// Separates these peers from all others of `peers`, in both directions.
    pub fn isolate(group: &[Peer], peers: u16, span: Range<u64>) -> Self {
        let mut links = Vec::new();
        for &inside in group {
            let others = (0..peers).map(Peer).filter(|peer| !group.contains(peer));
            links.extend(others.flat_map(|outside| [(inside, outside), (outside, inside)]));
        }
        Outage { links, span }
    }
}
