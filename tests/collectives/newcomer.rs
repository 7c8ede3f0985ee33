//! A new topology of less than 20 lines works with every collective operation.

use crate::algorithms::on_topology;
use crate::any::Any;
use crate::case::Case;
use crate::channels::run_all;
use pombo_collective::topology::{Links, Topology};
use pombo_netdrivers::fault::SeededRng;

// From here
/// A wheel: rank 0 is the hub, the others are the rim, linked to it and to their neighbours.
#[derive(Clone, Copy)]
struct Wheel(usize);

impl Links for Wheel {
    fn ranks(&self) -> usize {
        self.0
    }

    fn toward(&self, from: usize, to: usize) -> usize {
        let apart = from.abs_diff(to);
        let linked = from == 0 || apart == 1 || apart == self.0 - 2;
        if linked { to } else { 0 }
    }
}
// to here.

#[test]
fn a_new_topology_is_short() {
    let source = include_str!("newcomer.rs");
    let (_, rest) = source.split_once("\n// From here\n").expect("it begins");
    let (topology, _) = rest.split_once("\n// to here.").expect("it ends");
    let lines = topology.lines().count();
    assert!(lines < 20, "{lines} lines");
    let wheel = Wheel(9);
    assert_eq!(
        [
            wheel.hops(0, 5),
            wheel.hops(3, 4),
            wheel.hops(1, 8),
            wheel.hops(2, 6)
        ],
        [1, 1, 1, 2]
    );
}

#[test]
fn a_new_topology_has_every_operation() {
    let mut rng = SeededRng::new(5);
    for ranks in 1..=17 {
        let mut algorithms = Vec::new();
        on_topology(&mut algorithms, "wheel", Any::of(Wheel(ranks)), &mut rng);
        let kinds = algorithms
            .iter()
            .map(|algorithm| format!("{:?}", algorithm.kind));
        assert_eq!(kinds.collect::<std::collections::BTreeSet<_>>().len(), 9);
        let cases = algorithms
            .into_iter()
            .map(|algorithm| Case::new(algorithm, ranks, &mut rng));
        let cases = cases.collect();
        run_all(ranks, cases, &mut rng);
    }
}
