//! Rounds: links become worse and better, and the tree is adapted.

use crate::build::cases;
use crate::graph::{Graph, Random};
use crate::network::Network;
use pombo_collective::adaptive::{Kind, OUTGOING};

/// Changes what random ends measure, and tells the network.
fn change(graph: &mut Graph, network: &mut Network, random: &mut Random, percent: usize) {
    let values = [2, 10, 1_000_000][random.below(3)];
    for (&(low, high), weights) in graph.links.iter_mut() {
        let ends = [(low, high, &mut weights.0), (high, low, &mut weights.1)];
        for (at, neighbour, weight) in ends {
            if random.chance(percent) {
                *weight = random.below(values) as u64;
                let process = network.process(at);
                let link = process.link_to(neighbour).expect("a neighbour");
                process.set_weight(link, *weight).expect("a link");
            }
        }
    }
}

/// A network whose tree is built.
pub fn built(random: &mut Random, most: usize) -> (Graph, Network) {
    let graph = Graph::random(random, most);
    let number = graph.processes.len() as u32;
    let mut network = Network::new(&graph, number);
    network.start_all(random);
    network.run(random);
    (graph, network)
}

#[test]
fn adapted_tree_is_a_fresh_one() {
    for seed in 0..cases(1_000) {
        let mut random = Random::new(seed);
        let most = [6, 12, 32][random.below(3)];
        let (mut graph, mut network) = built(&mut random, most);
        for round in 1..=5 {
            let percent = [0, 3, 20, 100][random.below(4)];
            change(&mut graph, &mut network, &mut random, percent);
            network.all_in_any_order(&mut random, |process| {
                process.adapt();
            });
            network.run(&mut random);
            let tree = graph.minimum_spanning_tree();
            assert_eq!(network.tree(), tree, "seed {seed}, round {round}");
            for (&me, process) in &network.processes {
                let counters = process.counters();
                assert_eq!((counters.stale, counters.dropped), (0, 0), "seed {seed}");
                assert_eq!(counters.failures_settled, round + 1, "seed {seed}");
                assert_eq!(counters.recoveries_settled, round + 1, "seed {seed}");
                assert_eq!(process.round(), round, "seed {seed}");
                for link in process.links() {
                    let here = graph.measured(me, link.neighbour());
                    let there = graph.measured(link.neighbour(), me);
                    assert_eq!(link.weight(), here.max(there), "seed {seed}");
                }
            }
        }
        assert!(
            network.longest_queue <= OUTGOING,
            "{}",
            network.longest_queue
        );
    }
}

#[test]
fn round_without_changes_costs_one_pair_of_waves_for_each_detector() {
    for seed in 0..cases(500) {
        let mut random = Random::new(seed);
        let (_, mut network) = built(&mut random, 24);
        let before = totals(&network);
        network.all_in_any_order(&mut random, |process| {
            process.adapt();
        });
        network.run(&mut random);
        let links = network.tree().len() as u32;
        for (kind, (after, before)) in Kind::ALL
            .into_iter()
            .zip(totals(&network).into_iter().zip(before))
        {
            let expected = match kind {
                Kind::NotFail | Kind::NotFailAck | Kind::GoSleepFail => links,
                Kind::NotRec | Kind::NotRecAck | Kind::GoSleepRec => links,
                _ => 0,
            };
            assert_eq!(after - before, expected, "seed {seed}, {kind:?}");
        }
    }
}

fn totals(network: &Network) -> Vec<u32> {
    Kind::ALL.map(|kind| network.sent(kind)).to_vec()
}

/// Changes that leave the tree as it is need no search: a link outside the tree that becomes worse, or one of the tree
/// that becomes better.
#[test]
fn harmless_changes_cause_no_search() {
    for seed in 0..cases(500) {
        let mut random = Random::new(seed);
        let (graph, mut network) = built(&mut random, 24);
        let tree = graph.minimum_spanning_tree();
        let searched = network.sent(Kind::Test) + network.sent(Kind::Connect);
        for &(low, high) in graph.links.keys() {
            for (at, neighbour) in [(low, high), (high, low)] {
                let weight = graph.measured(at, neighbour);
                let weight = if tree.contains(&(low, high)) {
                    weight / 2
                } else {
                    weight + 7
                };
                let process = network.process(at);
                let link = process.link_to(neighbour).expect("a neighbour");
                process.set_weight(link, weight).expect("a link");
            }
        }
        network.all_in_any_order(&mut random, |process| {
            process.adapt();
        });
        network.run(&mut random);
        assert_eq!(network.tree(), tree, "seed {seed}");
        let after = network.sent(Kind::Test) + network.sent(Kind::Connect);
        assert_eq!(after, searched, "seed {seed}");
    }
}

/// One link outside the tree becomes better: only heavier links of its cycle leave, each of which is joined again by one
/// Connect or two; and none if it is still the heaviest.
#[test]
fn one_recovered_link_costs_its_cycle() {
    let mut broken = 0;
    for seed in 0..cases(1_000) {
        let mut random = Random::new(seed);
        let (mut graph, mut network) = built(&mut random, 24);
        let tree = graph.minimum_spanning_tree();
        let outside: Vec<_> = graph
            .links
            .keys()
            .filter(|pair| !tree.contains(pair))
            .copied()
            .collect();
        let Some(&(low, high)) = outside.get(random.below(outside.len().max(1))) else {
            continue;
        };
        let weights = graph.links[&(low, high)];
        let weight = random.below(1 + weights.0.max(weights.1) as usize) as u64;
        graph.links.insert((low, high), (weight, weight));
        for (at, neighbour) in [(low, high), (high, low)] {
            let process = network.process(at);
            let link = process.link_to(neighbour).expect("a neighbour");
            process.set_weight(link, weight).expect("a link");
        }
        let heavier = graph.path(&tree, low, high).into_iter().filter(|&pair| {
            let weights = graph.links[&pair];
            (weights.0.max(weights.1), pair) > (weight, (low, high))
        });
        let heavier = heavier.count() as u32;
        let before = (network.sent(Kind::Connect), network.sent(Kind::Recover));
        network.all_in_any_order(&mut random, |process| {
            process.adapt();
        });
        network.run(&mut random);
        let connects = network.sent(Kind::Connect) - before.0;
        assert!(
            (heavier..=2 * heavier).contains(&connects),
            "seed {seed}: {connects}, {heavier}"
        );
        let torn = network.sent(Kind::Recover) - before.1;
        assert_eq!(
            torn,
            if heavier > 0 { tree.len() as u32 } else { 0 },
            "seed {seed}"
        );
        assert_eq!(network.tree(), graph.minimum_spanning_tree(), "seed {seed}");
        broken += usize::from(heavier > 0);
    }
    assert!(broken > 100, "{broken}");
}
