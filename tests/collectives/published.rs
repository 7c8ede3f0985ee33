//! The tables and figures of the papers. Sources: the EPOS thesis, sections 2.2 and 4.4 (where ranks count from 1);
//! parameterised multicast trees.

use pombo_collective::topology::*;
use pombo_collective::{self as collective, Buffer, Distributor, Piece, Step};

fn from_one(ranks: impl Iterator<Item = usize>) -> Vec<usize> {
    ranks.map(|rank| rank + 1).collect()
}

/// Checks figure 4.2: from host 7 to host 2 on a ring of eight it is 3 hops to the right and 5 to the left.
#[test]
fn the_ring_takes_the_shorter_way() {
    let ring = Ring::new(8);
    let mut way = vec![7];
    while way[way.len() - 1] != 2 {
        way.push(ring.toward(way[way.len() - 1] - 1, 2 - 1) + 1);
    }
    assert_eq!(way, [7, 8, 1, 2]);
    assert_eq!((ring.hops(6, 1), ring.ranks() - ring.hops(6, 1)), (3, 5));
}

/// Checks figure 4.3.
#[test]
fn the_order_of_scatter() {
    assert_eq!(from_one(Ring::new(8).line(0)), [5, 6, 4, 7, 3, 8, 2]);
    assert_eq!(from_one(Linear::new(8).line(0)), [8, 7, 6, 5, 4, 3, 2]);
    for (steps, order) in [
        (
            sends(collective::scatter(
                Ring::new(8),
                0,
                0,
                Distributor::Ascending,
            )),
            [4, 5, 3, 6, 2, 7, 1],
        ),
        (
            sends(collective::scatter(
                Linear::new(8),
                0,
                0,
                Distributor::Ascending,
            )),
            [7, 6, 5, 4, 3, 2, 1],
        ),
    ] {
        assert_eq!(steps, order);
    }
}

/// Checks figure 4.4: a line of hosts each of which is a ring. Every host is replaced by its ranks in the order of a
/// ring.
#[test]
fn rings_in_a_line() {
    let rings = [Ring::new(4); 3];
    let both = Nested::new(Linear::new(3), &rings).unwrap();
    // Host 2 is the farthest: ranks 8 to 11, the opposite one first, the one at the line last; then host 1; then the
    // other ranks of the root's own ring.
    let line: Vec<_> = both.line(0).collect();
    assert_eq!(line, [10, 11, 9, 8, 6, 7, 5, 4, 2, 3, 1]);
    // From the middle the two sides alternate.
    let line: Vec<_> = both.line(5).collect();
    assert_eq!(line, [10, 11, 9, 8, 2, 3, 1, 0, 7, 4, 6]);
    assert_eq!(both.hops(10, 2), 2 + 2 + 2);
}

/// Checks section 2.2. Two entries of the thesis differ: it prints the diameter of a line as N/2, which is the distance
/// from its middle, and the cost of a hypercube as d, which is the number of links of one host.
#[test]
fn figures_of_the_basic_topologies() {
    let of = |diameter, connectivity, bisection, cost| NetworkMetrics {
        diameter,
        connectivity,
        bisection,
        cost,
    };
    for n in [4, 8, 16, 64] {
        assert_eq!(Linear::new(n).metrics(), of(n - 1, 1, 1, n - 1));
        let middle = (0..n).map(|end| Linear::new(n).hops(n / 2, end)).max();
        assert_eq!(middle, Some(n / 2));
        assert_eq!(Ring::new(n).metrics(), of(n / 2, 2, 2, n));
        assert_eq!(
            Complete::new(n).metrics(),
            of(1, n - 1, n * n / 4, n * (n - 1) / 2)
        );
    }
    for k in [4, 6, 8] {
        assert_eq!(
            Mesh::new([k, k]).metrics(),
            of(2 * (k - 1), 2, k, 2 * k * (k - 1))
        );
        assert_eq!(Torus::new([k, k]).metrics(), of(k, 4, 2 * k, 2 * k * k));
    }
    for d in 1..=6 {
        let (cube, n) = (Hypercube::new(d), 1 << d);
        let d = d as usize;
        assert_eq!(cube.metrics(), of(d, d, n / 2, d * n / 2));
        assert_eq!(cube.partners(0).count(), d);
    }
}

fn sends(steps: impl Iterator<Item = Step>) -> Vec<usize> {
    let to = |step| match step {
        Step::Send { to, .. } => Some(to),
        _ => None,
    };
    steps.filter_map(to).collect()
}

fn receives(steps: impl Iterator<Item = Step>) -> Vec<usize> {
    let from = |step| match step {
        Step::Receive { from, .. } => Some(from),
        _ => None,
    };
    steps.filter_map(from).collect()
}

/// The behaviour of the root and of the other ranks.
#[derive(PartialEq, Eq, Debug)]
enum Direction {
    /// The root sends; the others receive and may forward.
    Straight,
    Reverse,
    Bidirectional,
}

fn direction<S: Iterator<Item = Step>>(steps: impl Fn(usize) -> S) -> Direction {
    let (sends, receives) = (sends(steps(0)).len(), receives(steps(0)).len());
    match (sends > 0, receives > 0) {
        (true, false) => Direction::Straight,
        (false, true) => Direction::Reverse,
        _ => Direction::Bidirectional,
    }
}

/// Checks tables 4.1 to 4.3 (operation, topology, direction) against the partners of each rank.
#[test]
fn operations_have_a_topology_and_a_direction() {
    const N: usize = 8;
    let net = Hypercube::new(3);
    let line: Vec<_> = net.line(0).collect();
    let children: Vec<_> = net.tree(0, 0).children().collect();
    let backwards: Vec<_> = net.tree(0, 0).children().rev().collect();

    let broadcast = |rank| collective::broadcast(net.tree(rank, 0), 1);
    assert_eq!(direction(broadcast), Direction::Straight);
    assert_eq!(sends(broadcast(0)), children);

    let gather = |rank| collective::gather(net, rank, 0, Distributor::Ascending);
    assert_eq!(direction(gather), Direction::Reverse);
    assert_eq!(receives(gather(0)), line);

    let scatter = |rank| collective::scatter(net, rank, 0, Distributor::Ascending);
    assert_eq!(direction(scatter), Direction::Straight);
    assert_eq!(sends(scatter(0)), line);

    let reduce = |rank| collective::reduce(net.tree(rank, 0), 1);
    assert_eq!(direction(reduce), Direction::Reverse);
    assert_eq!(receives(reduce(0)), backwards);

    // The circle is the closed line: every rank sends to its successor and receives from its predecessor.
    let allgather = |rank| collective::allgather(Circle::new(net, rank));
    assert_eq!(direction(allgather), Direction::Bidirectional);
    for rank in 0..N {
        let circle = Circle::new(net, rank);
        assert_eq!(sends(allgather(rank)), [circle.behind(1); N - 1]);
        assert_eq!(receives(allgather(rank)), [circle.before(1); N - 1]);
    }

    // These are N broadcasts in shifted order: in no step do two ranks send to the same rank.
    let alltoall = |rank| collective::alltoall(Circle::new(net, rank), 1);
    assert_eq!(direction(alltoall), Direction::Bidirectional);
    for turn in 0..N - 1 {
        let mut targets: Vec<_> = (0..N).map(|rank| sends(alltoall(rank))[turn]).collect();
        targets.sort_unstable();
        assert_eq!(targets, (0..N).collect::<Vec<_>>());
    }

    // Combinations are: barrier = gather + broadcast, all-reduce = reduce + broadcast, reduce-scatter = reduce +
    // scatter.
    for rank in 0..N {
        let barrier = || collective::barrier(net, rank);
        assert_eq!(
            sends(barrier()),
            [sends(gather(rank)), sends(broadcast(rank))].concat()
        );
        assert_eq!(
            receives(barrier()),
            [receives(gather(rank)), receives(broadcast(rank))].concat()
        );
        let allreduce = || collective::allreduce(net.tree(rank, 0), 1);
        assert_eq!(
            sends(allreduce()),
            [sends(reduce(rank)), sends(broadcast(rank))].concat()
        );
        let both = || collective::reduce_scatter(net.tree(rank, 0), net, rank);
        assert_eq!(
            sends(both()),
            [sends(reduce(rank)), sends(scatter(rank))].concat()
        );
        assert_eq!(
            receives(both()),
            [receives(reduce(rank)), receives(scatter(rank))].concat()
        );
    }
}

/// Checks that the network changes only the order of partners, never the messages.
#[test]
fn the_network_changes_the_order_alone() {
    let sorted = |steps: Vec<usize>| {
        let mut steps = steps;
        steps.sort_unstable();
        steps
    };
    let on = |steps: Vec<usize>| sorted(steps);
    let slices = Distributor::Ascending;
    let line = on(sends(collective::scatter(Linear::new(8), 0, 0, slices)));
    assert_eq!(
        line,
        on(sends(collective::scatter(Ring::new(8), 0, 0, slices)))
    );
    assert_eq!(
        line,
        on(sends(collective::scatter(Torus::new([2, 4]), 0, 0, slices)))
    );
}

/// Checks that ECCLib's distributors map every slice to its rank.
#[test]
fn distributors_map_slices_to_members() {
    let slice_of = |slices| {
        let steps = collective::scatter(Complete::new(4), 0, 0, slices);
        let piece = |step| match step {
            Step::Send { to, piece } => Some((to, piece)),
            Step::Copy { from, .. } => Some((0, from)),
            _ => None,
        };
        let mut all: Vec<(usize, Piece)> = steps.filter_map(piece).collect();
        all.sort_unstable_by_key(|(member, _)| *member);
        all.into_iter()
            .map(|(_, piece)| piece.first)
            .collect::<Vec<_>>()
    };
    assert_eq!(slice_of(Distributor::Ascending), [0, 1, 2, 3]);
    assert_eq!(slice_of(Distributor::Descending), [3, 2, 1, 0]);
    assert_eq!(slice_of(Distributor::Slices(&[2, 0, 3, 1])), [2, 0, 3, 1]);
    assert_eq!(Buffer::Input.block(2).blocks, 1);
}

/// Checks MPI-F's tree for nine ranks in blocks of three.
#[test]
fn the_blocked_binomial_tree() {
    let children = |rank| {
        Rooted::new(Blocked { block: 3 }, rank, 9, 0)
            .children()
            .collect::<Vec<_>>()
    };
    assert_eq!(children(0), [3, 1, 2, 6]);
    assert_eq!(children(1), [7]);
    assert_eq!(children(2), [8]);
    assert_eq!(children(3), [4, 5]);
    // Blocks of one rank give the binomial tree, one block of all ranks gives the sequential one.
    for rank in 0..8 {
        let of = |block| Rooted::new(Blocked { block }, rank, 8, 0).children();
        assert!(of(1).eq(Rooted::new(Binomial, rank, 8, 0).children()));
        assert!(of(8).eq(Rooted::new(Sequential, rank, 8, 0).children().rev()));
    }
}

/// The tree that the paper on adaptive spanning trees calls MagPIe-like: 24 processes on six sites, root 12. A message
/// comes to 0 over one link between sites, where the binomial tree takes two.
#[test]
fn the_two_level_tree_of_six_sites() {
    let site_of: [usize; 24] = core::array::from_fn(|rank| rank / 4);
    let children = |rank| {
        TwoLevel::new(&site_of, rank, 12)
            .children()
            .collect::<Vec<_>>()
    };
    assert_eq!(children(12), [0, 4, 8, 16, 20, 14, 13]);
    assert_eq!(
        (children(14), children(0), children(2)),
        (vec![15], vec![2, 1], vec![3])
    );
    let binomial = |rank| Rooted::new(Binomial, rank, 24, 12).parent();
    assert_eq!(
        (binomial(0), binomial(20), binomial(8), binomial(4)),
        (Some(20), Some(12), Some(4), Some(12))
    );
}
