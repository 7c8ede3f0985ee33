//! The plan of a schedule, derived from its seed: composition, channel, profile, crashes, and the random numbers of the
//! traffic.

use crate::common::{Hosted, Plain, Tiny};
use crate::rank::{Channel, Pair, Rank, Solo};
use pombo_kernel::aspect::{
    Buffered, Counting, Eager, EarlyData, Heterogeneous, NoDatatypes, Rendezvous, Static,
};
use pombo_kernel::matching::{Adaptive, Binned, Linear};
use pombo_kernel::{Capacities, Composition, Limits};
use pombo_netdrivers::fault::{Rate, SeededRng};
use pombo_netdrivers::{HeapStorage, Loopback, loopback};
use pombo_testing::{AdversarialChannel, Profile};
use zerocopy::little_endian::{U32, U64};

/// One cell for each of four peers: everything else waits at its sender.
type Smallest = Composition<U32, Rendezvous<1>, Linear, Static, Capacities<512, 4, 1, 4>>;
/// Every short message fits, with several cells for each peer.
type Roomy = Composition<U64, Rendezvous<64>, Linear, HeapStorage, Capacities<4096, 64, 64, 4>>;
/// Matching by bins, of which there are far too few.
type Bins = Composition<U32, Rendezvous<16>, Binned<1>, Static, Capacities<512, 4, 64, 4>>;
/// Matching by bins when a queue is long.
type Adapting =
    Composition<U32, Rendezvous<64>, Adaptive<2, 2>, HeapStorage, Capacities<4096, 64, 64, 4>>;
/// With early data, and every other aspect as well.
type Early = Composition<
    U32,
    EarlyData<32, 2>,
    Linear,
    HeapStorage,
    Capacities<4096, 16, 64, 4>,
    Counting,
    NoDatatypes,
    Heterogeneous,
    Buffered,
>;
/// Without rendezvous, with few cells.
type PlainFew = Composition<U32, Eager, Linear, Static, Capacities<512, 12, 64, 4>>;
/// With every other aspect as well.
type All = Composition<
    U32,
    Rendezvous<32>,
    Linear,
    HeapStorage,
    Capacities<4096, 16, 64, 4>,
    Counting,
    NoDatatypes,
    Heterogeneous,
    Buffered,
>;
/// With buffered copies, and without announcements.
type PlainCopying = Composition<
    U32,
    Eager,
    Linear,
    Static,
    Capacities<512, 16, 64, 4>,
    Counting,
    NoDatatypes,
    Heterogeneous,
    Buffered,
>;

type Make = fn(Channel, Limits) -> Box<dyn Rank>;

const COMPOSITIONS: [(&str, Make); 12] = [
    ("Smallest", Solo::<Smallest>::boxed),
    ("Tiny", Solo::<Tiny>::boxed),
    ("Hosted", Solo::<Hosted>::boxed),
    ("Roomy", Solo::<Roomy>::boxed),
    ("Bins", Solo::<Bins>::boxed),
    ("Adapting", Solo::<Adapting>::boxed),
    ("Plain", Solo::<Plain>::boxed),
    ("PlainFew", Solo::<PlainFew>::boxed),
    ("All", Solo::<All>::boxed),
    ("Early", Solo::<Early>::boxed),
    ("PlainCopying", Solo::<PlainCopying>::boxed),
    ("Smallest and All", Pair::<Smallest, All>::boxed),
];

/// The probabilities of a schedule. Schedules differ in them, so that some often do what is rare in most.
#[derive(Debug)]
pub(crate) struct Habits {
    /// The weight of each kind of step, in this order.
    pub(crate) steps: [u64; STEPS.len()],
    /// Number of different tags.
    pub(crate) tags: u64,
    /// Receives and probes of any source.
    pub(crate) any_source: Rate,
    /// Receives and probes of any tag.
    pub(crate) any_tag: Rate,
    /// Messages that are not short.
    pub(crate) long: Rate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Send,
    SendBlocking,
    Receive,
    CancelSend,
    CancelReceive,
    Probe,
    Claim,
    Wait,
    Poll,
}

const STEPS: [(Step, u64); 9] = [
    (Step::Send, 6),
    (Step::SendBlocking, 1),
    (Step::Receive, 5),
    (Step::CancelSend, 1),
    (Step::CancelReceive, 1),
    (Step::Probe, 2),
    (Step::Claim, 1),
    (Step::Wait, 1),
    (Step::Poll, 7),
];

impl Habits {
    fn random(rng: &mut SeededRng) -> Self {
        Habits {
            steps: STEPS.map(|(_, usual)| usual * [0, 1, 1, 1, 1, 2, 4, 8][rng.index(8)] + 1),
            tags: 1 + rng.below(4),
            any_source: Rate::percent([0, 30, 30, 90][rng.index(4)]),
            any_tag: Rate::percent([0, 20, 20, 90][rng.index(4)]),
            long: Rate::percent([10, 40, 40, 90][rng.index(4)]),
        }
    }

    pub(crate) fn step(&self, rng: &mut SeededRng) -> Step {
        let mut choice = rng.below(self.steps.iter().sum());
        for ((step, _), share) in STEPS.into_iter().zip(self.steps) {
            if choice < share {
                return step;
            }
            choice -= share;
        }
        Step::Poll
    }
}

pub(crate) struct Plan {
    pub(crate) composition: &'static str,
    pub(crate) ranks: Vec<Box<dyn Rank>>,
    pub(crate) acts: usize,
    pub(crate) habits: Habits,
    /// The ranks that crash, with the number of the call on the channel at which they do.
    pub(crate) crash: Vec<(usize, u64)>,
    pub(crate) profile: Profile,
    pub(crate) channel: loopback::Limits,
    pub(crate) limits: Limits,
    pub(crate) rng: SeededRng,
}

impl Plan {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = SeededRng::new(seed);
        let peers = 2 + rng.index(3);
        let channel = loopback::Limits {
            frame: 128 + rng.index(172),
            frames_in_flight: 1 + rng.index(6),
        };
        let profile = Profile::random(&mut rng);
        let limits = Limits {
            credit: [Some(1), Some(2), Some(5), None][rng.index(4)],
            eager: [None, Some(16)][rng.index(2)],
            copies: None,
        };
        let (composition, make) = COMPOSITIONS[rng.index(COMPOSITIONS.len())];
        let acts = 20 + rng.index(130);
        // Half of the schedules have a crash, and some have two.
        let crash: Vec<_> = (0..[0, 0, 1, 1, 1, 2][rng.index(6)])
            .map(|_| (rng.index(peers), rng.below(3 * acts as u64 / peers as u64)))
            .collect();
        let channels = Loopback::world_with(peers as u16, channel);
        let ranks = channels.into_iter().enumerate().map(|(rank, channel)| {
            let crash = crash.iter().find(|(who, _)| *who == rank);
            let profile = Profile {
                crash: crash.map(|(_, step)| *step),
                ..profile
            };
            make(AdversarialChannel::new(channel, profile, seed), limits)
        });
        Plan {
            composition,
            ranks: ranks.collect(),
            acts,
            habits: Habits::random(&mut rng),
            crash,
            profile,
            channel,
            limits,
            rng,
        }
    }
}
