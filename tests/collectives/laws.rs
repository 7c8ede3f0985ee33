//! The laws of every topology and every tree.

use crate::any::{Any, AnyTree, shapes, topologies};
use pombo_collective::topology::*;
use pombo_netdrivers::fault::SeededRng;

const RANKS: std::ops::RangeInclusive<usize> = 1..=17;

#[test]
fn a_line_names_everybody_else_once() {
    for (name, topology) in RANKS.flat_map(topologies) {
        let ranks = topology.ranks();
        for root in 0..ranks {
            let line: Vec<_> = topology.line(root).collect();
            let mut sorted = line.clone();
            sorted.sort_unstable();
            let others: Vec<_> = (0..ranks).filter(|&rank| rank != root).collect();
            assert_eq!(sorted, others, "{name} of {ranks}, root {root}: {line:?}");
        }
    }
}

#[test]
fn a_circle_names_everybody_once() {
    for (name, topology) in RANKS.flat_map(topologies) {
        for rank in 0..topology.ranks() {
            assert_eq!(topology.at(topology.place(rank)), rank, "{name}: {rank}");
            assert_eq!(topology.place(topology.at(rank)), rank, "{name}: {rank}");
            let circle = Circle::new(topology, rank);
            let mut turns: Vec<_> = circle.turns().map(|(to, _)| to).collect();
            turns.sort_unstable();
            let others: Vec<_> = (0..topology.ranks())
                .filter(|&other| other != rank)
                .collect();
            assert_eq!(turns, others, "{name}");
            for (to, from) in circle.turns() {
                let back = Circle::new(topology, to)
                    .turns()
                    .any(|(_, sender)| sender == rank);
                assert!(back, "{name}: {rank} sends to {to}, which does not listen");
                assert_ne!(from, rank);
            }
        }
    }
}

#[test]
fn ways_end_and_hops_count_them() {
    for (name, topology) in RANKS.flat_map(topologies) {
        let ranks = topology.ranks();
        for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
            let (mut at, mut hops) = (from, 0);
            while at != to {
                at = topology.toward(at, to);
                hops += 1;
                assert!(
                    at < ranks && hops < ranks,
                    "{name} of {ranks}: {from} to {to}"
                );
            }
            assert_eq!(topology.hops(from, to), hops, "{name}: {from} to {to}");
        }
    }
}

/// Checks that every rank's view agrees with its parent's and its children's, and that every rank is below the root.
fn check_tree(name: &str, ranks: usize, root: usize, tree: impl Fn(usize) -> AnyTree) {
    for rank in 0..ranks {
        let own = tree(rank);
        assert_eq!(own.parent().is_none(), rank == root, "{name} of {ranks}");
        for child in own.children() {
            let parent = tree(child).parent();
            assert_eq!(
                parent,
                Some(rank),
                "{name} of {ranks}, root {root}: {child}"
            );
        }
        if let Some(parent) = own.parent() {
            let siblings: Vec<_> = tree(parent).children().collect();
            let named = siblings.iter().filter(|&&sibling| sibling == rank).count();
            assert_eq!(
                named, 1,
                "{name} of {ranks}, root {root}: {rank} in {siblings:?}"
            );
        }
        let (mut at, mut depth) = (rank, 0);
        while let Some(parent) = tree(at).parent() {
            at = parent;
            depth += 1;
            assert!(depth < ranks, "{name} of {ranks}: a circle");
        }
        assert_eq!(at, root);
        let mut backwards: Vec<_> = own.children().rev().collect();
        backwards.reverse();
        assert_eq!(backwards, own.children().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn trees_of_topologies_are_trees() {
    for (name, topology) in RANKS.flat_map(topologies) {
        for root in 0..topology.ranks() {
            check_tree(&name, topology.ranks(), root, |rank| {
                topology.tree(rank, root)
            });
        }
    }
}

#[test]
fn shapes_are_trees() {
    for ranks in RANKS {
        for root in 0..ranks {
            for (index, (name, ..)) in shapes(0, ranks, root).into_iter().enumerate() {
                let tree = |rank| shapes(rank, ranks, root).swap_remove(index).1;
                check_tree(&name, ranks, root, tree);
            }
        }
    }
}

/// Returns all ranks below a rank, itself included.
fn below(tree: &impl Fn(usize) -> AnyTree, rank: usize) -> Vec<usize> {
    let children: Vec<_> = tree(rank).children().collect();
    let more = children.into_iter().flat_map(|child| below(tree, child));
    [rank].into_iter().chain(more).collect()
}

#[test]
fn spans_are_subtrees_and_follow_their_parent() {
    for ranks in RANKS {
        for root in 0..ranks {
            for (index, (name, _, ordered)) in shapes(0, ranks, root).into_iter().enumerate() {
                let tree = |rank| shapes(rank, ranks, root).swap_remove(index).1;
                for rank in (0..ranks).filter(|_| ordered) {
                    let span = tree(rank).rank_range(rank);
                    let runs = span.runs().flat_map(|(first, len)| first..first + len);
                    let told: Vec<_> = runs.collect();
                    let mut next = rank + 1;
                    for child in tree(rank).children().rev() {
                        assert_eq!(child, next % ranks, "{name} of {ranks}: below {rank}");
                        next += tree(rank).rank_range(child).len();
                    }
                    assert_eq!(next, rank + span.len(), "{name} of {ranks}: {rank}");
                    let mut found = below(&tree, rank);
                    found.sort_unstable_by_key(|&r| (r + ranks - rank) % ranks);
                    assert_eq!(told, found, "{name} of {ranks}, root {root}: {rank}");
                }
            }
        }
    }
}

/// Returns a network's metrics by counting: links are the pairs of ranks one hop apart.
fn counted(topology: Any) -> (usize, usize) {
    let ranks = topology.ranks();
    let pairs = || (0..ranks).flat_map(|a| (0..a).map(move |b| (a, b)));
    let diameter = pairs().map(|(a, b)| topology.hops(a, b)).max();
    let links = pairs().filter(|&(a, b)| topology.hops(a, b) == 1).count();
    (diameter.unwrap_or(0), links)
}

/// Returns the number of links that must be cut to halve a network, by trying every half.
fn cut(topology: Any) -> usize {
    let ranks = topology.ranks();
    let halves = (0_u32..1 << ranks).filter(|half| half.count_ones() as usize == ranks / 2);
    let crossing = |half: u32| {
        let inside = |rank: usize| half >> rank & 1 == 1;
        let pairs = (0..ranks).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs
            .filter(|&(a, b)| topology.hops(a, b) == 1 && inside(a) != inside(b))
            .count()
    };
    halves.map(crossing).min().unwrap_or(0)
}

/// Returns the least number of links of a rank, which is the connectivity of these networks.
fn thinnest(topology: Any) -> usize {
    let ranks = topology.ranks();
    let degree = |a| {
        (0..ranks)
            .filter(|&b| a != b && topology.hops(a, b) == 1)
            .count()
    };
    (0..ranks).map(degree).min().unwrap_or(0)
}

fn check_figures<T: Topology + 'static>(topology: T, figures: NetworkMetrics, halves: bool) {
    let any = Any::of(topology);
    let ranks = any.ranks();
    assert_eq!((figures.diameter, figures.cost), counted(any), "{ranks}");
    assert_eq!(figures.connectivity, thinnest(any), "{ranks}");
    if halves {
        assert_eq!(figures.bisection, cut(any), "{ranks}");
    }
}

#[test]
fn figures_are_what_counting_finds() {
    for n in 1..=14 {
        check_figures(Linear::new(n), Linear::new(n).metrics(), n > 1);
        check_figures(Ring::new(n), Ring::new(n).metrics(), n > 1);
        check_figures(Complete::new(n), Complete::new(n).metrics(), true);
        check_figures(Star::new(n), Star::new(n).metrics(), true);
        let (one, two, three) = (
            TreeNetwork::<1>::new(n),
            TreeNetwork::<2>::new(n),
            TreeNetwork::<3>::new(n),
        );
        check_figures(one, one.metrics(), false);
        check_figures(two, two.metrics(), false);
        check_figures(three, three.metrics(), false);
    }
    for dimensions in 0..=4 {
        let cube = Hypercube::new(dimensions);
        check_figures(cube, cube.metrics(), dimensions < 4);
    }
    for (rows, columns) in (1..=4).flat_map(|rows| (1..=4).map(move |columns| (rows, columns))) {
        let halves = rows * columns <= 12 && rows.max(columns) % 2 == 0;
        let (mesh, torus) = (Mesh::new([rows, columns]), Torus::new([rows, columns]));
        check_figures(mesh, mesh.metrics(), halves);
        check_figures(torus, torus.metrics(), halves);
        let (mesh, torus) = (
            Mesh::new([rows, 2, columns]),
            Torus::new([rows, 2, columns]),
        );
        check_figures(mesh, mesh.metrics(), false);
        check_figures(torus, torus.metrics(), false);
    }
    // Every rank receives from the medium, so links between pairs have no meaning.
    let shared = NetworkMetrics {
        diameter: 1,
        connectivity: 1,
        bisection: 1,
        cost: 1,
    };
    assert_eq!(Bus::new(5).metrics(), shared);
}

#[test]
fn neighbours_on_the_circle_are_neighbours_in_the_network() {
    let far = |topology: Any| {
        let steps = (1..topology.ranks()).map(|place| (topology.at(place - 1), topology.at(place)));
        steps.filter(|&(a, b)| topology.hops(a, b) > 1).count()
    };
    assert_eq!(far(Any::of(Mesh::new([3, 4]))), 0);
    assert_eq!(far(Any::of(Mesh::new([3, 5, 2]))), 0);
    assert_eq!(far(Any::of(Torus::new([4, 3, 3]))), 0);
    assert_eq!(far(Any::of(Hypercube::new(5))), 0);
    assert_eq!(far(Any::of(Ring::new(9))), 0);
}

#[test]
fn a_composition_has_one_lower_topology_for_every_node() {
    let rings = [Ring::new(4), Ring::new(2)];
    assert!(Nested::new(Linear::new(3), &rings).is_none());
    assert_eq!(
        Nested::new(Linear::new(2), &rings).map(|both| both.ranks()),
        Some(6)
    );
}

/// Any map of sites gives a tree in which only the root sends to another site, once to each.
#[test]
fn two_levels_are_trees() {
    let mut rng = SeededRng::new(17);
    for ranks in RANKS {
        for root in 0..ranks {
            let sites = 1 + rng.index(5);
            let site_of: Vec<usize> = (0..ranks).map(|_| 10 * rng.index(sites)).collect();
            let tree = |rank| TwoLevel::new(&site_of, rank, root);
            let name = format!("two levels {site_of:?}");
            let erased: &'static [usize] = site_of.clone().leak();
            check_tree(&name, ranks, root, |rank| {
                AnyTree::of(TwoLevel::new(erased, rank, root))
            });
            let mut reached: Vec<usize> =
                tree(root).children().map(|child| site_of[child]).collect();
            reached.retain(|site| *site != site_of[root]);
            let mut others = site_of.clone();
            others.retain(|site| *site != site_of[root]);
            others.sort_unstable();
            others.dedup();
            reached.sort_unstable();
            assert_eq!(reached, others, "{name}, root {root}");
            for rank in (0..ranks).filter(|rank| *rank != root) {
                let mut children = tree(rank).children();
                assert!(
                    children.all(|child| site_of[child] == site_of[rank]),
                    "{name}"
                );
            }
        }
    }
}
