//! Numbers of messages on complete graphs, where a search of all links would cost most.

use crate::graph::{Graph, Random};
use crate::network::Network;
use pombo_collective::adaptive::Kind;

fn all_sent(network: &Network) -> u32 {
    Kind::ALL.iter().map(|&kind| network.sent(kind)).sum()
}

/// Sets what both ends of a link measure, and adapts. Returns the number of messages.
fn round(
    graph: &mut Graph,
    network: &mut Network,
    random: &mut Random,
    pair: (u32, u32),
    weight: u64,
) -> u32 {
    let before = all_sent(network);
    graph.links.insert(pair, (weight, weight));
    for (at, neighbour) in [pair, (pair.1, pair.0)] {
        let process = network.process(at);
        let link = process.link_to(neighbour).expect("a neighbour");
        process.set_weight(link, weight).expect("a link");
    }
    network.all_in_any_order(random, |process| {
        process.adapt();
    });
    network.run(random);
    assert_eq!(network.tree(), graph.minimum_spanning_tree());
    all_sent(network) - before
}

#[test]
fn a_change_costs_less_than_a_build() {
    let (mut builds, mut failures, mut recoveries) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let mut graph = Graph::complete(&mut random, 24);
        let mut network = Network::new(&graph, 24);
        network.start_all(&mut random);
        network.run(&mut random);
        builds.push(all_sent(&network));
        let tree = graph.minimum_spanning_tree();
        let inside = *tree.iter().nth(random.below(tree.len())).expect("a link");
        failures.push(round(
            &mut graph,
            &mut network,
            &mut random,
            inside,
            2_000_000,
        ));
        let tree = graph.minimum_spanning_tree();
        let mut outside = graph
            .links
            .keys()
            .filter(|pair| !tree.contains(pair))
            .copied();
        let outside = outside.nth(random.below(200)).expect("a link");
        recoveries.push(round(&mut graph, &mut network, &mut random, outside, 0));
    }
    for numbers in [&mut builds, &mut failures, &mut recoveries] {
        numbers.sort_unstable();
    }
    let middle = |numbers: &[u32]| numbers[numbers.len() / 2];
    assert!(
        2 * middle(&failures) < middle(&builds),
        "{failures:?}, {builds:?}"
    );
    assert!(
        3 * middle(&recoveries) < middle(&builds),
        "{recoveries:?}, {builds:?}"
    );
}
