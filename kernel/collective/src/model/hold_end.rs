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
        let tree = Rooted::new(shape, 0, ranks, 0);
        Multicast {
            hold: tree.children().count() as u64 * self.hold,
            latency: (0..ranks)
                .map(|rank| self.arrival(shape, ranks, rank))
                .max()
                .unwrap_or(0),
        }
    }

    /// Returns the time at which a rank has the message.
    pub fn arrival<S: Shape>(&self, shape: S, ranks: usize, rank: usize) -> u64 {
        let (mut at, mut time) = (rank, 0);
        while at != 0 {
            let parent = shape.parent(at, ranks);
            let mut children = Rooted::new(shape, parent, ranks, 0).children();
            let turn = children.position(|child| child == at).unwrap_or(0);
            time += turn as u64 * self.hold + self.end;
            at = parent;
        }
        time
    }
}
