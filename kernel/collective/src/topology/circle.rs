//! The circle: every rank has one before and one behind it.

use super::Topology;

/// The circle of a topology, as one rank sees it. Partners come in pairs: whom this rank sends to while it receives
/// from the other. Everybody turns the same number of steps at a time, so no rank is the target of two.
#[derive(Clone, Copy, Debug)]
pub struct Circle<T> {
    topology: T,
    place: usize,
    ranks: usize,
}

impl<T: Topology> Circle<T> {
    /// As `rank` sees it.
    pub fn new(topology: T, rank: usize) -> Self {
        Circle {
            topology,
            place: topology.place(rank),
            ranks: topology.ranks(),
        }
    }

    /// How many ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The rank itself.
    pub fn rank(&self) -> usize {
        self.topology.at(self.place)
    }

    /// The rank so many steps behind this one; at most the number of ranks.
    #[inline]
    pub fn behind(&self, steps: usize) -> usize {
        let place = self.place + steps;
        self.topology.at(if place >= self.ranks {
            place - self.ranks
        } else {
            place
        })
    }

    /// The rank so many steps before this one; at most the number of ranks.
    #[inline]
    pub fn before(&self, steps: usize) -> usize {
        self.behind(self.ranks - steps)
    }

    /// Every other rank once: one step, two steps and so on. Pairs of whom to send to and whom to receive from.
    pub fn turns(self) -> impl DoubleEndedIterator<Item = (usize, usize)> + Clone {
        (1..self.ranks).map(move |steps| (self.behind(steps), self.before(steps)))
    }

    /// One, two, four and so on steps, as many as are less than the number of ranks: steps, whom to send to, whom to
    /// receive from.
    pub fn leaps(self) -> impl Iterator<Item = (usize, usize, usize)> + Clone {
        core::iter::successors(Some(1), |steps| Some(steps * 2))
            .take_while(move |&steps| steps < self.ranks)
            .map(move |steps| (steps, self.behind(steps), self.before(steps)))
    }
}
