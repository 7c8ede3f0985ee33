//! Tests the cost models: the published example, and the computed tree against the best possible time.

use pombo_collective::model::{Hockney, Hold, Multicast, Optimal};
use pombo_collective::topology::{Binomial, Chain, Rooted, Sequential, Shape, Tree};
use pombo_netdrivers::fault::SeededRng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The paper's example: t_send 2, t_net 1, t_recv 2, t_hold 2.
const PAPER: Hold = Hold {
    hold: 2,
    end: 2 + 1 + 2,
};

#[test]
fn the_published_example() {
    let of = |hold, latency| Multicast { hold, latency };
    assert_eq!(PAPER.multicast(Sequential, 4), of(6, 9));
    assert_eq!(PAPER.multicast(Binomial, 4), of(4, 10));
    assert_eq!(PAPER.multicast(Chain, 4), of(2, 15));
    // Here the best tree is the sequential one; the table is a constant.
    const BEST: Optimal<65> = Optimal::new(PAPER);
    assert_eq!(PAPER.multicast(&BEST, 4), of(6, 9));
    let children = |rank| Rooted::new(&BEST, rank, 4, 0).children().count();
    assert_eq!([0, 1, 2, 3].map(children), [3, 0, 0, 0]);
}

/// Returns the least possible time: every rank that has the message forwards it as early as it can.
fn best(times: Hold, ranks: usize, ports: usize) -> u64 {
    let mut next_sends = BinaryHeap::from([Reverse(0)]);
    let (mut informed, mut last) = (1, 0);
    while informed < ranks {
        let Reverse(now) = next_sends.pop().expect("somebody has it");
        next_sends.push(Reverse(now + times.hold));
        for _ in 0..ports.min(ranks - informed) {
            next_sends.push(Reverse(now + times.end));
            informed += 1;
            last = last.max(now + times.end);
        }
    }
    last
}

#[test]
fn no_tree_is_better() {
    let mut rng = SeededRng::new(3);
    for _ in 0..400 {
        let times = Hold {
            hold: rng.below(30),
            end: 1 + rng.below(30),
        };
        let table = Optimal::<41>::new(times);
        for ranks in 1..=40 {
            assert_eq!(
                table.latency(ranks),
                best(times, ranks, 1),
                "{times:?}, {ranks} ranks"
            );
            let told = times.multicast(&table, ranks).latency;
            assert_eq!(
                told,
                table.latency(ranks),
                "{times:?}, {ranks} ranks: the tree itself"
            );
        }
    }
}

/// With several ports every send reaches up to that many ranks; one port gives the published tree.
#[test]
fn more_ports_are_never_worse() {
    let mut rng = SeededRng::new(4);
    for _ in 0..100 {
        let times = Hold {
            hold: rng.below(30),
            end: 1 + rng.below(30),
        };
        let tables = [1, 2, 3, 5].map(|ports| (ports, Optimal::<31>::with_ports(times, ports)));
        for ranks in 1..=30 {
            let mut before = u64::MAX;
            for (ports, table) in &tables {
                let time = table.latency(ranks);
                assert_eq!(
                    time,
                    best(times, ranks, *ports),
                    "{times:?}, {ports} ports, {ranks}"
                );
                assert!(time <= before);
                before = time;
                let below = |rank| Shape::degree(&table, rank, ranks);
                assert_eq!((0..ranks).map(below).sum::<usize>(), ranks - 1);
            }
        }
    }
}

/// ECCLib's comparison: a tree is faster than the line, and a physical broadcast is faster than both, even with
/// retransmissions.
#[test]
fn broadcast_by_formula() {
    let net = Hockney {
        start: 60_000,
        kilobyte: 80_000,
        hop: 0,
    };
    let (bytes, others) = (1_000_000, 7);
    assert_eq!(net.broadcast_line(bytes, others), 7 * net.message(bytes, 1));
    assert_eq!(net.broadcast_tree(bytes, others), 3 * net.message(bytes, 1));
    assert!(net.broadcast_reliable(bytes, others, 1_000_000) < net.broadcast_tree(bytes, others));
    assert_eq!(net.broadcast_physical(bytes), net.message(bytes, 1));
    assert_eq!(net.barrier(8, false), 14 * net.start);
    assert_eq!(net.barrier(8, true), 6 * net.start);
    assert_eq!(net.fan(8, 3), 3 * net.message(8, 1));
}
