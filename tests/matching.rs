//! Tests matching against the rules of MPI, written as simply as possible: no message and no receive may both violate
//! the order.
//!
//! The tests perform random sends, receives, cancels, probes, matched probes and polls on up to four ranks, through
//! channels and pools of the smallest sizes. In the end every matching message and receive must have found each other,
//! in an order that the standard allows (MPI 5.0, section 3.5): a message goes to the first receive that matches, a
//! receive takes the first message of a source that matches. A probe must have named the message that a receive would
//! have taken. The remaining messages are found by probing and received, and then nothing is left.

#[path = "matching/check.rs"]
mod check;
mod common;
#[path = "matching/differential.rs"]
mod differential;
#[path = "matching/liveness.rs"]
mod liveness;
#[path = "common/numbered.rs"]
mod numbered;
#[path = "matching/pairs.rs"]
mod pairs;
#[path = "matching/world.rs"]
mod world;

use common::{Hosted, Owned, Plain, Tiny, cases, settle_adversarial};
use numbered::Numbered;
use pombo_kernel::aspect::{Eager, EarlyData, ReceiverInitiated, Rendezvous, Static};
use pombo_kernel::matching::{Adaptive, Binned, Linear};
use pombo_kernel::{Capacities, Channel, Communicator, Composition, Config, Limits, Peer};
use pombo_netdrivers::fault::Rate;
use pombo_netdrivers::{HeapStorage, Loopback, loopback};
use pombo_testing::{AdversarialChannel, Profile};
use pombo_transport::Composite;
use proptest::prelude::*;
use world::World;
use zerocopy::little_endian::U32;

#[derive(Clone, Debug)]
enum Act {
    Send {
        from: u16,
        to: u16,
        tag: i32,
        len: usize,
        synchronous: bool,
    },
    Receive {
        at: u16,
        source: Option<u16>,
        tag: Option<i32>,
        room: usize,
        /// It may do without the queues.
        direct: bool,
    },
    CancelSend {
        which: usize,
    },
    CancelReceive {
        which: usize,
    },
    Probe {
        at: u16,
        source: Option<u16>,
        tag: Option<i32>,
    },
    MatchedProbe {
        at: u16,
        source: Option<u16>,
        tag: Option<i32>,
    },
    /// Receives one of the messages that matched probes have taken.
    ReceiveMatched {
        which: usize,
        room: usize,
    },
    Poll {
        at: u16,
    },
    /// Claims all complete operations, so that new ones reuse their slots.
    Claim,
}

fn act(ranks: u16) -> impl Strategy<Value = Act> {
    let rank = 0..ranks;
    let source = prop_oneof![1 => Just(None), 2 => rank.clone().prop_map(Some)];
    let tag = prop_oneof![1 => Just(None), 3 => (0..3i32).prop_map(Some)];
    let len = prop_oneof![1 => Just(0usize), 4 => 1..17usize, 2 => 17..65usize, 1 => 65..2000usize];
    let room = prop_oneof![8 => Just(2000usize), 1 => 0..40usize];
    prop_oneof![
        6 => (rank.clone(), rank.clone(), 0..3i32, len, any::<u8>()).prop_map(
            |(from, to, tag, len, coin)| Act::Send { from, to, tag, len, synchronous: coin < 32 }
        ),
        5 => (rank.clone(), source.clone(), tag.clone(), room.clone(), any::<bool>()).prop_map(
            |(at, source, tag, room, direct)| Act::Receive { at, source, tag, room, direct }
        ),
        1 => (0..64usize).prop_map(|which| Act::CancelSend { which }),
        1 => (0..64usize).prop_map(|which| Act::CancelReceive { which }),
        1 => (rank.clone(), source.clone(), tag.clone())
            .prop_map(|(at, source, tag)| Act::Probe { at, source, tag }),
        2 => (rank.clone(), source, tag)
            .prop_map(|(at, source, tag)| Act::MatchedProbe { at, source, tag }),
        2 => (any::<usize>(), room).prop_map(|(which, room)| Act::ReceiveMatched { which, room }),
        6 => rank.prop_map(|at| Act::Poll { at }),
        2 => Just(Act::Claim),
    ]
}

/// Runs the acts over threads' channels, polled in turn.
fn over_loopback<C: Config>(ranks: u16, acts: &[Act], frames_in_flight: usize, limits: Limits) {
    let channel = loopback::Limits {
        frame: 128,
        frames_in_flight,
    };
    let channels = Loopback::world_with(ranks, channel);
    World::<_, C>::new(channels, limits, settle).run(acts);
}

type Hosts = Composite<Loopback, Loopback>;

/// Runs the acts on two hosts of two ranks each: receives from any source look into the memory of the host and the
/// network.
fn over_two_hosts<C: Config>(acts: &[Act], frames_in_flight: usize, limits: Limits) {
    let world = |ranks| {
        let channel = loopback::Limits {
            frame: 128,
            frames_in_flight,
        };
        Loopback::world_with(ranks, channel)
    };
    let hosts = [[Peer(0), Peer(1)], [Peer(2), Peer(3)]];
    let members = hosts.iter().flat_map(|host| [host, host]);
    let memory = hosts.iter().flat_map(|_| world(2));
    let parts = memory.zip(world(4)).zip(members);
    let channels = parts.map(|((memory, network), members)| {
        Hosts::new(memory, network, members).expect("the members of a host")
    });
    World::<_, C>::new(channels.collect(), limits, settle).run(acts);
}

/// The network between hosts is polled once in several polls.
const POLLS_AT_REST: usize = 16;

fn settle<L: Channel, C: Config>(ranks: &mut [Communicator<Numbered, L, Owned, C>]) {
    let mut at_rest = 0;
    for _ in 0..1_000_000 {
        let mut moved = false;
        for rank in ranks.iter_mut() {
            moved |= rank.check_messages().expect("loopback does not break");
        }
        at_rest = if moved { 0 } else { at_rest + 1 };
        if at_rest == POLLS_AT_REST {
            return;
        }
    }
    panic!("the ranks never come to rest");
}

/// Runs the acts over a channel that is full, slow or late at random.
fn over_adversarial<C: Config>(
    ranks: u16,
    acts: &[Act],
    profile: Difficult,
    seed: u64,
    limits: Limits,
) {
    let (channel, profile) = profile;
    let channels = AdversarialChannel::world(Loopback::world_with(ranks, channel), profile, seed);
    World::<_, C>::new(channels, limits, settle_adversarial).run(acts);
}

fn credit(places: u32) -> Limits {
    Limits {
        credit: Some(places),
        eager: None,
        copies: None,
    }
}

/// The smallest pool and cells that a composition can have with four ranks.
type Smallest = Composition<U32, Rendezvous<1>, Linear, Static, Capacities<512, 4, 1, 4>>;
/// Every short message fits, with several cells for each peer.
type Roomy = Composition<U32, Rendezvous<64>, Linear, HeapStorage, Capacities<4096, 64, 64, 4>>;
/// Matching by bins, of which there are far too few, from the first entry on.
type Bins = Composition<U32, Rendezvous<16>, Binned<1>, Static, Capacities<512, 4, 64, 4>>;
/// Matching by bins when a queue is long, and by linear search when it is empty again.
type Adapting =
    Composition<U32, Rendezvous<64>, Adaptive<2, 2>, HeapStorage, Capacities<4096, 64, 64, 4>>;
/// With hints, so that data may arrive before it is requested.
type Hinted = Composition<U32, ReceiverInitiated<1>, Linear, Static, Capacities<512, 4, 1, 4>>;
/// With hints, and several cells for each peer.
type HintedRoomy = Composition<
    U32,
    ReceiverInitiated<16>,
    Adaptive<2, 2>,
    HeapStorage,
    Capacities<4096, 64, 64, 4>,
>;
/// One frame of each announced message is under way before a receive has matched it.
type Early = Composition<U32, EarlyData<1, 1>, Linear, Static, Capacities<512, 4, 1, 4>>;
/// Three frames are, and each peer has several cells.
type EarlyRoomy =
    Composition<U32, EarlyData<16, 3>, Adaptive<2, 2>, HeapStorage, Capacities<4096, 64, 64, 4>>;
/// Without rendezvous, with few cells.
type PlainFew = Composition<U32, Eager, Linear, Static, Capacities<512, 12, 64, 4>>;

type Difficult = (loopback::Limits, Profile);

fn profile() -> impl Strategy<Value = Difficult> {
    let limits =
        (128..300usize, 1..6usize).prop_map(|(frame, frames_in_flight)| loopback::Limits {
            frame,
            frames_in_flight,
        });
    let rate = |percent: core::ops::Range<u32>| percent.prop_map(Rate::percent);
    let profile = (
        rate(0..70),
        rate(0..90),
        rate(0..70),
        rate(0..70),
        rate(0..50),
        1..40usize,
    );
    let profile = profile.prop_map(
        |(full, later, skipped_sender, late_completion, skipped_poll, fragment)| Profile {
            full,
            later,
            skipped_sender,
            late_completion,
            skipped_poll,
            fragment,
            ..Profile::BENIGN
        },
    );
    (limits, profile)
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn nobody_has_reason_to_complain(
        acts in prop::collection::vec(act(3), 1..150),
        in_flight in 1..6usize,
        places in 1..4u32,
    ) {
        over_loopback::<Tiny>(3, &acts, in_flight, credit(1));
        let limits = Limits { credit: Some(places), eager: Some(16) , copies: None};
        over_loopback::<Hosted>(3, &acts, in_flight, limits);
        over_loopback::<Hinted>(3, &acts, in_flight, credit(1));
    }

    #[test]
    fn nobody_has_reason_to_complain_without_rendezvous(
        acts in prop::collection::vec(act(3), 1..150),
        in_flight in 1..6usize,
        places in 1..6u32,
    ) {
        over_loopback::<Plain>(3, &acts, in_flight, credit(places));
        over_loopback::<PlainFew>(3, &acts, in_flight, credit(places));
    }

    #[test]
    fn memory_and_network_are_one_channel(
        acts in prop::collection::vec(act(4), 1..200),
        in_flight in 1..6usize,
        places in 1..4u32,
    ) {
        over_two_hosts::<Smallest>(&acts, in_flight, credit(1));
        over_two_hosts::<Adapting>(&acts, in_flight, credit(places));
        over_two_hosts::<PlainFew>(&acts, in_flight, credit(places));
    }

    #[test]
    fn a_moody_channel_changes_nothing(
        acts in prop::collection::vec(act(4), 1..200),
        profile in profile(),
        seed in any::<u64>(),
        places in 1..6u32,
    ) {
        over_adversarial::<Smallest>(4, &acts, profile, seed, credit(1));
        over_adversarial::<Bins>(4, &acts, profile, seed, credit(1));
        over_adversarial::<Adapting>(4, &acts, profile, seed, credit(places));
        over_adversarial::<Roomy>(4, &acts, profile, seed, credit(places));
        over_adversarial::<Hinted>(4, &acts, profile, seed, credit(1));
        over_adversarial::<HintedRoomy>(4, &acts, profile, seed, credit(places));
        over_adversarial::<Early>(4, &acts, profile, seed, credit(1));
        over_adversarial::<EarlyRoomy>(4, &acts, profile, seed, credit(places));
        over_adversarial::<PlainFew>(4, &acts, profile, seed, credit(places));
    }

    /// Two ranks and one tag give long queues of equal messages.
    #[test]
    fn crowds_keep_their_order(
        acts in prop::collection::vec(act(2), 100..400),
        profile in profile(),
        seed in any::<u64>(),
    ) {
        over_adversarial::<Smallest>(2, &acts, profile, seed, credit(1));
        over_adversarial::<Roomy>(2, &acts, profile, seed, credit(2));
        over_adversarial::<Bins>(2, &acts, profile, seed, credit(1));
        over_adversarial::<Adapting>(2, &acts, profile, seed, credit(20));
        over_adversarial::<Hinted>(2, &acts, profile, seed, credit(1));
        over_adversarial::<EarlyRoomy>(2, &acts, profile, seed, credit(2));
    }
}
