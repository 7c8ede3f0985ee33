//! The circle: every rank has one predecessor and one successor.

use super::Topology;

/// The circle of a topology, as one rank sees it. Partners come in pairs: this rank sends to one while it receives from
/// the other. All ranks use the same distance at a time, so no rank receives from two.
#[derive(Clone, Copy, Debug)]
pub struct Circle<T> {
    topology: T,
    place: usize,
    ranks: usize,
}

impl<T: Topology> Circle<T> {
    /// Creates the circle as `rank` sees it.
    pub fn new(topology: T, rank: usize) -> Self {
        Circle {
            topology,
            place: topology.place(rank),
            ranks: topology.ranks(),
        }
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Returns the rank itself.
    pub fn rank(&self) -> usize {
        self.topology.at(self.place)
    }

    /// Returns the rank `steps` steps behind this one; `steps` is at most the number of ranks.
    #[inline]
    pub fn behind(&self, steps: usize) -> usize {
        let place = self.place + steps;
        self.topology.at(if place >= self.ranks {
            place - self.ranks
        } else {
            place
        })
    }

    /// Returns the rank `steps` steps before this one; `steps` is at most the number of ranks.
    #[inline]
    pub fn before(&self, steps: usize) -> usize {
        self.behind(self.ranks - steps)
    }

    /// Returns pairs of destination and source at distance one, two and so on; every other rank occurs once in each
    /// position.
    pub fn turns(self) -> impl DoubleEndedIterator<Item = (usize, usize)> + Clone {
        (1..self.ranks).map(move |steps| (self.behind(steps), self.before(steps)))
    }

    /// Returns destination and source at distance one, two, four and so on below the number of ranks, as distance,
    /// destination, source.
    pub fn leaps(self) -> impl Iterator<Item = (usize, usize, usize)> + Clone {
        core::iter::successors(Some(1), |steps| Some(steps * 2))
            .take_while(move |&steps| steps < self.ranks)
            .map(move |steps| (steps, self.behind(steps), self.before(steps)))
    }
}
