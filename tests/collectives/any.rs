//! Topologies and trees that are selected at run time.

use pombo_collective::model::{Hold, Optimal};
use pombo_collective::topology::*;
use pombo_netdrivers::fault::SeededRng;

/// The methods of a topology, as a trait object.
pub(crate) trait Erased {
    fn ranks(&self) -> usize;
    fn toward(&self, from: usize, to: usize) -> usize;
    fn hops(&self, from: usize, to: usize) -> usize;
    fn line(&self, root: usize) -> Vec<usize>;
    fn tree(&self, rank: usize, root: usize) -> AnyTree;
    fn at(&self, place: usize) -> usize;
    fn place(&self, rank: usize) -> usize;
}

impl<T: Topology> Erased for T {
    fn ranks(&self) -> usize {
        Topology::ranks(self)
    }
    fn toward(&self, from: usize, to: usize) -> usize {
        Topology::toward(self, from, to)
    }
    fn hops(&self, from: usize, to: usize) -> usize {
        Topology::hops(self, from, to)
    }
    fn line(&self, root: usize) -> Vec<usize> {
        Topology::line(self, root).collect()
    }
    fn tree(&self, rank: usize, root: usize) -> AnyTree {
        AnyTree::of(Topology::tree(self, rank, root))
    }
    fn at(&self, place: usize) -> usize {
        Topology::at(self, place)
    }
    fn place(&self, rank: usize) -> usize {
        Topology::place(self, rank)
    }
}

/// Any topology. It is never freed, because tests are short.
#[derive(Clone, Copy)]
pub(crate) struct Any(&'static dyn Erased);

impl Any {
    pub(crate) fn of<T: Topology + 'static>(topology: T) -> Any {
        Any(Box::leak(Box::new(topology)))
    }
}

impl Topology for Any {
    type Line = std::vec::IntoIter<usize>;
    type Tree = AnyTree;

    fn ranks(&self) -> usize {
        self.0.ranks()
    }
    fn toward(&self, from: usize, to: usize) -> usize {
        self.0.toward(from, to)
    }
    fn hops(&self, from: usize, to: usize) -> usize {
        self.0.hops(from, to)
    }
    fn line(&self, root: usize) -> Self::Line {
        self.0.line(root).into_iter()
    }
    fn tree(&self, rank: usize, root: usize) -> AnyTree {
        self.0.tree(rank, root)
    }
    fn at(&self, place: usize) -> usize {
        self.0.at(place)
    }
    fn place(&self, rank: usize) -> usize {
        self.0.place(rank)
    }
}

/// Any tree, as one rank sees it.
#[derive(Clone)]
pub(crate) struct AnyTree {
    parent: Option<usize>,
    children: Vec<usize>,
    spans: Vec<RankRange>,
}

impl AnyTree {
    pub(crate) fn of<T: Tree>(tree: T) -> AnyTree {
        AnyTree {
            parent: tree.parent(),
            children: tree.children().collect(),
            spans: Vec::new(),
        }
    }

    pub(crate) fn of_ranges<T: Ranges>(tree: T, ranks: usize) -> AnyTree {
        AnyTree {
            spans: (0..ranks).map(|rank| tree.rank_range(rank)).collect(),
            ..AnyTree::of(tree)
        }
    }
}

impl Tree for AnyTree {
    type Children = std::vec::IntoIter<usize>;

    fn parent(&self) -> Option<usize> {
        self.parent
    }
    fn children(&self) -> Self::Children {
        self.children.clone().into_iter()
    }
}

impl Ranges for AnyTree {
    fn rank_range(&self, rank: usize) -> RankRange {
        self.spans[rank]
    }
}

/// Returns every topology of a number of ranks, with its name.
pub(crate) fn topologies(ranks: usize) -> Vec<(String, Any)> {
    let mut all = vec![
        ("linear".to_owned(), Any::of(Linear::new(ranks))),
        ("ring".to_owned(), Any::of(Ring::new(ranks))),
        ("complete".to_owned(), Any::of(Complete::new(ranks))),
        ("star".to_owned(), Any::of(Star::new(ranks))),
        ("bus".to_owned(), Any::of(Bus::new(ranks))),
        (
            "path tree".to_owned(),
            Any::of(TreeNetwork::<1>::new(ranks)),
        ),
        (
            "binary tree".to_owned(),
            Any::of(TreeNetwork::<2>::new(ranks)),
        ),
        (
            "ternary tree".to_owned(),
            Any::of(TreeNetwork::<3>::new(ranks)),
        ),
    ];
    if ranks.is_power_of_two() {
        let cube = Hypercube::new(ranks.ilog2());
        all.push(("hypercube".to_owned(), Any::of(cube)));
    }
    for rows in (1..=ranks).filter(|rows| ranks.is_multiple_of(*rows)) {
        let columns = ranks / rows;
        let grid = [rows, columns];
        all.push((format!("mesh {grid:?}"), Any::of(Mesh::new(grid))));
        all.push((format!("torus {grid:?}"), Any::of(Torus::new(grid))));
        if columns.is_multiple_of(2) {
            let cube = [2, rows, columns / 2];
            all.push((format!("mesh {cube:?}"), Any::of(Mesh::new(cube))));
            all.push((format!("torus {cube:?}"), Any::of(Torus::new(cube))));
        }
    }
    all.extend(nested(ranks));
    all
}

/// Returns hosts of random sizes.
fn hosts(ranks: usize, rng: &mut SeededRng) -> Any {
    let mut sizes = Vec::new();
    let mut left = ranks;
    while left > 0 {
        let size = 1 + rng.index(left);
        sizes.push(Complete::new(size));
        left -= size;
    }
    Any::of(Nested::new(Complete::new(sizes.len()), sizes.leak()).expect("as many"))
}

/// Returns compositions: hosts of different sizes, rings in a line, three levels.
fn nested(ranks: usize) -> Vec<(String, Any)> {
    let mut all = Vec::new();
    for seed in 0..2 {
        let hosts = hosts(ranks, &mut SeededRng::stream(seed, ranks as u64));
        all.push((format!("hosts by chance {seed}"), hosts));
    }
    if ranks > 1 {
        let rings = [Ring::new(ranks - ranks / 2), Ring::new(ranks / 2)];
        let two = Nested::new(Linear::new(2), rings.to_vec().leak()).expect("two hosts");
        all.push(("rings in a line".to_owned(), Any::of(two)));
    }
    if ranks > 3 {
        let sizes = [1, ranks - 3, 2];
        let hosts = sizes.map(Complete::new).to_vec().leak();
        let three = Nested::new(Star::new(3), hosts).expect("three hosts");
        all.push((format!("hosts of {sizes:?} in a star"), Any::of(three)));
        let pair = |ranks| {
            let hosts = [Linear::new(1), Linear::new(ranks - 1)].to_vec().leak();
            Nested::new(Bus::new(2), &*hosts).expect("two hosts")
        };
        let rooms = [pair(2), pair(ranks - 2)].to_vec().leak();
        let three_levels = Nested::new(Ring::new(2), &*rooms).expect("two rooms");
        all.push(("three levels".to_owned(), Any::of(three_levels)));
    }
    all
}

const TIMES: Hold = Hold { hold: 2, end: 5 };
static BEST: Optimal<128> = Optimal::new(TIMES);
static THREE_PORTS: Optimal<128> = Optimal::with_ports(TIMES, 3);

/// Returns every shape of a tree, as one rank sees it, with its name and whether its subtrees are ranges.
pub(crate) fn shapes(rank: usize, ranks: usize, root: usize) -> Vec<(String, AnyTree, bool)> {
    let ordered = |name: &str, tree| (name.to_owned(), tree, true);
    let mut all = vec![
        ordered("sequential", ranges(Sequential, rank, ranks, root)),
        ordered("chain", ranges(Chain, rank, ranks, root)),
        ordered("binomial", ranges(Binomial, rank, ranks, root)),
        ordered("optimal", ranges(&BEST, rank, ranks, root)),
        ordered(
            "optimal of 3 ports",
            ranges(&THREE_PORTS, rank, ranks, root),
        ),
        unordered("1-ary", Kary::<1>, rank, ranks, root),
        unordered("binary", Kary::<2>, rank, ranks, root),
        unordered("4-ary", Kary::<4>, rank, ranks, root),
    ];
    for block in [1, 2, 3, 5, 100] {
        let name = format!("blocks of {block}");
        all.push(unordered(&name, Blocked { block }, rank, ranks, root));
    }
    all
}

fn ranges<S: Contiguous>(shape: S, rank: usize, ranks: usize, root: usize) -> AnyTree {
    AnyTree::of_ranges(Rooted::new(shape, rank, ranks, root), ranks)
}

fn unordered<S: Shape>(
    name: &str,
    shape: S,
    rank: usize,
    ranks: usize,
    root: usize,
) -> (String, AnyTree, bool) {
    let tree = AnyTree::of(Rooted::new(shape, rank, ranks, root));
    (name.to_owned(), tree, false)
}
