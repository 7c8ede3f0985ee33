//! The schedules of `pombo_collective` by the names of their algorithms.

use super::Algorithm;
use super::multicast_bcast::MulticastOperation;
use super::tree_form::Form;
use alloc::boxed::Box;
use pombo_collective::topology::{Binomial, Circle, Complete, Rooted, Shape, Tree};
use pombo_collective::{self as schedules, Buffer, Distributor, Step};

/// One rank's part of an operation.
pub(super) enum Steps {
    /// The operation is a schedule of messages and of local steps.
    Schedule(Box<dyn StepSource>),
    /// The operation is a multicast and has no messages.
    Multicast(MulticastOperation),
}

/// The part of `Iterator` that schedules need: the vtable of an iterator object would hold many functions that are
/// never called.
pub(super) trait StepSource {
    fn next(&mut self) -> Option<Step>;
}

impl<I: Iterator<Item = Step>> StepSource for I {
    fn next(&mut self) -> Option<Step> {
        Iterator::next(self)
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        match self {
            Steps::Schedule(part) => part.next(),
            Steps::Multicast(_) => None,
        }
    }
}

impl Steps {
    /// Makes a schedule of steps.
    pub(super) fn of(part: impl Iterator<Item = Step> + 'static) -> Steps {
        Steps::Schedule(Box::new(part))
    }
}

fn steps(part: impl Iterator<Item = Step> + 'static) -> Steps {
    Steps::of(part)
}

/// This rank's position in an operation.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub(super) rank: usize,
    pub(super) ranks: usize,
    pub(super) root: usize,
}

const ALL: Distributor<'static> = Distributor::Ascending;

impl Position {
    /// Returns whether this rank is the root.
    pub(super) fn is_root(&self) -> bool {
        self.rank == self.root
    }

    /// Returns whether this rank is a leaf in the tree of an algorithm: it has a parent and no children.
    pub(super) fn is_leaf(&self, algorithm: Algorithm) -> bool {
        !self.is_root() && self.tree(algorithm).children().next().is_none()
    }

    fn tree(&self, algorithm: Algorithm) -> Rooted<Form> {
        self.shaped(Form::of(algorithm, || 1))
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

    pub(super) fn barrier(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::RecursiveDoubling => steps(schedules::barrier_dissemination(self.circle())),
            _ => steps(schedules::barrier_tree(self.tree(algorithm))),
        }
    }

    pub(super) fn broadcast(&self, algorithm: Algorithm, blocks: usize) -> Steps {
        match algorithm {
            Algorithm::ScatterAllgather => {
                let tree = self.shaped(Binomial);
                steps(schedules::broadcast_scatter_allgather(tree, self.circle()))
            }
            _ => steps(schedules::broadcast(self.tree(algorithm), blocks)),
        }
    }

    /// Broadcasts blocks of the output by these steps; the other ranks than the root then copy all of them to the work
    /// buffer.
    pub(super) fn and_copy(&self, broadcast: Steps, blocks: usize) -> Steps {
        let (from, into) = (Buffer::Output.all(blocks), Buffer::Work.block(0));
        let copy = (!self.is_root()).then_some(Step::Copy { from, into });
        let last = [Step::Await(0)].into_iter().chain(copy);
        steps(broadcast.chain(last))
    }

    pub(super) fn gather(&self, algorithm: Algorithm) -> Steps {
        let &Position { rank, root, .. } = self;
        match algorithm {
            Algorithm::Binomial => steps(schedules::gather_tree(self.shaped(Binomial), rank)),
            _ => steps(schedules::gather(self.net(), rank, root, ALL)),
        }
    }

    pub(super) fn scatter(&self, algorithm: Algorithm) -> Steps {
        let &Position { rank, root, .. } = self;
        match algorithm {
            Algorithm::Binomial => steps(schedules::scatter_tree(self.shaped(Binomial), rank)),
            _ => steps(schedules::scatter(self.net(), rank, root, ALL)),
        }
    }

    pub(super) fn allgather(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Linear => steps(schedules::allgather_linear(
                self.tree(algorithm),
                self.net(),
                self.rank,
            )),
            Algorithm::SpreadOut => {
                steps(schedules::allgather_spread_out(self.circle(), self.ranks))
            }
            Algorithm::RecursiveDoubling => steps(schedules::allgather_recursive_doubling(
                self.rank, self.ranks,
            )),
            _ => steps(schedules::allgather(self.circle())),
        }
    }

    pub(super) fn alltoall(&self, algorithm: Algorithm) -> Steps {
        let ahead = match algorithm {
            Algorithm::Bruck => return steps(schedules::alltoall_bruck(self.rank, self.ranks)),
            Algorithm::Pairwise => 1,
            _ => self.ranks,
        };
        steps(schedules::alltoall(self.circle(), ahead))
    }

    pub(super) fn reduce(&self, algorithm: Algorithm, blocks: usize) -> Steps {
        steps(schedules::reduce(self.tree(algorithm), blocks))
    }

    /// Reduces between two ranks.
    pub(super) fn reduce_pair(&self, blocks: usize) -> Steps {
        let other = 1 - self.rank.min(1);
        steps(schedules::reduce_pair(other, self.is_root(), blocks))
    }

    /// Reduces to any root in the order of the ranks.
    pub(super) fn reduce_line(&self) -> Steps {
        let &Position { rank, ranks, root } = self;
        steps(schedules::reduce_line(rank, ranks, root, ALL))
    }

    pub(super) fn allreduce(&self, algorithm: Algorithm, blocks: usize) -> Steps {
        let &Position { rank, ranks, .. } = self;
        match algorithm {
            Algorithm::RecursiveDoubling => {
                steps(schedules::allreduce_recursive_doubling(rank, ranks))
            }
            Algorithm::Rabenseifner => steps(schedules::allreduce_rabenseifner(rank, ranks)),
            Algorithm::Ring => steps(schedules::allreduce_ring(self.circle())),
            _ => steps(schedules::allreduce(self.tree(algorithm), blocks)),
        }
    }

    pub(super) fn reduce_scatter(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Ring => steps(schedules::reduce_scatter_ring(self.circle())),
            _ => {
                let tree = self.tree(algorithm);
                steps(schedules::reduce_scatter(tree, self.net(), self.rank))
            }
        }
    }

    pub(super) fn scan(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Chain => steps(schedules::scan(self.rank, self.ranks)),
            _ => steps(schedules::scan_recursive_doubling(self.rank, self.ranks)),
        }
    }

    pub(super) fn exscan(&self, algorithm: Algorithm) -> Steps {
        match algorithm {
            Algorithm::Chain => steps(schedules::exscan(self.rank, self.ranks)),
            _ => steps(schedules::exscan_recursive_doubling(self.rank, self.ranks)),
        }
    }
}
