//! Two times per message size tell what a tree costs.

use crate::topology::{Rooted, Shape, Tree};

/// Measured for one size of messages, at user level, in any unit of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// From the beginning of a send until the sender can begin the next one: t_hold.
    pub hold: u64,
    /// From the beginning of a send until the receiver can begin to send on: t_end.
    pub end: u64,
}

/// What a broadcast along a tree takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multicast {
    /// Until the root can begin something else.
    pub hold: u64,
    /// Until the last rank has the message.
    pub latency: u64,
}

impl Hold {
    /// A broadcast among so many ranks along trees of a shape: every rank sends to its children one after the other.
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

    /// When a rank has the message.
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
