//! The time of every operation by every algorithm, from the times of its messages.

use super::Hold;
use super::hold_end::path;
use crate::topology::{Contiguous, Sequential, Shape};

/// What messages and operators cost on a network, in any unit of time. A function from sizes to times is a network
/// whose operators cost nothing; a [`Hold`] is one on which all sizes cost the same.
pub trait Network {
    /// Returns the times of a message of `bytes` bytes.
    fn message(&self, bytes: usize) -> Hold;

    /// Returns the time in which a rank combines two operands of `bytes` bytes.
    fn combine(&self, bytes: usize) -> u64 {
        let _ = bytes;
        0
    }
}

impl<F: Fn(usize) -> Hold> Network for F {
    fn message(&self, bytes: usize) -> Hold {
        self(bytes)
    }
}

impl Network for Hold {
    fn message(&self, _bytes: usize) -> Hold {
        *self
    }
}

/// Predicts how long operations take from the beginning, which all ranks have in common, until the last rank has what
/// it wants. Each function has the name of the operation that it predicts; `bytes` is the size of all data of an
/// operation that each rank contributes or gets as a whole, `block` the part that belongs to one rank.
///
/// A rank that sends or receives several messages does so at intervals of t_hold, and a round in which it does both
/// takes the longer of t_hold and t_end. Data is divided evenly, and what a rank copies within its memory is free.
/// Operations over boards in shared memory are not here: they send no messages.
#[derive(Clone, Copy, Debug)]
pub struct Prediction<'a, N> {
    network: &'a N,
    ranks: usize,
}

impl<'a, N: Network> Prediction<'a, N> {
    /// Creates predictions for `ranks` ranks, 1 or more.
    pub const fn new(network: &'a N, ranks: usize) -> Self {
        Prediction { network, ranks }
    }

    /// The time of a round in which every rank sends and receives a message.
    fn exchange(&self, bytes: usize) -> u64 {
        let Hold { hold, end } = self.network.message(bytes);
        hold.max(end)
    }

    /// The times of a message that the receiver combines with what it has while the next one arrives.
    fn combined(&self, bytes: usize) -> Hold {
        let Hold { hold, end } = self.network.message(bytes);
        let combine = self.network.combine(bytes);
        Hold {
            hold: hold.max(combine),
            end: end + combine,
        }
    }

    /// The sum over the distances 1, 2, 4 and so on below the number of ranks.
    fn leaps(&self, round: impl Fn(usize) -> u64) -> u64 {
        let leaps = core::iter::successors(Some(1), |leap| Some(leap * 2));
        leaps.take_while(|&leap| leap < self.ranks).map(round).sum()
    }

    /// The time of rounds in which every rank has a new partner and may be `ahead` of the first that is incomplete.
    fn partners(&self, block: usize, ahead: usize) -> u64 {
        let Some(last) = self.ranks.checked_sub(2) else {
            return 0;
        };
        let times = self.network.message(block);
        if ahead < 2 {
            return (last as u64 + 1) * self.exchange(block);
        }
        // Nothing waits for the last send.
        let period = self.exchange(block).max(times.start(ahead));
        (last / ahead) as u64 * period + times.start(last % ahead) + times.end
    }

    /// The time until all segments of a message are through a tree. A segment waits at most where a rank on its way
    /// has most children.
    fn pipeline<S: Shape>(&self, shape: S, segments: usize, times: Hold) -> u64 {
        let last = |rank| {
            let edges = path(shape, self.ranks, rank);
            let (way, most) = edges.fold((0, 0), |(way, most), edge| {
                let degree = shape.degree(edge.parent, self.ranks);
                (way + times.start(edge.turn) + times.end, most.max(degree))
            });
            way + times.start(most) * (segments.max(1) - 1) as u64
        };
        (0..self.ranks).map(last).max().unwrap_or(0)
    }

    /// Gather along the line, then broadcast along the tree, of nothing.
    pub fn barrier<S: Shape>(&self, shape: S) -> u64 {
        self.gather(0) + self.broadcast(shape, 0, 1)
    }

    /// Up and down the tree.
    pub fn barrier_tree<S: Shape>(&self, shape: S) -> u64 {
        2 * self.broadcast(shape, 0, 1)
    }

    /// A logarithmic number of rounds.
    pub fn barrier_dissemination(&self) -> u64 {
        self.leaps(|_| self.exchange(0))
    }

    /// Down the tree, in segments that follow each other.
    pub fn broadcast<S: Shape>(&self, shape: S, bytes: usize, segments: usize) -> u64 {
        let times = self.network.message(bytes.div_ceil(segments.max(1)));
        self.pipeline(shape, segments, times)
    }

    /// Scatter by the tree, after which every rank waits for its own sends, then all-gather on the circle.
    pub fn broadcast_scatter_allgather<S: Contiguous>(&self, shape: S, bytes: usize) -> u64 {
        let block = bytes.div_ceil(self.ranks);
        let sent = |rank| {
            let degree = shape.degree(rank, self.ranks);
            let sends = self.sends(shape, block, rank, degree);
            self.scattered(shape, block, rank) + sends
        };
        let scatter = (0..self.ranks).map(sent).max().unwrap_or(0);
        scatter + self.allgather(block)
    }

    /// The root receives from all others.
    pub fn gather(&self, block: usize) -> u64 {
        self.scatter(block)
    }

    /// Up the tree, where messages get longer.
    pub fn gather_tree<S: Contiguous>(&self, shape: S, block: usize) -> u64 {
        self.scatter_tree(shape, block)
    }

    /// The root sends to all others.
    pub fn scatter(&self, block: usize) -> u64 {
        self.pipeline(Sequential, 1, self.network.message(block))
    }

    /// Down the tree, where messages get shorter.
    pub fn scatter_tree<S: Contiguous>(&self, shape: S, block: usize) -> u64 {
        let arrivals = (0..self.ranks).map(|rank| self.scattered(shape, block, rank));
        arrivals.max().unwrap_or(0)
    }

    /// The time at which a rank has the blocks of its subtree.
    fn scattered<S: Contiguous>(&self, shape: S, block: usize, rank: usize) -> u64 {
        let edges = path(shape, self.ranks, rank).map(|edge| {
            let size = shape.size(edge.child, self.ranks);
            let before = self.sends(shape, block, edge.parent, edge.turn);
            before + self.network.message(block * size).end
        });
        edges.sum()
    }

    /// The time that a rank needs to send their blocks to its first children.
    fn sends<S: Contiguous>(&self, shape: S, block: usize, rank: usize, children: usize) -> u64 {
        let sends = (0..children).map(|turn| {
            let child = shape.child(rank, self.ranks, turn);
            let bytes = block * shape.size(child, self.ranks);
            self.network.message(bytes).hold
        });
        sends.sum()
    }

    /// Once round the circle.
    pub fn allgather(&self, block: usize) -> u64 {
        (self.ranks as u64 - 1) * self.exchange(block)
    }

    /// Ranges that double. One that wraps, which travels as two messages, counts as one.
    pub fn allgather_recursive_doubling(&self, block: usize) -> u64 {
        self.leaps(|have| self.exchange(block * have.min(self.ranks - have)))
    }

    /// Every rank to every other one, at most `ahead` rounds at once.
    pub fn allgather_spread_out(&self, block: usize, ahead: usize) -> u64 {
        self.partners(block, ahead)
    }

    /// Gather along the line, then broadcast of all blocks.
    pub fn allgather_linear<S: Shape>(&self, shape: S, block: usize) -> u64 {
        self.gather(block) + self.broadcast(shape, block * self.ranks, 1)
    }

    /// Every rank to every other one, at most `ahead` rounds at once.
    pub fn alltoall(&self, block: usize, ahead: usize) -> u64 {
        self.partners(block, ahead)
    }

    /// Rounds by the bits of the distance, each with all blocks that have the bit.
    pub fn alltoall_bruck(&self, block: usize) -> u64 {
        self.leaps(|leap| {
            let travellers = (0..self.ranks).filter(|distance| distance & leap != 0);
            self.exchange(block * travellers.count())
        })
    }

    /// Up the tree: as the broadcast, backwards in time, with the operator at every message.
    pub fn reduce<S: Shape>(&self, shape: S, bytes: usize, segments: usize) -> u64 {
        let times = self.combined(bytes.div_ceil(segments.max(1)));
        self.pipeline(shape, segments, times)
    }

    /// The root, rank 0, receives from all others and combines: nothing with the first message, its own data at the end.
    pub fn reduce_line(&self, bytes: usize) -> u64 {
        let (times, combine) = (self.network.message(bytes), self.network.combine(bytes));
        match self.ranks {
            1 => 0,
            2 => times.end + combine,
            ranks => {
                let more = self.combined(bytes).start(ranks - 3);
                times.end + times.hold + more + 2 * combine
            }
        }
    }

    /// Between two ranks, in segments: one arrives while the one before is combined.
    pub fn reduce_pair(&self, bytes: usize, segments: usize) -> u64 {
        let segments = segments.max(1);
        let segment = bytes.div_ceil(segments);
        let (times, combine) = (self.network.message(segment), self.network.combine(segment));
        times.end + combine + (segments as u64 - 1) * times.hold.max(combine)
    }

    /// Up and down the tree.
    pub fn allreduce<S: Shape>(&self, shape: S, bytes: usize, segments: usize) -> u64 {
        self.reduce(shape, bytes, segments) + self.broadcast(shape, bytes, segments)
    }

    /// Up the tree with all blocks, then from the root to all others with one.
    pub fn reduce_scatter<S: Shape>(&self, shape: S, block: usize) -> u64 {
        self.reduce(shape, block * self.ranks, 1) + self.scatter(block)
    }

    /// Once round the circle, with the operator.
    pub fn reduce_scatter_ring(&self, block: usize) -> u64 {
        let round = self.exchange(block) + self.network.combine(block);
        (self.ranks as u64 - 1) * round
    }

    /// Twice round the circle, once with the operator.
    pub fn allreduce_ring(&self, bytes: usize) -> u64 {
        let block = bytes.div_ceil(self.ranks);
        self.reduce_scatter_ring(block) + self.allgather(block)
    }

    /// Exchanges of all data on a hypercube.
    pub fn allreduce_recursive_doubling(&self, bytes: usize) -> u64 {
        let round = self.exchange(bytes) + self.network.combine(bytes);
        self.fold(bytes) + u64::from(self.ranks.ilog2()) * round
    }

    /// Exchanges of halves, quarters and so on, with the operator, and then back.
    pub fn allreduce_rabenseifner(&self, bytes: usize) -> u64 {
        let rounds = (1..=self.ranks.ilog2()).map(|round| {
            let share = bytes.div_ceil(1 << round);
            2 * self.exchange(share) + self.network.combine(share)
        });
        self.fold(bytes) + rounds.sum::<u64>()
    }

    /// The messages between a hypercube and the ranks that have no place in it.
    fn fold(&self, bytes: usize) -> u64 {
        if self.ranks.is_power_of_two() {
            return 0;
        }
        self.combined(bytes).end + self.network.message(bytes).end
    }

    /// From rank to rank.
    pub fn scan(&self, bytes: usize) -> u64 {
        (self.ranks as u64 - 1) * self.combined(bytes).end
    }

    /// From rank to rank.
    pub fn exscan(&self, bytes: usize) -> u64 {
        self.scan(bytes)
    }

    /// A logarithmic number of rounds with the operator.
    pub fn scan_recursive_doubling(&self, bytes: usize) -> u64 {
        self.leaps(|_| self.exchange(bytes) + self.network.combine(bytes))
    }

    /// As [`scan_recursive_doubling`](Self::scan_recursive_doubling), with the operator a second time in every round but
    /// the first.
    pub fn exscan_recursive_doubling(&self, bytes: usize) -> u64 {
        let combine = self.network.combine(bytes);
        let more = self.leaps(|_| combine).saturating_sub(combine);
        self.scan_recursive_doubling(bytes) + more
    }
}
