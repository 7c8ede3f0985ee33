//! The kernel's schedules by the names of their algorithms.

use super::Algorithm;
use super::cast::Cast;
use crate::hosts::Levels;
use alloc::boxed::Box;
use alloc::rc::Rc;
use core::ops::Range;
use pombo_kernel::collective::{self as kernel, Distributor, Step};
use pombo_kernel::topology::{
    Binomial, Chain, Circle, Complete, Nested, Renamed, Rooted, Sequential, Shape, Topology, Tree,
};

/// One rank's part of an operation.
pub(super) enum Steps {
    /// Messages, and what happens between them.
    Schedule(Box<dyn Part>),
    /// No messages: the network's own broadcast.
    Cast(Cast),
}

/// An iterator as far as schedules need one: the table of an iterator object would hold much that is never called.
pub(super) trait Part {
    fn next(&mut self) -> Option<Step>;
}

impl<I: Iterator<Item = Step>> Part for I {
    fn next(&mut self) -> Option<Step> {
        Iterator::next(self)
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        match self {
            Steps::Schedule(part) => part.next(),
            Steps::Cast(_) => None,
        }
    }
}

/// Towards the root of a tree.
pub(super) fn reduce(tree: Listed, blocks: usize) -> Steps {
    steps(kernel::reduce(tree, blocks))
}

fn steps(part: impl Iterator<Item = Step> + 'static) -> Steps {
    Steps::Schedule(Box::new(part))
}

/// A tree as one rank sees it, put down, so that each operation is compiled once for all of them.
#[derive(Clone)]
pub(super) struct Listed {
    parent: Option<usize>,
    children: Rc<[usize]>,
}

impl Listed {
    /// Has this rank nobody below it, but somebody above?
    pub(super) fn is_leaf(&self) -> bool {
        self.parent.is_some() && self.children.is_empty()
    }

    fn of(tree: impl Tree) -> Self {
        Listed {
            parent: tree.parent(),
            children: tree.children().collect(),
        }
    }
}

impl Tree for Listed {
    type Children = Below;

    fn parent(&self) -> Option<usize> {
        self.parent
    }

    fn children(&self) -> Below {
        Below {
            left: 0..self.children.len(),
            all: self.children.clone(),
        }
    }
}

/// The ranks right below one.
#[derive(Clone)]
pub(super) struct Below {
    all: Rc<[usize]>,
    left: Range<usize>,
}

impl Iterator for Below {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left.next().map(|index| self.all[index])
    }
}

impl DoubleEndedIterator for Below {
    fn next_back(&mut self) -> Option<usize> {
        self.left.next_back().map(|index| self.all[index])
    }
}

/// Where this rank stands in an operation.
#[derive(Clone, Copy)]
pub(super) struct Stand {
    pub(super) rank: usize,
    pub(super) ranks: usize,
    pub(super) root: usize,
}

const ALL: Distributor<'static> = Distributor::Ascending;

impl Stand {
    /// Is this rank the root?
    pub(super) fn is_root(&self) -> bool {
        self.rank == self.root
    }

    /// The tree of an algorithm.
    pub(super) fn tree(&self, algorithm: Algorithm, levels: Option<&Levels>) -> Listed {
        match (algorithm, levels) {
            (Algorithm::Hosts, Some(levels)) => self.tree_of_hosts(levels),
            (Algorithm::Linear, _) => Listed::of(self.shaped(Sequential)),
            (Algorithm::Chain, _) => Listed::of(self.shaped(Chain)),
            _ => Listed::of(self.shaped(Binomial)),
        }
    }

    /// One rank of every host in a tree, and below each the others of its host.
    fn tree_of_hosts(&self, levels: &Levels) -> Listed {
        let (inside, ranks) = levels.order();
        let inside: Box<[Complete]> = inside.map(Complete::new).collect();
        let hosts = Nested::new(Complete::new(inside.len()), &inside);
        let hosts = hosts.and_then(|hosts| Renamed::new(hosts, &ranks));
        match hosts {
            Some(hosts) => Listed::of(hosts.tree(self.rank, self.root)),
            // Every rank is on a host.
            None => Listed::of(self.shaped(Binomial)),
        }
    }

    fn shaped<S: Shape>(&self, shape: S) -> Rooted<S> {
        Rooted::new(shape, self.rank, self.ranks, self.root)
    }

    fn net(&self) -> Complete {
        Complete::new(self.ranks)
    }

    fn circle(&self) -> Circle<Complete> {
        Circle::new(self.net(), self.rank)
    }

    pub(super) fn barrier(&self, algorithm: Algorithm, levels: Option<&Levels>) -> Steps {
        match algorithm {
            Algorithm::Doubling => steps(kernel::barrier_dissemination(self.circle())),
            _ => steps(kernel::barrier_tree(self.tree(algorithm, levels))),
        }
    }

    pub(super) fn broadcast(
        &self,
        algorithm: Algorithm,
        blocks: usize,
        levels: Option<&Levels>,
    ) -> Steps {
        match algorithm {
            Algorithm::Scattered => {
                let tree = self.shaped(Binomial);
                steps(kernel::broadcast_scattered(tree, self.circle()))
            }
            _ => steps(kernel::broadcast(self.tree(algorithm, levels), blocks)),
        }
    }

    pub(super) fn gather(&self, algorithm: Algorithm) -> Steps {
        let &Stand { rank, root, .. } = self;
        match algorithm {
            Algorithm::Binomial => steps(kernel::gather_tree(self.shaped(Binomial), rank)),
            _ => steps(kernel::gather(self.net(), rank, root, ALL)),
        }
    }

    pub(super) fn scatter(&self, algorithm: Algorithm) -> Steps {
        let &Stand { rank, root, .. } = self;
        match algorithm {
            Algorithm::Binomial => steps(kernel::scatter_tree(self.shaped(Binomial), rank)),
            _ => steps(kernel::scatter(self.net(), rank, root, ALL)),
        }
    }

    pub(super) fn allgather(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Linear => steps(kernel::allgather_fan(
                self.tree(algorithm, None),
                self.net(),
                self.rank,
            )),
            Algorithm::Turns => steps(kernel::allgather_turns(self.circle(), self.ranks)),
            Algorithm::Doubling => steps(kernel::allgather_doubling(self.rank, self.ranks)),
            _ => steps(kernel::allgather(self.circle())),
        }
    }

    pub(super) fn alltoall(&self, algorithm: Algorithm) -> Steps {
        let ahead = match algorithm {
            Algorithm::Bruck => return steps(kernel::alltoall_bruck(self.rank, self.ranks)),
            Algorithm::Pairs => 1,
            _ => self.ranks,
        };
        steps(kernel::alltoall(self.circle(), ahead))
    }

    pub(super) fn allreduce(
        &self,
        algorithm: Algorithm,
        blocks: usize,
        levels: Option<&Levels>,
    ) -> Steps {
        let &Stand { rank, ranks, .. } = self;
        match algorithm {
            Algorithm::Doubling => steps(kernel::allreduce_doubling(rank, ranks)),
            Algorithm::Halving => steps(kernel::allreduce_halving(rank, ranks)),
            Algorithm::Ring => steps(kernel::allreduce_circle(self.circle())),
            _ => steps(kernel::allreduce(self.tree(algorithm, levels), blocks)),
        }
    }

    pub(super) fn reduce_scatter(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Ring => steps(kernel::reduce_scatter_circle(self.circle())),
            _ => {
                let tree = self.tree(algorithm, None);
                steps(kernel::reduce_scatter(tree, self.net(), self.rank))
            }
        }
    }

    pub(super) fn scan(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Chain => steps(kernel::scan(self.rank, self.ranks)),
            _ => steps(kernel::scan_doubling(self.rank, self.ranks)),
        }
    }

    pub(super) fn exscan(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Chain => steps(kernel::exscan(self.rank, self.ranks)),
            _ => steps(kernel::exscan_doubling(self.rank, self.ranks)),
        }
    }
}
