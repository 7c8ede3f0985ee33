//! The tree as a topology: any root, and the operations of the package over it.

use crate::changes::built;
use crate::graph::Random;
use crate::network::Network;
use pombo_collective::topology::Tree;
use pombo_collective::{
    Blocks, Combining, CommCall, OperationBuffers, Protocol, SharedBytes, SharedMemory, allreduce,
};
use pombo_kernel::{Communicator, Header, Pattern, Peer};
use pombo_netdrivers::Loopback;
use std::collections::BTreeMap;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Every process claims to be the root in turn: parents and children fit, and are those of the first message of a
/// broadcast and of the last branch of a reduction.
#[test]
fn any_process_may_be_the_root() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let (graph, mut network) = built(&mut random, 12);
        for &root in &graph.processes {
            network.process(root).claim_root().unwrap();
            network.collect(root);
            network.run(&mut random);
            let (parents, children) = claimed(&network, root);
            assert_eq!(parents, by_first_message(&network, root), "seed {seed}");
            assert_eq!(
                parents,
                by_last_branch(&network, root, &mut random),
                "seed {seed}"
            );
            for (&child, &parent) in &parents {
                let siblings = &children[&parent];
                assert_eq!(
                    siblings.iter().filter(|&&one| one == child).count(),
                    1,
                    "seed {seed}"
                );
            }
            let number: usize = children.values().map(Vec::len).sum();
            assert_eq!(number, parents.len(), "seed {seed}");
            assert_eq!(number + 1, graph.processes.len(), "seed {seed}");
        }
    }
}

/// The parent of every process but the root, and the children of each, as claimed.
fn claimed(network: &Network, root: u32) -> (BTreeMap<u32, u32>, BTreeMap<u32, Vec<u32>>) {
    let (mut parents, mut all) = (BTreeMap::new(), BTreeMap::new());
    for (&number, process) in &network.processes {
        let oriented = process.oriented().expect("the claim came here");
        assert_eq!(oriented.root, root);
        let tree = process.tree(oriented.parent);
        parents.extend(tree.parent().map(|parent| (number, parent as u32)));
        let children: Vec<u32> = tree.children().map(|child| child as u32).collect();
        let weights: Vec<u64> = children
            .iter()
            .map(|&child| process.links()[process.link_to(child).unwrap()].weight())
            .collect();
        assert!(weights.is_sorted_by(|one, next| one >= next), "{weights:?}");
        let mut back: Vec<u32> = tree.children().rev().map(|child| child as u32).collect();
        back.reverse();
        assert_eq!(back, children);
        // Both ends of the iterator together give each child once.
        let (mut both, mut from_both) = (tree.children(), Vec::new());
        while let Some(child) = both.next() {
            from_both.push(child as u32);
            from_both.extend(both.next_back().map(|child| child as u32));
        }
        from_both.sort_unstable();
        back.sort_unstable();
        assert_eq!(from_both, back);
        all.insert(number, children);
    }
    (parents, all)
}

/// Whom each process first hears from if every process hands a message on over its other branches.
fn by_first_message(network: &Network, root: u32) -> BTreeMap<u32, u32> {
    let (mut parents, mut at) = (BTreeMap::new(), vec![(root, None)]);
    while let Some((number, parent)) = at.pop() {
        let process = &network.processes[&number];
        for child in process.tree(parent).children() {
            let child = child as u32;
            assert_eq!(parents.insert(child, number), None, "it came twice");
            at.push((child, network.processes[&child].link_to(number)));
        }
    }
    parents
}

/// The branch that is left when all others have delivered their part of a reduction.
fn by_last_branch(network: &Network, root: u32, random: &mut Random) -> BTreeMap<u32, u32> {
    let mut parents = BTreeMap::new();
    let mut open: BTreeMap<u32, Vec<u32>> = network
        .processes
        .iter()
        .map(|(&number, process)| {
            (
                number,
                process
                    .tree(None)
                    .children()
                    .map(|other| other as u32)
                    .collect(),
            )
        })
        .collect();
    loop {
        let ready: Vec<u32> = open
            .iter()
            .filter(|(number, left)| left.len() == 1 && **number != root)
            .map(|(&number, _)| number)
            .collect();
        let Some(&number) = ready.get(random.below(ready.len().max(1))) else {
            assert!(open[&root].is_empty());
            return parents;
        };
        let parent = open.remove(&number).unwrap()[0];
        parents.insert(number, parent);
        open.get_mut(&parent)
            .unwrap()
            .retain(|&child| child != number);
    }
}

/// Whom a receive wants its message from.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct From(u8);

impl Header for From {
    const NAME: &str = "From";
    type Pattern = From;
}

impl Pattern<From> for From {
    fn matches(&self, from: Peer, _: &From) -> bool {
        self.source() == Some(from)
    }
    fn source(&self) -> Option<Peer> {
        Some(Peer(self.0.into()))
    }
}

impl Protocol<From> for From {
    fn header(&self) -> From {
        *self
    }
    fn pattern(&self, from: Peer) -> From {
        From(from.0 as u8)
    }
}

/// A reduction to a root and a broadcast from it, by the package's schedules.
#[test]
fn operations_run_over_the_tree() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let (graph, mut network) = built(&mut random, 8);
        let ranks = graph.processes.len();
        let root = graph.processes[random.below(ranks)];
        network.process(root).claim_root().unwrap();
        network.collect(root);
        network.run(&mut random);
        // Ranks of a communicator are consecutive.
        let rank_of = |number: usize| graph.processes.binary_search(&(number as u32)).unwrap();
        let mut data: Vec<[u32; 3]> = (0..ranks as u32).map(|rank| [1 << rank, 0, 0]).collect();
        let mut calls = Vec::new();
        let channels = Loopback::world(ranks as u16).into_iter();
        for ((process, channel), data) in network.processes.values().zip(channels).zip(&mut data) {
            let oriented = process.oriented().unwrap();
            let steps = allreduce(process.tree(oriented.parent), 1);
            let steps = steps.map(|step| by_rank(step, rank_of));
            let [input, work, incoming] = data
                .each_mut()
                .map(|value| Blocks::one(SharedBytes::of(std::slice::from_mut(value))));
            let parts = OperationBuffers {
                input,
                work,
                incoming,
                ..OperationBuffers::NONE
            };
            let sum = Combining::by(|left: u32, right: u32| left + right);
            let comm = Communicator::<From, _, SharedMemory<'_>>::new(channel).unwrap();
            calls.push((comm, CommCall::new(steps, From(0), parts, sum)));
        }
        let mut polls = 0;
        while !calls
            .iter_mut()
            .fold(true, |over, (comm, call)| call.poll(comm).unwrap() && over)
        {
            polls += 1;
            assert!(polls < 100_000, "seed {seed} hangs");
        }
        drop(calls);
        assert!(
            data.iter().all(|[_, sum, _]| *sum == (1 << ranks) - 1),
            "seed {seed}: {data:?}"
        );
    }
}

fn by_rank(
    step: pombo_collective::Step,
    rank_of: impl Fn(usize) -> usize,
) -> pombo_collective::Step {
    use pombo_collective::Step;
    match step {
        Step::Send { to, piece } => Step::Send {
            to: rank_of(to),
            piece,
        },
        Step::Receive { from, piece } => Step::Receive {
            from: rank_of(from),
            piece,
        },
        other => other,
    }
}
