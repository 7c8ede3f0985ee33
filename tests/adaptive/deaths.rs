//! Processes that die.

use crate::build::cases;
use crate::changes::built;
use crate::graph::{Graph, Random};
use crate::network::Network;
use std::collections::BTreeSet;

/// Kills a process: what it has sent arrives, all who have a link to it learn of it in any order after that.
pub fn kill(graph: &mut Graph, network: &mut Network, random: &mut Random, victim: u32) {
    let neighbours: Vec<u32> = network
        .process(victim)
        .links()
        .iter()
        .map(|link| link.neighbour())
        .collect();
    network.processes.remove(&victim);
    graph.remove(victim);
    let mut left = neighbours;
    while !left.is_empty() {
        let neighbour = left.swap_remove(random.below(left.len()));
        for _ in 0..random.below(8) {
            network.step(random);
        }
        if let Some(process) = network.processes.get_mut(&neighbour) {
            let link = process.link_to(victim).expect("a neighbour");
            process.link_lost(link).expect("a live link");
            network.collect(neighbour);
        }
    }
}

/// At any moment of a build or a round up to three processes die: the others get the tree of those that are left, or of
/// the part of the graph that they are in, and none waits for ever.
#[test]
fn survivors_get_a_tree() {
    let mut apart = 0;
    for seed in 0..cases(1_000) {
        let mut random = Random::new(seed);
        let (mut graph, mut network) = if random.chance(50) {
            built(&mut random, 16)
        } else {
            let graph = Graph::random(&mut random, 16);
            let announced = graph.processes.len() as u32;
            let mut network = Network::new(&graph, announced);
            network.start_all(&mut random);
            (graph, network)
        };
        let mut asked = 0;
        for _ in 0..1 + random.below(3) {
            let Some(&victim) = graph
                .processes
                .get(random.below(graph.processes.len().max(1)))
            else {
                break;
            };
            if random.chance(70) {
                asked += 1;
                for (&number, process) in network.processes.iter_mut() {
                    for link in 0..process.links().len() {
                        let neighbour = process.links()[link].neighbour();
                        if random.chance(10) && !process.links()[link].is_lost() {
                            let weight = random.below(10) as u64;
                            process.set_weight(link, weight).expect("a live link");
                            let weights = graph
                                .links
                                .get_mut(&crate::graph::pair(number, neighbour))
                                .expect("a link");
                            *(if number < neighbour {
                                &mut weights.0
                            } else {
                                &mut weights.1
                            }) = weight;
                        }
                    }
                }
                network.all_in_any_order(&mut random, |process| {
                    process.adapt();
                });
            }
            for _ in 0..random.below(300) {
                network.step(&mut random);
            }
            kill(&mut graph, &mut network, &mut random, victim);
            for _ in 0..random.below(100) {
                network.step(&mut random);
            }
        }
        network.run(&mut random);
        let agreed = network.agreed();
        assert!(agreed.links.keys().eq(graph.links.keys()), "seed {seed}");
        assert_eq!(
            network.tree(),
            agreed.minimum_spanning_tree(),
            "seed {seed}"
        );
        let parts: BTreeSet<_> = graph
            .processes
            .iter()
            .map(|&p| graph.reachable(p))
            .collect();
        apart += usize::from(parts.len() > 1);
        for (&number, process) in &network.processes {
            assert_eq!(
                process.members() as usize,
                graph.reachable(number).len(),
                "seed {seed}"
            );
            assert!(process.round() <= asked, "seed {seed}");
            assert_eq!(process.counters().dropped, 0, "seed {seed}");
        }
        // A round after it works as before, and knows all weights.
        network.all_in_any_order(&mut random, |process| {
            process.adapt();
        });
        network.run(&mut random);
        assert_eq!(network.tree(), graph.minimum_spanning_tree(), "seed {seed}");
    }
    assert!(apart > 0, "no graph fell apart");
}
