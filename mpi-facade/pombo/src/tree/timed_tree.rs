//! A tree with the times at which its ranks send and have the message. Only `tree` uses it.

use pombo_collective::model::Hold;
use pombo_collective::topology::{Rooted, Shape, Tree};

/// A message from a rank to one of its children.
pub(super) struct Send {
    pub(super) to: usize,
    pub(super) begin: u64,
}

/// A broadcast from rank 0 along one tree.
pub(super) struct TimedTree {
    pub(super) name: String,
    pub(super) times: Hold,
    /// When each rank has the message.
    arrivals: Vec<u64>,
    /// The sends of each rank in their order.
    sends: Vec<Vec<Send>>,
}

impl TimedTree {
    /// Applies a shape, in which every parent has a lower number than its children, to `ranks` ranks.
    pub(super) fn new<S: Shape>(
        name: impl Into<String>,
        shape: S,
        times: Hold,
        ranks: usize,
    ) -> TimedTree {
        let mut arrivals = vec![0; ranks];
        let mut sends = Vec::with_capacity(ranks);
        for rank in 0..ranks {
            let mut begin = arrivals[rank];
            let mut of_rank = Vec::new();
            for to in Rooted::new(shape, rank, ranks, 0).children() {
                of_rank.push(Send { to, begin });
                arrivals[to] = begin + times.end;
                begin += times.hold;
            }
            sends.push(of_rank);
        }
        TimedTree {
            name: name.into(),
            times,
            arrivals,
            sends,
        }
    }

    pub(super) fn arrival(&self, rank: usize) -> u64 {
        self.arrivals[rank]
    }

    pub(super) fn sends(&self, rank: usize) -> &[Send] {
        &self.sends[rank]
    }

    /// Returns when the last rank has the message.
    pub(super) fn latency(&self) -> u64 {
        self.arrivals.iter().copied().max().unwrap_or(0)
    }

    /// Returns when the root can begin something else.
    pub(super) fn hold(&self) -> u64 {
        self.sends[0].len() as u64 * self.times.hold
    }

    /// Returns every rank with its depth: a rank, then the subtrees of its children in the order in which it serves
    /// them.
    pub(super) fn rows(&self) -> Vec<(usize, usize)> {
        let (mut rows, mut left) = (Vec::new(), vec![(0, 0)]);
        while let Some((rank, depth)) = left.pop() {
            rows.push((rank, depth));
            let below = self.sends[rank].iter().rev();
            left.extend(below.map(|send| (send.to, depth + 1)));
        }
        rows
    }
}
