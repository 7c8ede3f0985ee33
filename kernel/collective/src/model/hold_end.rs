//! The cost of a tree from two times per message size.

use crate::topology::{Rooted, Shape, Tree};

/// The two times of one message size, measured at user level, in any unit of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// t_hold: from the beginning of a send until the sender can begin the next one.
    pub hold: u64,
    /// t_end: from the beginning of a send until the receiver can begin to forward the message.
    pub end: u64,
}

/// The times of a broadcast along a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multicast {
    /// From the beginning until the root can begin something else.
    pub hold: u64,
    /// From the beginning until the last rank has the message.
    pub latency: u64,
}

impl Hold {
    /// Returns the times of a broadcast among `ranks` ranks along trees of a shape: every rank sends to its children
    /// one after the other.
    pub fn multicast<S: Shape>(&self, shape: S, ranks: usize) -> Multicast {
        self.multicast_with_ports(shape, ranks, 1)
    }

    /// Returns the times of a broadcast in which every rank sends to up to `ports` children at once; 0 counts as 1.
    pub fn multicast_with_ports<S: Shape>(
        &self,
        shape: S,
        ranks: usize,
        ports: usize,
    ) -> Multicast {
        let degree = Rooted::new(shape, 0, ranks, 0).children().count();
        let arrivals = (0..ranks).map(|rank| self.arrival_with_ports(shape, ranks, rank, ports));
        Multicast {
            hold: self.start(degree.div_ceil(ports.max(1))),
            latency: arrivals.max().unwrap_or(0),
        }
    }

    /// Returns the time at which a rank has the message if every rank sends to its children one after the other.
    pub fn arrival<S: Shape>(&self, shape: S, ranks: usize, rank: usize) -> u64 {
        self.arrival_with_ports(shape, ranks, rank, 1)
    }

    fn arrival_with_ports<S: Shape>(
        &self,
        shape: S,
        ranks: usize,
        rank: usize,
        ports: usize,
    ) -> u64 {
        path(shape, ranks, rank).fold(0, |time: u64, edge| {
            let start = self.start(edge.turn / ports.max(1));
            time.saturating_add(start).saturating_add(self.end)
        })
    }

    /// Returns how long after the first send of a rank a later one begins.
    pub(super) const fn start(&self, turn: usize) -> u64 {
        self.hold.saturating_mul(turn as u64)
    }
}

/// A child on the way from the root to a rank.
pub(super) struct Edge {
    pub(super) parent: usize,
    pub(super) child: usize,
    /// How many children of the parent are served before this one.
    pub(super) turn: usize,
}

/// Returns the edges between a rank and the root, from the rank on.
pub(super) fn path<S: Shape>(shape: S, ranks: usize, rank: usize) -> impl Iterator<Item = Edge> {
    let edge = move |child: usize| {
        (child != 0).then(|| {
            let parent = shape.parent(child, ranks);
            let mut children = Rooted::new(shape, parent, ranks, 0).children();
            let turn = children.position(|other| other == child).unwrap_or(0);
            Edge {
                parent,
                child,
                turn,
            }
        })
    };
    core::iter::successors(edge(rank), move |last| edge(last.parent))
}
