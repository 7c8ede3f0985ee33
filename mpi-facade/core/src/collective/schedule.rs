//! The kernel's schedules by the names of their algorithms.

use super::Algorithm;
use alloc::boxed::Box;
use pombo_kernel::collective::{self as kernel, Distributor, Step};
use pombo_kernel::topology::{Binomial, Chain, Circle, Complete, Rooted, Sequential, Shape};

/// One rank's part of an operation.
pub(super) type Steps = Box<dyn Iterator<Item = Step>>;

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

    fn tree<S: Shape>(&self, shape: S) -> Rooted<S> {
        Rooted::new(shape, self.rank, self.ranks, self.root)
    }

    fn net(&self) -> Complete {
        Complete::new(self.ranks)
    }

    fn circle(&self) -> Circle<Complete> {
        Circle::new(self.net(), self.rank)
    }

    pub(super) fn barrier(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Linear => Box::new(kernel::barrier_tree(self.tree(Sequential))),
            Algorithm::Binomial => Box::new(kernel::barrier_tree(self.tree(Binomial))),
            _ => Box::new(kernel::barrier_dissemination(self.circle())),
        }
    }

    pub(super) fn broadcast(&self, algorithm: Algorithm, blocks: usize) -> Steps {
        match algorithm {
            Algorithm::Linear => Box::new(kernel::broadcast(self.tree(Sequential), blocks)),
            Algorithm::Chain => Box::new(kernel::broadcast(self.tree(Chain), blocks)),
            Algorithm::Scattered => Box::new(kernel::broadcast_scattered(
                self.tree(Binomial),
                self.circle(),
            )),
            _ => Box::new(kernel::broadcast(self.tree(Binomial), blocks)),
        }
    }

    pub(super) fn gather(&self, algorithm: Algorithm) -> Steps {
        let &Stand { rank, root, .. } = self;
        match algorithm {
            Algorithm::Binomial => Box::new(kernel::gather_tree(self.tree(Binomial), rank)),
            _ => Box::new(kernel::gather(self.net(), rank, root, ALL)),
        }
    }

    pub(super) fn scatter(&self, algorithm: Algorithm) -> Steps {
        let &Stand { rank, root, .. } = self;
        match algorithm {
            Algorithm::Binomial => Box::new(kernel::scatter_tree(self.tree(Binomial), rank)),
            _ => Box::new(kernel::scatter(self.net(), rank, root, ALL)),
        }
    }

    pub(super) fn allgather(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Turns => Box::new(kernel::allgather_turns(self.circle(), self.ranks)),
            Algorithm::Doubling => Box::new(kernel::allgather_doubling(self.rank, self.ranks)),
            _ => Box::new(kernel::allgather(self.circle())),
        }
    }

    pub(super) fn alltoall(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Bruck => Box::new(kernel::alltoall_bruck(self.rank, self.ranks)),
            Algorithm::Pairs => Box::new(kernel::alltoall(self.circle(), 1)),
            _ => Box::new(kernel::alltoall(self.circle(), self.ranks)),
        }
    }

    pub(super) fn reduce(&self, algorithm: Algorithm, blocks: usize) -> Steps {
        match algorithm {
            Algorithm::Linear => Box::new(kernel::reduce(self.tree(Sequential), blocks)),
            Algorithm::Chain => Box::new(kernel::reduce(self.tree(Chain), blocks)),
            _ => Box::new(kernel::reduce(self.tree(Binomial), blocks)),
        }
    }

    pub(super) fn allreduce(&self, algorithm: Algorithm, blocks: usize) -> Steps {
        let &Stand { rank, ranks, .. } = self;
        match algorithm {
            Algorithm::Linear => Box::new(kernel::allreduce(self.tree(Sequential), blocks)),
            Algorithm::Chain => Box::new(kernel::allreduce(self.tree(Chain), blocks)),
            Algorithm::Doubling => Box::new(kernel::allreduce_doubling(rank, ranks)),
            Algorithm::Halving => Box::new(kernel::allreduce_halving(rank, ranks)),
            Algorithm::Ring => Box::new(kernel::allreduce_circle(self.circle())),
            _ => Box::new(kernel::allreduce(self.tree(Binomial), blocks)),
        }
    }

    pub(super) fn reduce_scatter(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Ring => Box::new(kernel::reduce_scatter_circle(self.circle())),
            _ => Box::new(kernel::reduce_scatter(
                self.tree(Binomial),
                self.net(),
                self.rank,
            )),
        }
    }

    pub(super) fn scan(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Chain => Box::new(kernel::scan(self.rank, self.ranks)),
            _ => Box::new(kernel::scan_doubling(self.rank, self.ranks)),
        }
    }

    pub(super) fn exscan(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Chain => Box::new(kernel::exscan(self.rank, self.ranks)),
            _ => Box::new(kernel::exscan_doubling(self.rank, self.ranks)),
        }
    }
}
