//! Runs the same operations over communicators with a header of their own: on loopback, on shared memory, on
//! adversarial channels, over a simulated network that loses and repeats frames, among all peers and among some of
//! them.

use crate::algorithms::algorithms;
use crate::case::Case;
use crate::common::{Hosted, Tagged, Wanted, tagged, wanted};
use pombo_collective::{CommCall, Protocol, SharedMemory};
use pombo_kernel::aspect::{Eager, Rendezvous, Static};
use pombo_kernel::matching::Linear;
use pombo_kernel::{Capacities, Channel, Communicator, Composition, Config, Peer};
use pombo_netdrivers::fault::{Faults, SeededRng};
use pombo_netdrivers::shm::{Segment, Shm};
use pombo_netdrivers::{HeapStorage, Loopback, loopback};
use pombo_testing::{AdversarialChannel, Profile, Sim, SimNetwork};
use pombo_transport::reliable::{Reliable, Window};
use zerocopy::little_endian::U32;

/// Eight operations and two early messages from each of 20 peers; everything else waits or is announced.
type Narrow = Composition<U32, Rendezvous<16>, Linear, Static, Capacities<8, 40, 64, 20>>;
/// Without rendezvous: a message must fit a frame, and a sender without credit waits.
type Plain = Composition<U32, Eager, Linear, HeapStorage, Capacities<32, 80, 16384, 20>>;

/// An operation's number and its members, all of them different peers.
#[derive(Clone)]
pub(crate) struct Members {
    pub(crate) operation: i32,
    pub(crate) peers: Vec<u16>,
}

impl Protocol<Tagged> for Members {
    fn header(&self) -> Tagged {
        tagged(self.operation)
    }

    fn pattern(&self, from: Peer) -> Wanted {
        wanted(Some(from.0), Some(self.operation))
    }

    fn peer(&self, rank: usize) -> Peer {
        Peer(self.peers[rank])
    }
}

/// Returns as many of the peers as there are ranks, in random order.
fn some(peers: usize, ranks: usize, rng: &mut SeededRng) -> Vec<u16> {
    let mut all: Vec<_> = (0..peers as u16).collect();
    for i in 1..peers {
        all.swap(i, rng.index(i + 1));
    }
    all.truncate(ranks);
    all
}

/// Runs cases one after the other on the same communicators, with all ranks in one thread.
fn run<L: Channel, C: Config>(channels: Vec<L>, cases: Vec<Case>, rng: &mut SeededRng) {
    run_in_time::<L, C>(channels, cases, rng, || ());
}

/// Runs cases in the same way, with a clock that `tick` advances.
fn run_in_time<L: Channel, C: Config>(
    channels: Vec<L>,
    cases: Vec<Case>,
    rng: &mut SeededRng,
    tick: impl Fn(),
) {
    let mut memory: Vec<Vec<_>> = cases
        .iter()
        .map(|case| (0..case.ranks).map(|rank| case.memory(rank)).collect())
        .collect();
    let fits = "the sizes fit these peers";
    let mut comms: Vec<_> = channels
        .into_iter()
        .map(|channel| Communicator::<Tagged, L, SharedMemory<'_>, C>::new(channel).expect(fits))
        .collect();
    for (operation, (case, memory)) in cases.iter().zip(&mut memory).enumerate() {
        let members = Members {
            operation: operation as i32,
            peers: some(comms.len(), case.ranks, rng),
        };
        let parts: Vec<_> = memory
            .iter_mut()
            .enumerate()
            .map(|(rank, memory)| case.parts(rank, memory))
            .collect();
        let mut calls: Vec<_> = parts
            .iter()
            .enumerate()
            .map(|(rank, parts)| {
                let steps = case.algorithm.steps(rank);
                (
                    CommCall::new(steps, members.clone(), *parts, case.operator()),
                    false,
                )
            })
            .collect();
        let mut turns = 0;
        while !calls.iter().all(|(_, over)| *over) {
            let rank = rng.index(case.ranks);
            let (call, over) = &mut calls[rank];
            *over = call
                .poll(&mut comms[usize::from(members.peers[rank])])
                .expect("nothing fails");
            if rng.index(4) == 0 {
                // Peers outside the operation make progress too.
                let comm = rng.index(comms.len());
                comms[comm].check_messages().expect("the channel works");
            }
            tick();
            turns += 1;
            assert!(turns < 10_000_000, "nobody gets on in {}", case.name());
        }
        for (rank, parts) in parts.iter().enumerate() {
            case.check(rank, parts);
        }
    }
}

/// Runs cases on loopback, among all peers.
pub(crate) fn run_all(ranks: usize, cases: Vec<Case>, rng: &mut SeededRng) {
    run::<_, Hosted>(Loopback::world(ranks as u16), cases, rng);
}

/// Returns every `stride`-th algorithm, from `first` on.
fn cases(ranks: usize, first: usize, stride: usize, rng: &mut SeededRng) -> Vec<Case> {
    let some = algorithms(ranks, rng)
        .into_iter()
        .skip(first)
        .step_by(stride);
    some.map(|algorithm| Case::new(algorithm, ranks, rng))
        .collect()
}

#[test]
fn over_loopback() {
    for ranks in 1..=17 {
        let mut rng = SeededRng::stream(1, ranks as u64);
        let peers = ranks + rng.index(3);
        let all = cases(ranks, 0, 1, &mut rng);
        run::<_, Hosted>(Loopback::world(peers as u16), all, &mut rng);
        let some = cases(ranks, ranks % 3, 3, &mut rng);
        run::<_, Narrow>(Loopback::world(peers as u16), some, &mut rng);
        let some = cases(ranks, ranks % 3, 3, &mut rng);
        let long_frames = loopback::Limits {
            frame: 20_000,
            frames_in_flight: 3,
        };
        let world = Loopback::world_with(peers as u16, long_frames);
        run::<_, Plain>(world, some, &mut rng);
    }
}

#[test]
fn over_shared_memory() {
    for ranks in 1..=17 {
        let mut rng = SeededRng::stream(2, ranks as u64);
        let segment = Segment::create(ranks, 1).expect("a memory file");
        let attach = |rank| {
            let own = Segment::open(segment.fd()).expect("it is there");
            Shm::attach(own, rank, 1).expect("a free place")
        };
        let channels = (0..ranks).map(attach).collect();
        let all = cases(ranks, 0, 1, &mut rng);
        run::<_, Hosted>(channels, all, &mut rng);
    }
}

#[test]
fn over_channels_with_moods() {
    for seed in 0..5 {
        for ranks in 1..=17 {
            let mut rng = SeededRng::stream(3 + seed, ranks as u64);
            let profile = Profile::random(&mut rng);
            let world = Loopback::world((ranks + rng.index(2)) as u16);
            let channels = AdversarialChannel::world(world, profile, rng.below(u64::MAX));
            let some = cases(ranks, (seed as usize + ranks) % 5, 5, &mut rng);
            run::<_, Narrow>(channels, some, &mut rng);
        }
    }
}

#[test]
fn over_a_network_that_loses() {
    type Over = Reliable<SimNetwork, Window<20, 8, 600>, HeapStorage>;
    for seed in 0..7 {
        for ranks in 1..=17 {
            let mut rng = SeededRng::stream(7 + seed, ranks as u64);
            let peers = (ranks + rng.index(2)) as u16;
            let (sim, networks) = Sim::new(peers, Faults::rough(), rng.below(u64::MAX));
            let fits = "places for twenty";
            let over = |network| -> Over { Reliable::new(network, 1).expect(fits) };
            let channels = networks.into_iter().map(over).collect();
            let some = cases(ranks, (seed as usize + ranks) % 7, 7, &mut rng);
            run_in_time::<_, Narrow>(channels, some, &mut rng, || sim.advance(5_000));
        }
    }
}
