//! A set of processes of the job.

use super::MAX_PROCESSES;
use pombo_kernel::Peer;

/// A set of up to [`MAX_PROCESSES`] processes, one bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Processes(pub(super) [u64; MAX_PROCESSES / 64]);

impl Processes {
    /// The empty set.
    pub const NONE: Processes = Processes([0; MAX_PROCESSES / 64]);

    /// Returns the set of the first `count` processes.
    pub fn first(count: usize) -> Self {
        (0..count as u16).map(Peer).collect()
    }

    /// Adds a process; returns whether it was not in the set.
    pub fn insert(&mut self, peer: Peer) -> bool {
        let new = !self.contains(peer);
        if let Some(word) = self.0.get_mut(peer.index() / 64) {
            *word |= 1 << (peer.index() % 64);
        }
        new
    }

    /// Returns whether the process is in the set.
    pub fn contains(&self, peer: Peer) -> bool {
        let word = self.0.get(peer.index() / 64).copied().unwrap_or(0);
        word >> (peer.index() % 64) & 1 == 1
    }

    /// Returns the number of processes in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        *self == Processes::NONE
    }

    /// Returns the processes of both sets.
    pub fn and(mut self, other: Processes) -> Self {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(word, its)| *word &= its);
        self
    }

    /// Returns the processes of either set.
    pub fn or(mut self, other: Processes) -> Self {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(word, its)| *word |= its);
        self
    }

    /// Returns the processes that are not in the other set.
    pub fn without(mut self, other: Processes) -> Self {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(word, its)| *word &= !its);
        self
    }

    /// Returns whether every process of this set is in the other.
    pub fn is_subset(&self, other: Processes) -> bool {
        self.without(other).is_empty()
    }

    /// Returns the processes in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Peer> {
        let words = (0..).step_by(64).zip(self.0);
        words.flat_map(|(first, mut word)| {
            core::iter::from_fn(move || {
                let bit = word.trailing_zeros() as u16;
                word &= word.wrapping_sub(1);
                (bit < 64).then(|| Peer(first + bit))
            })
        })
    }

    /// Returns the lowest process.
    pub fn lowest(&self) -> Option<Peer> {
        self.iter().next()
    }

    /// Returns whether these are a majority of `all`: more than half, or half with the lowest of all. Two disjoint sets
    /// are not both a majority.
    pub fn is_majority_of(&self, all: Processes) -> bool {
        let (own, all_len) = (self.and(all).len() * 2, all.len());
        own > all_len || own == all_len && all.lowest().is_some_and(|lowest| self.contains(lowest))
    }
}

impl FromIterator<Peer> for Processes {
    fn from_iter<I: IntoIterator<Item = Peer>>(peers: I) -> Self {
        let mut set = Processes::NONE;
        for peer in peers {
            set.insert(peer);
        }
        set
    }
}
