//! The build of a tree.

use crate::graph::{Graph, Random};
use crate::network::Network;
use pombo_collective::adaptive::{Kind, OUTGOING};

/// Returns the number of graphs of a test: `PROPTEST_CASES`, from the usual one up to 20 times as many.
pub fn cases(usual: u64) -> u64 {
    let asked = std::env::var("PROPTEST_CASES");
    let asked = asked.ok().and_then(|text| text.parse().ok());
    asked.map_or(usual, |asked: u64| asked.clamp(usual, 20 * usual))
}

/// Ten thousand graphs of up to 32 processes.
#[test]
fn build_is_kruskals_tree() {
    let mut longest = 0;
    for seed in 0..cases(10_000) {
        let mut random = Random::new(seed);
        let most = [6, 12, 32][random.below(3)];
        let graph = Graph::random(&mut random, most);
        let number = graph.processes.len() as u32;
        let announced = if random.chance(50) { number } else { u32::MAX };
        let mut network = Network::new(&graph, announced);
        network.start_all(&mut random);
        network.run(&mut random);
        assert_eq!(network.tree(), graph.minimum_spanning_tree(), "seed {seed}");
        for process in network.processes.values() {
            let counters = process.counters();
            assert_eq!((counters.stale, counters.dropped), (0, 0), "seed {seed}");
            assert_eq!(counters.failures_settled, 1, "seed {seed}");
            assert_eq!(counters.recoveries_settled, 1, "seed {seed}");
            assert_eq!(process.members(), number, "seed {seed}");
        }
        // The published bound of the search, 2 links + 5 n log n.
        let search = [
            Kind::Connect,
            Kind::Initiate,
            Kind::Test,
            Kind::Accept,
            Kind::Reject,
        ]
        .into_iter()
        .chain([Kind::Report, Kind::ChangeRoot]);
        let sent: u32 = search.map(|kind| network.sent(kind)).sum();
        let logarithm = f64::from(number).log2();
        let bound = 2.0 * graph.links.len() as f64 + 5.0 * f64::from(number) * logarithm;
        assert!(
            f64::from(sent) <= bound,
            "seed {seed}: {sent} above {bound}"
        );
        longest = longest.max(network.longest_queue);
    }
    // Transports that seldom take messages made some wait.
    assert!((2..=OUTGOING).contains(&longest), "{longest}");
}
