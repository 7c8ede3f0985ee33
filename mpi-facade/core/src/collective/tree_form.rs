//! The shapes of the trees of collective operations, by the names of their algorithms.

use super::algorithm::Algorithm;
use alloc::vec;
use alloc::vec::Vec;
use pombo_collective::model::{Hold, Split};
use pombo_collective::topology::{Binomial, Blocked, Chain, Sequential, Shape};

/// The shape of a tree, chosen at run time, so that each operation is compiled once for all shapes.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Sequential,
    Chain,
    Binomial,
    /// Blocks of so many ranks.
    Blocked(usize),
}

impl Form {
    /// Returns the shape of an algorithm's tree, which is the binomial one if it has no other; `block` is asked for the
    /// ranks in a block.
    pub(super) fn of(algorithm: Algorithm, block: impl FnOnce() -> usize) -> Form {
        match algorithm {
            Algorithm::Linear => Form::Sequential,
            Algorithm::Chain => Form::Chain,
            Algorithm::BlockedBinomial => Form::Blocked(block()),
            _ => Form::Binomial,
        }
    }
}

impl Shape for Form {
    fn parent(&self, rank: usize, ranks: usize) -> usize {
        match *self {
            Form::Sequential => Sequential.parent(rank, ranks),
            Form::Chain => Chain.parent(rank, ranks),
            Form::Binomial => Binomial.parent(rank, ranks),
            Form::Blocked(block) => Blocked { block }.parent(rank, ranks),
        }
    }

    fn degree(&self, rank: usize, ranks: usize) -> usize {
        match *self {
            Form::Sequential => Sequential.degree(rank, ranks),
            Form::Chain => Chain.degree(rank, ranks),
            Form::Binomial => Binomial.degree(rank, ranks),
            Form::Blocked(block) => Blocked { block }.degree(rank, ranks),
        }
    }

    fn child(&self, rank: usize, ranks: usize, index: usize) -> usize {
        match *self {
            Form::Sequential => Sequential.child(rank, ranks, index),
            Form::Chain => Chain.child(rank, ranks, index),
            Form::Binomial => Binomial.child(rank, ranks, index),
            Form::Blocked(block) => Blocked { block }.child(rank, ranks, index),
        }
    }
}

/// Returns a table for the optimal tree of so many ranks.
pub(super) fn table(ranks: usize) -> Vec<Split> {
    vec![Split::ALONE; ranks + 1]
}

/// Returns the block of the blocked binomial tree of least latency, among the largest ones that give one block, two, four
/// and so on.
pub(super) fn best_block(times: Hold, ranks: usize) -> usize {
    let counts = core::iter::successors(Some(1), |count| Some(count * 2));
    let blocks = counts
        .take_while(|&count| count <= ranks)
        .map(|count| ranks / count);
    let latency = |&block: &usize| times.multicast(Form::Blocked(block), ranks).latency;
    blocks.min_by_key(latency).unwrap_or(1)
}
