//! The kernel on top of it: messages of all sizes through credit, rendezvous and fragments, over bad networks.

#[path = "../../../tests/common/numbered.rs"]
mod numbered;

use crate::conforms::{Rank, run};
use numbered::{Numbered, select};
use pombo_kernel::aspect::{Eager, Rendezvous, Static};
use pombo_kernel::matching::Linear;
use pombo_kernel::{
    Capacities, Channel, Communicator, Composition, Config, Error, Lent, Loan, Peer, Ticket,
};
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::fault::{Faults, SeededRng};
use pombo_testing::{Sim, SimNetwork};
use pombo_transport::reliable::{Reliable, Window};
use std::collections::VecDeque;
use zerocopy::little_endian::{I32, U32};

/// One place for each peer: nearly everything waits at its sender.
type Tiny = Composition<U32, Rendezvous<16>, Linear, Static, Capacities<512, 4, 64, 4>>;
type Plain = Composition<U32, Eager, Linear, Static, Capacities<512, 12, 500, 4>>;
type Hosted =
    Composition<U32, Rendezvous<4096>, Linear, HeapStorage, Capacities<4096, 1024, 4096, 8>>;

const LONGEST: usize = 60_000;

fn header(tag: i32, number: u32) -> Numbered {
    Numbered {
        tag: I32::new(tag),
        number: U32::new(number),
    }
}

/// The bytes of a message: any sender's are different from any other's.
fn message(from: u16, to: u16, number: u32, longest: usize) -> Vec<u8> {
    let mut rng = SeededRng::stream(number.into(), u64::from(from) << 16 | u64::from(to));
    let most = [0, 8, 64, 1500, 4097, longest][rng.index(6)].min(longest);
    let (len, start) = (rng.index(most + 1), rng.index(256));
    (start..start + len)
        .map(|i| ((i * 7) ^ (i >> 8)) as u8)
        .collect()
}

/// Ranks as threads: receives posted before and after, blocking calls, probes.
fn talk(channel: Rank) {
    let (me, peers) = (channel.me().0, channel.peers() as u16);
    let mut comm: Communicator<Numbered, _, Lent<'_>, Hosted> =
        Communicator::new(channel).expect("it fits");
    for round in 0..12_u32 {
        let tag = round as i32;
        for step in 0..peers {
            let peer = me ^ step;
            let expected = message(peer, me, round, LONGEST);
            let mut room = vec![0; expected.len()];
            let stored = comm.scope(|scope| {
                let ticket = scope.irecv(select(Some(peer), Some(tag)), &mut room)?;
                let bytes = message(me, peer, round, LONGEST);
                scope.send(Peer(peer), header(tag, round), &bytes)?;
                scope.wait(ticket)?.outcome
            });
            assert_eq!(stored, Ok(expected.len()));
            assert!(room == expected, "{peer} to {me}, round {round}");
        }
        let (next, last) = ((me + 1) % peers, (me + peers - 1) % peers);
        // The even ranks send first: a long message waits for its receive.
        for sends in [me % 2 == 0, me % 2 == 1] {
            if sends {
                let bytes = message(me, next, round, 1000);
                let sent = comm.send(Peer(next), header(-2, round), &bytes);
                assert_eq!(sent, Ok(()));
                continue;
            }
            let probed = comm.wait_probe(select(None, Some(-2))).expect("it comes");
            let mut room = vec![0; probed.len()];
            let got = comm.recv(select(Some(last), Some(-2)), &mut room);
            assert_eq!(got.map(|envelope| envelope.len()), Ok(room.len()));
            assert_eq!(room, message(last, me, round, 1000));
        }
    }
    assert_eq!(comm.rejected(), 0);
}

#[test]
fn everybody_talks_to_everybody() {
    for peers in [2, 4] {
        run(peers, Faults::NONE, talk);
        run(peers, Faults::rough(), talk);
    }
}

const MESSAGES: u32 = 30;
type Comm<'a, C> =
    Communicator<Numbered, Reliable<SimNetwork, Window<4, 8, 600>, HeapStorage>, Lent<'a>, C>;

/// Ranks that take turns by a seed. Every rank sends to every other and receives from anybody: what comes from one
/// sender comes in its order, and whole.
fn take_turns<C: Config>(seed: u64, faults: Faults, longest: usize) -> u64 {
    let peers = 3_u16;
    let (sim, networks) = Sim::new(peers, faults, seed);
    let mut rng = SeededRng::new(seed);
    let rounds = MESSAGES as usize * usize::from(peers);
    let mut rooms: Vec<_> = (0..peers)
        .map(|_| vec![vec![0_u8; longest]; rounds])
        .collect();
    let bytes: Vec<Vec<Vec<u8>>> = (0..peers * peers)
        .map(|pair| {
            let message = |number| message(pair / peers, pair % peers, number, longest);
            (0..MESSAGES).map(message).collect()
        })
        .collect();
    let mut ranks: Vec<Comm<'_, C>> = networks
        .into_iter()
        .map(|network| Communicator::new(Reliable::new(network, 1).expect("fits")).expect("fits"))
        .collect();
    let mut rooms: Vec<_> = rooms.iter_mut().map(|rooms| rooms.iter_mut()).collect();
    let mut sent = vec![0; bytes.len()];
    let posted = |_| Posted {
        tickets: VecDeque::new(),
        next: vec![0; peers.into()],
    };
    let mut posted: Vec<_> = (0..peers).map(posted).collect();
    let total = rounds * usize::from(peers) * 2;
    let mut done = 0;
    for _ in 0..2_000_000 {
        let at = rng.index(peers.into());
        let rank = &mut ranks[at];
        let to = rng.index(peers.into());
        let pair = at * usize::from(peers) + to;
        if let Some(bytes) = bytes[pair].get(sent[pair]) {
            let header = header(rng.below(3) as i32, sent[pair] as u32);
            match rank.isend(Peer(to as u16), header, bytes.as_slice()) {
                Ok(_) => (sent[pair], done) = (sent[pair] + 1, done + 1),
                Err(refused) => assert!(matches!(refused.error, Error::NoCredit(_))),
            }
        }
        if let Some(room) = rooms[at].next() {
            let ticket = rank.irecv(select(None, None), room.as_mut_slice());
            posted[at]
                .tickets
                .push_back(ticket.map_err(Error::from).expect("posted"));
            done += 1;
        }
        let moved = rank.check_messages().expect("it does not break");
        if !moved {
            sim.advance(rng.below(20_000));
        }
        claim(rank, &mut posted[at], &bytes);
        if done == total && posted.iter().all(|posted| posted.tickets.is_empty()) {
            return sim.now();
        }
    }
    panic!("seed {seed} hangs");
}

/// Looks at the receives that are over, in the order in which they were posted.
fn claim<C: Config>(rank: &mut Comm<'_, C>, posted: &mut Posted, bytes: &[Vec<Vec<u8>>]) {
    let (me, peers) = (rank.channel().me().index(), rank.channel().peers());
    while let Some(&ticket) = posted.tickets.front() {
        let Some(over) = rank.claim(ticket).expect("known") else {
            return;
        };
        posted.tickets.pop_front();
        let (Loan::Received(room), Some(envelope)) = (over.loan, over.envelope) else {
            panic!("a receive that matched")
        };
        let from = envelope.peer().index();
        let number = posted.next[from];
        assert_eq!(envelope.header().number.get() as usize, number);
        let expected = &bytes[from * peers + me][number];
        assert_eq!(over.outcome, Ok(expected.len()));
        assert!(room[..expected.len()] == expected[..]);
        posted.next[from] += 1;
    }
}

/// The receives of a rank that are not over, and the number that comes next from each.
struct Posted {
    tickets: VecDeque<Ticket>,
    next: Vec<usize>,
}

#[test]
fn turns_by_a_seed() {
    for seed in 0..60 {
        let faults = || Faults::random(&mut SeededRng::new(seed), 3, 100_000, 20_000_000);
        take_turns::<Tiny>(seed, faults(), LONGEST / 10);
        take_turns::<Hosted>(seed, faults(), LONGEST / 10);
        take_turns::<Plain>(seed, faults(), 500);
        take_turns::<Tiny>(seed, Faults::NONE, LONGEST / 10);
    }
}
