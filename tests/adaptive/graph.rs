//! Random graphs, and the simplest algorithm that can be right for their minimum spanning trees.

use pombo_netdrivers::fault::SeededRng;
use std::collections::{BTreeMap, BTreeSet};

/// Random choices.
pub struct Random(SeededRng);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(SeededRng::new(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.below(u64::MAX)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0.index(bound)
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// The two ends of a link, the lower one first.
pub type Pair = (u32, u32);

/// Some processes and the weights that the two ends of each link measure, the lower end's first.
#[derive(Clone, Debug)]
pub struct Graph {
    pub processes: Vec<u32>,
    pub links: BTreeMap<Pair, (u64, u64)>,
}

impl Graph {
    /// A connected graph: a random tree and more links, from none to all; weights from a few values or many.
    pub fn random(random: &mut Random, most: usize) -> Graph {
        let number = 1 + random.below(most);
        // Numbers of processes need not be consecutive.
        let stride = 1 + random.below(3) as u32;
        let processes: Vec<u32> = (0..number as u32).map(|index| index * stride).collect();
        let values = [1, 3, 20, 1_000_000][random.below(4)];
        let density = [0, 10, 40, 100][random.below(4)];
        let asymmetric = random.chance(50);
        let mut links = BTreeMap::new();
        for high in 1..number {
            let parent = random.below(high);
            for low in 0..high {
                if low == parent || random.chance(density) {
                    let weight = random.below(values) as u64;
                    let other = if asymmetric {
                        random.below(values) as u64
                    } else {
                        weight
                    };
                    links.insert((processes[low], processes[high]), (weight, other));
                }
            }
        }
        Graph { processes, links }
    }

    /// Kruskal's algorithm with the larger measured value of each link; a forest if the graph is not connected.
    pub fn minimum_spanning_tree(&self) -> BTreeSet<Pair> {
        let mut sorted: Vec<(u64, Pair)> = self
            .links
            .iter()
            .map(|(&pair, &(one, other))| (one.max(other), pair))
            .collect();
        sorted.sort_unstable();
        let mut part: BTreeMap<u32, u32> = self.processes.iter().map(|&p| (p, p)).collect();
        let mut tree = BTreeSet::new();
        for (_, pair) in sorted {
            let (one, other) = (part[&pair.0], part[&pair.1]);
            if one != other {
                part.values_mut()
                    .filter(|p| **p == other)
                    .for_each(|p| *p = one);
                tree.insert(pair);
            }
        }
        tree
    }

    pub fn neighbours(&self, of: u32) -> impl Iterator<Item = u32> {
        self.links.keys().filter_map(move |&(low, high)| match of {
            _ if of == low => Some(high),
            _ if of == high => Some(low),
            _ => None,
        })
    }

    pub fn measured(&self, at: u32, neighbour: u32) -> u64 {
        let &(low, high) = &self.links[&pair(at, neighbour)];
        if at < neighbour { low } else { high }
    }

    /// Takes a process and its links away.
    pub fn remove(&mut self, process: u32) {
        self.processes.retain(|&p| p != process);
        self.links
            .retain(|&(low, high), _| low != process && high != process);
    }

    /// The links of a tree between two processes.
    pub fn path(&self, tree: &BTreeSet<Pair>, from: u32, to: u32) -> Vec<Pair> {
        let mut paths = BTreeMap::from([(from, Vec::new())]);
        while !paths.contains_key(&to) {
            for &(low, high) in tree {
                for (here, there) in [(low, high), (high, low)] {
                    if let (Some(path), None) = (paths.get(&here), paths.get(&there)) {
                        let path = path.iter().copied().chain([(low, high)]).collect();
                        paths.insert(there, path);
                    }
                }
            }
        }
        paths.remove(&to).expect("a path")
    }

    /// The processes that can be reached from one, itself included.
    pub fn reachable(&self, from: u32) -> BTreeSet<u32> {
        let mut reached = BTreeSet::from([from]);
        loop {
            let before = reached.len();
            for &(low, high) in self.links.keys() {
                if reached.contains(&low) || reached.contains(&high) {
                    reached.extend([low, high]);
                }
            }
            if reached.len() == before {
                return reached;
            }
        }
    }
}

pub fn pair(one: u32, other: u32) -> Pair {
    (one.min(other), one.max(other))
}
