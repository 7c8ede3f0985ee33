//! What shall go wrong on a network, and what did.

use alloc::vec::Vec;
use core::ops::Range;
use pombo_kernel::header::Peer;

use super::{Rate, SeededRng};

/// A plan of faults. Rates hold for each frame on each link by itself; times are in nanoseconds since the network
/// began. What happens to the n-th frame of a link follows from the seed, the plan and n alone, as long as nothing
/// else is planned at that time.
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
    /// Frames that never arrive.
    pub loss: Rate,
    /// Frames that arrive twice, the second time as if reordered.
    pub duplicate: Rate,
    /// Frames that are late by themselves: others overtake them.
    pub reorder: Rate,
    /// How late those are at most.
    pub max_delay: u64,
    /// Frames at which the link pauses: they and all behind them are late.
    pub stall: Rate,
    /// How long it pauses at most.
    pub max_pause: u64,
    /// Frames that lose their end, or everything.
    pub truncate: Rate,
    /// Frames of which one to eight bits flip.
    pub corrupt: Rate,
    /// Links that carry nothing for a while.
    pub outages: Vec<Outage>,
    /// Peers that stop at a time and never do anything again.
    pub crashes: Vec<(Peer, u64)>,
}

/// Links that carry nothing for a span of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outage {
    /// From whom to whom, in that direction only.
    pub links: Vec<(Peer, Peer)>,
    /// Frames that set out at these times are lost, and over a decorated network those that come in.
    pub span: Range<u64>,
}

/// How many frames met what. One frame may count several times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// Frames that set out.
    pub sent: u64,
    /// Frames handed out, copies included.
    pub delivered: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Lost on a link that was cut.
    pub outage: u64,
    /// Lost because a queue was full.
    pub overflowed: u64,
    /// Lost because their receiver was not there any more.
    pub orphaned: u64,
    /// Arrived twice.
    pub duplicated: u64,
    /// Late by themselves.
    pub reordered: u64,
    /// Late with all behind them.
    pub stalled: u64,
    /// Cut short.
    pub truncated: u64,
    /// Bits flipped.
    pub corrupted: u64,
}

impl Faults {
    /// Nothing goes wrong.
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

    /// A bad network: frames are lost, come twice, late, cut or changed, up to a twentieth of each.
    pub fn rough() -> Self {
        Faults::NONE
            .loss(Rate::percent(5))
            .duplicate(Rate::percent(3))
            .reorder(Rate::percent(3), 100_000)
            .truncate(Rate::percent(1))
            .corrupt(Rate::percent(1))
    }

    /// A plan for `peers` peers that no peer crashes by and every protocol can survive: each rate is zero, small, or up
    /// to a fifth; late is up to `late` nanoseconds; up to two cuts begin before `end` and last up to a fifth of it.
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

    /// With a rate of frames that never arrive.
    pub fn loss(self, rate: Rate) -> Self {
        Self { loss: rate, ..self }
    }

    /// With a rate of frames that arrive twice.
    pub fn duplicate(self, rate: Rate) -> Self {
        Self {
            duplicate: rate,
            ..self
        }
    }

    /// With a rate of frames that others overtake, and how late they are at most.
    pub fn reorder(self, rate: Rate, max_delay: u64) -> Self {
        Self {
            reorder: rate,
            max_delay,
            ..self
        }
    }

    /// With a rate of frames at which the link pauses, and for how long at most.
    pub fn stall(self, rate: Rate, max_pause: u64) -> Self {
        Self {
            stall: rate,
            max_pause,
            ..self
        }
    }

    /// With a rate of frames that lose their end.
    pub fn truncate(self, rate: Rate) -> Self {
        Self {
            truncate: rate,
            ..self
        }
    }

    /// With a rate of frames whose bits flip.
    pub fn corrupt(self, rate: Rate) -> Self {
        Self {
            corrupt: rate,
            ..self
        }
    }

    /// And these links are cut.
    pub fn outage(mut self, outage: Outage) -> Self {
        self.outages.push(outage);
        self
    }

    /// And this peer stops at that time.
    pub fn crash(mut self, peer: Peer, time: u64) -> Self {
        self.crashes.push((peer, time));
        self
    }

    /// Frames arrive as they were sent, or not at all.
    pub(super) fn preserves_bytes(&self) -> bool {
        self.truncate == Rate::NEVER && self.corrupt == Rate::NEVER
    }

    /// Frames arrive as they were sent and at once, or not at all, by chance alone.
    pub(super) fn is_loss_only(&self) -> bool {
        let rates = [self.duplicate, self.reorder, self.stall];
        self.preserves_bytes()
            && rates == [Rate::NEVER; 3]
            && self.outages.is_empty()
            && self.crashes.is_empty()
    }

    /// Does that link carry nothing at that time?
    pub fn is_down(&self, from: Peer, to: Peer, time: u64) -> bool {
        let outages =
            |outage: &Outage| outage.span.contains(&time) && outage.links.contains(&(from, to));
        self.outages.iter().any(outages)
    }

    /// Has that peer stopped by then?
    pub fn has_crashed(&self, peer: Peer, time: u64) -> bool {
        let stopped = |(stops, at): &(Peer, u64)| *stops == peer && *at <= time;
        self.crashes.iter().any(stopped)
    }
}

impl Outage {
    /// Parts these peers from all others of `peers`, in both directions.
    pub fn isolate(group: &[Peer], peers: u16, span: Range<u64>) -> Self {
        let mut links = Vec::new();
        for &inside in group {
            let others = (0..peers).map(Peer).filter(|peer| !group.contains(peer));
            links.extend(others.flat_map(|outside| [(inside, outside), (outside, inside)]));
        }
        Outage { links, span }
    }
}
