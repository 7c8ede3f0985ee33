//! Tests the cost models: the published example, and the computed tree against the best possible time.

use pombo_collective::model::{Hockney, Hold, Multicast, Optimal, OptimalTree, Split};
use pombo_collective::topology::{Binomial, Blocked, Chain, Kary, Rooted, Sequential, Shape, Tree};
use pombo_netdrivers::fault::SeededRng;
use proptest::prelude::*;
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

/// One tree as every rank's parent, which serves its children in the order of their numbers here.
fn latency_of(times: Hold, parents: &[usize]) -> u64 {
    let mut served = vec![0; parents.len() + 1];
    let mut arrival = vec![0; parents.len() + 1];
    for (child, &parent) in (1..).zip(parents) {
        arrival[child] = arrival[parent] + served[parent] * times.hold + times.end;
        served[parent] += 1;
    }
    arrival.into_iter().max().unwrap_or(0)
}

/// Calls with every tree over so many ranks: each rank has a parent of a lower number, and serves its children in the
/// order of their numbers. Every ordered tree is among them.
fn every_tree(ranks: usize, mut call: impl FnMut(&[usize])) {
    let mut parents = vec![0; ranks - 1];
    loop {
        call(&parents);
        let Some(last) = (0..ranks - 1).rposition(|index| parents[index] < index) else {
            return;
        };
        parents[last] += 1;
        parents[last + 1..].fill(0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_best_of_all_trees(hold in 0_u64..60, end in 0_u64..60, ranks in 1_usize..=9) {
        let times = Hold { hold, end };
        let mut least = u64::MAX;
        every_tree(ranks, |parents| least = least.min(latency_of(times, parents)));
        let mut memory = [Split::ALONE; 10];
        let tree = OptimalTree::new(times, &mut memory);
        prop_assert_eq!(tree.latency(ranks), least);
        prop_assert_eq!(times.multicast(tree, ranks).latency, least);
    }
}

/// The published recurrence in time k^2, with or without the time of the last send, by the table of all splits.
fn quadratic(times: Hold, ranks: usize, charges_the_last: bool) -> Vec<u64> {
    let mut time = vec![0; ranks + 1];
    for ranks in 2..=ranks {
        let split = |keep: usize| {
            let here = match keep {
                1 if !charges_the_last => 0,
                _ => time[keep] + times.hold,
            };
            here.max(time[ranks - keep] + times.end)
        };
        time[ranks] = (1..ranks).map(split).min().expect("two ranks or more");
    }
    time
}

#[test]
fn two_candidates_are_enough() {
    const MOST: usize = 4096;
    for (hold, end) in [
        (0, 0),
        (0, 7),
        (1, 1),
        (2, 5),
        (7, 9),
        (1, 1000),
        (333, 1000),
        (1000, 1001),
    ] {
        let times = Hold { hold, end };
        let mut memory = vec![Split::ALONE; MOST + 1];
        let tree = OptimalTree::new(times, &mut memory);
        let published = quadratic(times, MOST, true);
        for (ranks, time) in (1..).zip(&published[1..]) {
            assert_eq!(tree.latency(ranks), *time, "{times:?}, {ranks} ranks");
        }
    }
    for (hold, end) in [(5, 2), (1, 0), (1000, 999), (1000, 1), (60, 59)] {
        let times = Hold { hold, end };
        let mut memory = vec![Split::ALONE; 1025];
        let tree = OptimalTree::new(times, &mut memory);
        let corrected = quadratic(times, 1024, false);
        for (ranks, time) in (1..).zip(&corrected[1..]) {
            assert_eq!(tree.latency(ranks), *time, "{times:?}, {ranks} ranks");
        }
        // The published form charges a send that nobody waits for.
        assert!(quadratic(times, 3, true)[2] > tree.latency(2), "{times:?}");
    }
}

/// The tree of a table that is computed at run time is the one of the constant.
#[test]
fn a_table_at_run_time() {
    for ports in [0, 1, 2, 3] {
        let table = Optimal::<65>::with_ports(PAPER, ports);
        let mut memory = [Split::ALONE; 65];
        let tree = OptimalTree::with_ports(PAPER, ports, &mut memory);
        for ranks in 1..65 {
            assert_eq!(tree.latency(ranks), table.latency(ranks));
            let told = PAPER.multicast_with_ports(tree, ranks, ports);
            assert_eq!(told, PAPER.multicast_with_ports(&table, ranks, ports));
            assert_eq!(
                told.latency,
                best(PAPER, ranks, ports.max(1)),
                "{ports} ports, {ranks}"
            );
        }
    }
}

#[test]
fn the_best_tree_is_at_most_all_others() {
    let mut rng = SeededRng::new(5);
    for _ in 0..60 {
        let times = Hold {
            hold: rng.below(30),
            end: rng.below(30),
        };
        let mut memory = [Split::ALONE; 65];
        let tree = OptimalTree::new(times, &mut memory);
        for ranks in 1..=64 {
            let least = times.multicast(tree, ranks).latency;
            let [flat, binomial] = [
                times.multicast(Sequential, ranks),
                times.multicast(Binomial, ranks),
            ];
            let blocked = |block| times.multicast(Blocked { block }, ranks);
            assert_eq!(blocked(ranks), flat);
            // Beyond a power of two the blocked tree hangs the ranks that are left over below the first ones.
            if ranks.is_power_of_two() {
                assert_eq!(blocked(1), binomial);
            }
            let others = [flat, binomial, times.multicast(Chain, ranks)];
            let binary = times.multicast(Kary::<2>, ranks);
            for other in others
                .into_iter()
                .chain([binary])
                .chain((1..=ranks).map(blocked))
            {
                assert!(least <= other.latency, "{times:?}, {ranks} ranks");
            }
        }
    }
}

/// MPI-F's tree for nine ranks in blocks of three: rank 8 is the last one, and its message comes by rank 2.
#[test]
fn the_published_blocked_binomial_in_time() {
    let arrival = |rank| PAPER.arrival(Blocked { block: 3 }, 9, rank);
    let all = [0, 7, 9, 5, 10, 12, 11, 12, 14];
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8].map(arrival), all);
}

/// Times beyond what a number holds are the largest number.
#[test]
fn times_do_not_overflow() {
    let times = Hold {
        hold: u64::MAX,
        end: u64::MAX,
    };
    let mut memory = [Split::ALONE; 10];
    let tree = OptimalTree::new(times, &mut memory);
    assert_eq!(tree.latency(9), u64::MAX);
    assert_eq!(times.multicast(Chain, 9).latency, u64::MAX);
}

const NET: Hockney = Hockney {
    start: 60_000,
    kilobyte: 80_000,
    hop: 500,
};

#[test]
fn messages_by_formula() {
    assert_eq!(NET.message(1000, 1), 140_000);
    assert_eq!(NET.message(1000, 4), 141_500);
    assert_eq!(NET.message_shared(1000, 1), NET.message(1000, 1));
    assert_eq!(NET.message_shared(1000, 5), 60_000 + 5 * 80_000);
}

/// ECCLib's comparison: a tree is faster than the line, and a physical broadcast is faster than both, even with
/// retransmissions.
#[test]
fn broadcast_by_formula() {
    let (bytes, nodes) = (1_000_000, 8);
    let message = NET.message(bytes, 1);
    assert_eq!(NET.broadcast_line(bytes, nodes), 8 * message);
    assert_eq!(NET.broadcast_tree(bytes, nodes), 3 * message);
    assert_eq!(NET.broadcast_tree(bytes, 1), 0);
    assert_eq!(NET.broadcast_tree_one_port(bytes, nodes), 6 * message);
    assert_eq!(NET.broadcast_physical(bytes), message);
    let reliable = NET.broadcast_reliable(bytes, nodes, 1_000_000);
    assert_eq!(reliable, 8 * 60_000 + 80_000_000 + 1_000_000);
    assert!(reliable < NET.broadcast_tree(bytes, nodes));
}

/// F(K, M): the published table, and the closed form against the sum.
#[test]
fn the_volume_of_a_scatter() {
    let volume = |nodes| Hockney::tree_volume(nodes, 10);
    assert_eq!([1, 3, 7, 15, 31].map(volume), [0, 20, 80, 220, 520]);
    for levels in 1..20 {
        let sum: u64 = (0..levels).map(|level| 2 * ((1 << level) - 1) * 10).sum();
        assert_eq!(volume((1 << levels) - 1), sum);
    }
}

#[test]
fn scatter_by_formula() {
    let (bytes, nodes) = (7000, 7);
    assert_eq!(NET.scatter_line(bytes, nodes), 7 * (60_000 + 80_000));
    assert_eq!(
        NET.scatter_tree_one_port(bytes, nodes),
        6 * 60_000 + 8 * 80_000
    );
    assert_eq!(
        NET.scatter_tree_one_port_roughly(bytes, nodes),
        6 * 60_000 + 12 * 80_000
    );
    assert_eq!(
        NET.scatter_tree_roughly(bytes, nodes),
        3 * 60_000 + 6 * 80_000
    );
    assert_eq!(NET.scatter_physical(bytes, nodes), 7 * 60_000 + 7 * 80_000);
    for nodes in [1, 3, 7, 15, 31, 63] {
        let exact = NET.scatter_tree_one_port(bytes, nodes);
        assert!(
            exact <= NET.scatter_tree_one_port_roughly(bytes, nodes),
            "{nodes}"
        );
    }
}

#[test]
fn reductions_and_barriers_by_formula() {
    let (bytes, nodes, operation) = (7000, 7, 900);
    let gather = NET.scatter_line(bytes, nodes);
    assert_eq!(Hockney::reduce_gather(gather, 7 * operation), gather + 6300);
    assert_eq!(NET.reduce_chain(bytes, nodes, operation), 6 * 140_900);
    assert_eq!(NET.reduce_tree(bytes, nodes, operation), 2 * 140_900);
    assert_eq!(NET.barrier_ring(8), 8 * 60_000);
    assert_eq!(NET.barrier_line(8), 14 * 60_000);
    assert_eq!(NET.barrier_butterfly(8), 6 * 60_000);
    let (gather, broadcast) = (NET.scatter_line(0, 7), NET.broadcast_line(0, 7));
    assert_eq!(
        Hockney::barrier_gather_broadcast(gather, broadcast),
        NET.barrier_line(8)
    );
}
