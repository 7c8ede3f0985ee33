//! Messages that no correct neighbour sends.

use crate::build::cases;
use crate::changes::built;
use crate::graph::{Graph, Random};
use crate::network::Network;
use pombo_collective::adaptive::{AdaptiveError, Kind, Link, Message, Process};
use std::collections::VecDeque;
use zerocopy::{FromBytes, IntoBytes};

/// A message of which some bytes are wrong.
fn damaged(random: &mut Random, message: &Message) -> Message {
    let mut damaged = *message;
    let bytes = damaged.as_mut_bytes();
    for _ in 0..1 + random.below(3) {
        let byte = random.below(bytes.len());
        // Small values are near the ones that are right.
        bytes[byte] = random.next() as u8 >> random.below(8);
    }
    damaged
}

/// Damaged, repeated, reordered and lost messages: no call panics or goes on for ever, whatever becomes of the tree.
#[test]
fn wrong_messages_never_panic() {
    let (mut refused, mut malformed) = (0, 0);
    for seed in 0..cases(1_000) {
        let mut random = Random::new(seed);
        let graph = Graph::random(&mut random, 8);
        let announced = graph.processes.len() as u32;
        let mut network = Network::new(&graph, announced);
        network.start_all(&mut random);
        for step in 0..600 {
            if step % 150 == 149 {
                for process in network.processes.values_mut() {
                    for link in 0..process.links().len() {
                        let weight = random.next() >> random.below(64);
                        process.set_weight(link, weight).unwrap();
                    }
                    process.adapt();
                    let _ = process.claim_root();
                }
            }
            let chosen = random.below(network.processes.len());
            let to = graph.processes[chosen];
            let neighbours = network.process(to).links().len();
            if neighbours == 0 {
                break;
            }
            let link = random.below(neighbours + 1);
            let from = network
                .process(to)
                .links()
                .get(link)
                .map_or(to, Link::neighbour);
            let messages = network.under_way.entry((from, to)).or_default();
            let number = random.below(messages.len().max(1));
            let message = match random.below(12) {
                0 => messages.remove(number),
                1 => messages.front().copied(),
                2 | 3 => messages
                    .get(number)
                    .map(|message| damaged(&mut random, message)),
                4 => Some(Message::read_from_bytes(&[random.next() as u8; 34]).unwrap()),
                _ => messages.pop_front(),
            };
            if let Some(message) = message {
                let before = network.process(to).counters().dropped;
                let taken = network.process(to).receive(link, &message);
                malformed += usize::from(taken == Err(AdaptiveError::Malformed));
                refused += usize::from(taken.is_err());
                let counted = network.process(to).counters().dropped > before;
                assert!(counted || taken.is_ok(), "seed {seed}: {taken:?}");
            }
            network.collect(to);
        }
    }
    assert!(refused > 1_000 && malformed > 100, "{refused}, {malformed}");
}

/// Messages of former epochs, rounds and waves may come again at any time: they change nothing.
#[test]
fn stale_messages_are_ignored() {
    let mut stale = 0;
    for seed in 0..cases(300) {
        let mut random = Random::new(seed);
        let (mut graph, mut network) = built(&mut random, 10);
        if graph.processes.len() > 2 && random.chance(50) {
            let victim = graph.processes[random.below(graph.processes.len())];
            crate::deaths::kill(&mut graph, &mut network, &mut random, victim);
            network.run(&mut random);
        }
        network.record = Some(VecDeque::new());
        network.all_in_any_order(&mut random, |process| {
            process.adapt();
        });
        network.run(&mut random);
        let old = network.record.take().unwrap();
        network.all_in_any_order(&mut random, |process| {
            process.adapt();
        });
        for (from, to, message) in old {
            network.step(&mut random);
            let process = network.process(to);
            let link = process.link_to(from).unwrap();
            assert_eq!(
                process.receive(link, &message),
                Ok(()),
                "seed {seed}: {message:?}"
            );
            stale += 1;
            network.collect(to);
        }
        network.run(&mut random);
        let seen: u32 = network
            .processes
            .values()
            .map(|process| process.counters().stale)
            .sum();
        assert!(seen > 0 || graph.links.is_empty(), "seed {seed}");
        assert_eq!(
            network.tree(),
            network.agreed().minimum_spanning_tree(),
            "seed {seed}"
        );
    }
    assert!(stale > 1_000);
}

#[test]
fn wrong_calls_are_refused() {
    let twice = [Link::new(1, 5), Link::new(1, 6)];
    let refused = Process::new(0, 3, twice).map(|_| ());
    assert_eq!(refused, Err(AdaptiveError::DuplicateNeighbour(1)));
    let to_itself = Process::new(1, 3, [Link::new(1, 5)]).map(|_| ());
    assert_eq!(to_itself, Err(AdaptiveError::DuplicateNeighbour(1)));
    let mut process = Process::new(0, 2, [Link::new(1, u64::MAX)]).unwrap();
    assert_eq!(process.set_weight(1, 5), Err(AdaptiveError::NoSuchLink(1)));
    assert_eq!(process.claim_root(), Err(AdaptiveError::Unsettled));
    process.start();
    let (link, message) = process.next_outgoing().unwrap();
    assert_eq!((link, message.kind()), (0, Ok(Kind::Weight)));
    assert_eq!(process.link_lost(0), Ok(()));
    assert_eq!(process.link_lost(0), Err(AdaptiveError::NoSuchLink(0)));
    assert_eq!(
        process.receive(0, &message),
        Err(AdaptiveError::NoSuchLink(0))
    );
    assert!(process.is_settled() && process.members() == 1);
}
