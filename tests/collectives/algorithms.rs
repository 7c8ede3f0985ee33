//! Every operation by every algorithm on every topology of a number of ranks.

use crate::any::{Any, shapes, topologies};
use pombo_collective::topology::*;
use pombo_collective::{self as collective, Distributor, Step};
use pombo_netdrivers::fault::SeededRng;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Barrier,
    Broadcast,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    Reduce,
    Allreduce,
    ReduceScatter,
    Scan,
    Exscan,
}

pub(crate) type Steps = Box<dyn Iterator<Item = Step>>;

/// A distributor that owns its table.
#[derive(Clone)]
pub(crate) enum Slices {
    Ascending,
    Descending,
    Table(&'static [usize]),
}

impl Slices {
    pub(crate) fn of(&self) -> Distributor<'static> {
        match self {
            Slices::Ascending => Distributor::Ascending,
            Slices::Descending => Distributor::Descending,
            Slices::Table(slices) => Distributor::Slices(slices),
        }
    }

    fn any(ranks: usize, rng: &mut SeededRng) -> Slices {
        match rng.index(3) {
            0 => Slices::Ascending,
            1 => Slices::Descending,
            _ => {
                let mut table: Vec<_> = (0..ranks).collect();
                for i in 1..ranks {
                    table.swap(i, rng.index(i + 1));
                }
                Slices::Table(table.leak())
            }
        }
    }
}

pub(crate) struct Algorithm {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) root: usize,
    /// Whether the algorithm keeps the order of the operands.
    pub(crate) ordered: bool,
    /// Whether all blocks must have the same size.
    pub(crate) equal: bool,
    pub(crate) may_be_in_place: bool,
    /// Number of blocks into which data without blocks of its own is divided.
    pub(crate) cut: usize,
    pub(crate) slices: Slices,
    steps: Box<dyn Fn(usize) -> Steps>,
}

impl Algorithm {
    fn new<S>(kind: Kind, name: &str, steps: impl Fn(usize) -> S + 'static) -> Algorithm
    where
        S: Iterator<Item = Step> + 'static,
    {
        Algorithm {
            name: format!("{kind:?} {name}"),
            kind,
            root: 0,
            ordered: false,
            equal: false,
            may_be_in_place: true,
            cut: 1,
            slices: Slices::Ascending,
            steps: Box::new(move |rank| Box::new(steps(rank))),
        }
    }

    /// Returns one rank's part.
    pub(crate) fn steps(&self, rank: usize) -> Steps {
        (self.steps)(rank)
    }

    fn root(self, root: usize) -> Self {
        Algorithm { root, ..self }
    }

    fn ordered(self) -> Self {
        Algorithm {
            ordered: true,
            ..self
        }
    }

    fn cut(self, cut: usize) -> Self {
        Algorithm { cut, ..self }
    }

    fn slices(self, slices: Slices) -> Self {
        Algorithm { slices, ..self }
    }
}

/// Returns all algorithms, with random roots, segments and slices.
pub(crate) fn algorithms(ranks: usize, rng: &mut SeededRng) -> Vec<Algorithm> {
    let mut all = Vec::new();
    for (name, topology) in topologies(ranks) {
        on_topology(&mut all, &name, topology, rng);
    }
    for index in 0..shapes(0, ranks, 0).len() {
        on_shape(&mut all, index, ranks, rng);
    }
    on_hosts(&mut all, ranks, rng);
    on_numbers(&mut all, ranks);
    all
}

/// Adds reductions for hosts whose ranks are consecutive: in order, if rank 0 is the root.
fn on_hosts(all: &mut Vec<Algorithm>, ranks: usize, rng: &mut SeededRng) {
    let (cut, mut left, mut hosts) = (1 + rng.index(5), ranks, Vec::new());
    while left > 0 {
        let some = 1 + rng.index(left);
        hosts.push(Complete::new(some));
        left -= some;
    }
    let name = format!("in order, {} hosts", hosts.len());
    let net = Nested::new(Complete::new(hosts.len()), hosts.leak()).expect("as many");
    let reduce = move |rank| collective::reduce(net.tree(rank, 0), cut);
    all.push(
        Algorithm::new(Kind::Reduce, &name, reduce)
            .cut(cut)
            .ordered(),
    );
    let allreduce = move |rank| collective::allreduce(net.tree(rank, 0), cut);
    all.push(
        Algorithm::new(Kind::Allreduce, &name, allreduce)
            .cut(cut)
            .ordered(),
    );
}

/// Adds the algorithms that use the line, tree or circle of a network.
pub(crate) fn on_topology(all: &mut Vec<Algorithm>, name: &str, net: Any, rng: &mut SeededRng) {
    let n = net.ranks();
    let (root, cut, ahead) = (rng.index(n), 1 + rng.index(5), rng.index(n + 2));
    let (slices, gathered) = (Slices::any(n, rng), Slices::any(n, rng));
    let (scattered, given) = (slices.of(), gathered.of());
    let circle = move |rank| Circle::new(net, rank);
    let mut add = |algorithm| all.push(algorithm);

    add(Algorithm::new(Kind::Barrier, name, move |rank| {
        collective::barrier(net, rank)
    }));
    add(Algorithm::new(
        Kind::Barrier,
        &format!("tree, {name}"),
        move |rank| collective::barrier_tree(net.tree(rank, root)),
    ));
    add(Algorithm::new(
        Kind::Barrier,
        &format!("dissemination, {name}"),
        move |rank| collective::barrier_dissemination(circle(rank)),
    ));
    let broadcast = move |rank| collective::broadcast(net.tree(rank, root), cut);
    add(Algorithm::new(Kind::Broadcast, name, broadcast)
        .root(root)
        .cut(cut));
    let gather = move |rank| collective::gather(net, rank, root, given);
    add(Algorithm::new(Kind::Gather, name, gather)
        .root(root)
        .slices(gathered));
    let scatter = move |rank| collective::scatter(net, rank, root, scattered);
    add(Algorithm::new(Kind::Scatter, name, scatter)
        .root(root)
        .slices(slices));
    add(Algorithm::new(Kind::Allgather, name, move |rank| {
        collective::allgather(circle(rank))
    }));
    add(Algorithm::new(
        Kind::Allgather,
        &format!("turns, {name}"),
        move |rank| collective::allgather_spread_out(circle(rank), ahead),
    ));
    add(Algorithm::new(
        Kind::Allgather,
        &format!("fan, {name}"),
        move |rank| collective::allgather_linear(net.tree(rank, 0), net, rank),
    ));
    let alltoall = move |rank| collective::alltoall(circle(rank), ahead);
    add(Algorithm {
        may_be_in_place: false,
        ..Algorithm::new(Kind::Alltoall, name, alltoall)
    });
    let reduce = move |rank| collective::reduce(net.tree(rank, root), cut);
    add(Algorithm::new(Kind::Reduce, name, reduce)
        .root(root)
        .cut(cut));
    let allreduce = move |rank| collective::allreduce(net.tree(rank, root), cut);
    add(Algorithm::new(Kind::Allreduce, name, allreduce).cut(cut));
    let round = move |rank| collective::allreduce_ring(circle(rank));
    add(Algorithm::new(Kind::Allreduce, &format!("circle, {name}"), round).cut(n));
    add(Algorithm::new(Kind::ReduceScatter, name, move |rank| {
        collective::reduce_scatter(net.tree(rank, 0), net, rank)
    }));
    add(Algorithm::new(
        Kind::ReduceScatter,
        &format!("circle, {name}"),
        move |rank| collective::reduce_scatter_ring(circle(rank)),
    ));
}

/// Adds the algorithms for a shape of a tree; more of them, and in order, if its subtrees are ranges.
fn on_shape(all: &mut Vec<Algorithm>, index: usize, n: usize, rng: &mut SeededRng) {
    let (root, cut) = (rng.index(n), 1 + rng.index(9));
    let tree = move |rank, root| shapes(rank, n, root).swap_remove(index).1;
    let (name, _, spans) = shapes(0, n, 0).swap_remove(index);
    let circle = move |rank| Circle::new(Complete::new(n), rank);
    let mut add = |algorithm| all.push(algorithm);

    let broadcast = move |rank| collective::broadcast(tree(rank, root), cut);
    add(Algorithm::new(Kind::Broadcast, &name, broadcast)
        .root(root)
        .cut(cut));
    let reduce = move |rank| collective::reduce(tree(rank, root), cut);
    add(Algorithm::new(Kind::Reduce, &name, reduce)
        .root(root)
        .cut(cut));
    if !spans {
        return;
    }
    let reduce = move |rank| collective::reduce(tree(rank, 0), cut);
    add(
        Algorithm::new(Kind::Reduce, &format!("in order, {name}"), reduce)
            .cut(cut)
            .ordered(),
    );
    let allreduce = move |rank| collective::allreduce(tree(rank, 0), cut);
    add(
        Algorithm::new(Kind::Allreduce, &format!("in order, {name}"), allreduce)
            .cut(cut)
            .ordered(),
    );
    add(Algorithm::new(
        Kind::ReduceScatter,
        &format!("in order, {name}"),
        move |rank| collective::reduce_scatter(tree(rank, 0), Complete::new(n), rank),
    )
    .ordered());
    let gather = move |rank| collective::gather_tree(tree(rank, root), rank);
    add(Algorithm::new(Kind::Gather, &format!("tree, {name}"), gather).root(root));
    let scatter = move |rank| collective::scatter_tree(tree(rank, root), rank);
    add(Algorithm::new(Kind::Scatter, &format!("tree, {name}"), scatter).root(root));
    let broadcast = move |rank| collective::broadcast_in_turn(tree(rank, root));
    add(Algorithm::new(Kind::Broadcast, &format!("in turn, {name}"), broadcast).root(root));
    let broadcast =
        move |rank| collective::broadcast_scatter_allgather(tree(rank, root), circle(rank));
    add(
        Algorithm::new(Kind::Broadcast, &format!("scattered, {name}"), broadcast)
            .root(root)
            .cut(n),
    );
}

/// Adds the algorithms that need only the numbers of the ranks.
fn on_numbers(all: &mut Vec<Algorithm>, n: usize) {
    let mut add = |algorithm| all.push(algorithm);
    for root in [0, n / 2, n - 1] {
        for (name, slices) in [
            ("ascending", Slices::Ascending),
            ("descending", Slices::Descending),
        ] {
            let order = slices.of();
            let reduce = move |rank| collective::reduce_line(rank, n, root, order);
            let reduce = Algorithm::new(Kind::Reduce, &format!("line {name}"), reduce);
            add(Algorithm {
                may_be_in_place: false,
                ..reduce
            }
            .root(root)
            .slices(slices)
            .ordered());
        }
    }
    add(Algorithm::new(Kind::Allgather, "doubling", move |rank| {
        collective::allgather_recursive_doubling(rank, n)
    }));
    let bruck = Algorithm::new(Kind::Alltoall, "Bruck", move |rank| {
        collective::alltoall_bruck(rank, n)
    });
    add(Algorithm {
        equal: true,
        may_be_in_place: false,
        ..bruck
    });
    if n == 2 {
        for cut in [1, 2, 7] {
            let pair = move |rank| collective::reduce_pair(1 - rank, rank == 0, cut);
            add(Algorithm::new(Kind::Reduce, &format!("pair, {cut} segments"), pair).cut(cut));
        }
    }
    add(Algorithm::new(Kind::Allreduce, "doubling", move |rank| {
        collective::allreduce_recursive_doubling(rank, n)
    })
    .ordered());
    let blocks = 1 << n.ilog2();
    add(Algorithm::new(Kind::Allreduce, "halving", move |rank| {
        collective::allreduce_rabenseifner(rank, n)
    })
    .cut(blocks));
    add(Algorithm::new(Kind::Scan, "chain", move |rank| collective::scan(rank, n)).ordered());
    add(Algorithm::new(Kind::Scan, "doubling", move |rank| {
        collective::scan_recursive_doubling(rank, n)
    })
    .ordered());
    add(Algorithm::new(Kind::Exscan, "chain", move |rank| {
        collective::exscan(rank, n)
    })
    .ordered());
    add(Algorithm::new(Kind::Exscan, "doubling", move |rank| {
        collective::exscan_recursive_doubling(rank, n)
    })
    .ordered());
}
