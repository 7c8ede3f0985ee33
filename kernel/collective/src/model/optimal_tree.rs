//! The broadcast tree of least time. Source: parameterised multicast trees, section 3.

use super::Hold;
use crate::topology::{Contiguous, Shape};

/// The best first step of a broadcast among some ranks: one entry of the table behind an [`OptimalTree`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    /// Number of ranks that the sender keeps in its own part.
    keep: u32,
    /// The time until the last rank has the message.
    time: u64,
}

impl Split {
    /// One rank alone, which is also the value of entries that are not computed yet.
    pub const ALONE: Split = Split { keep: 1, time: 0 };
}

/// Fills entry i with the best split of i ranks, in time proportional to the number of entries.
///
/// With t\[i\] as the least time for i ranks, p ports, and j as the ranks that the sender keeps, the published recurrence
/// is t\[i\] = min over j of max(t\[j\] + t_hold, t\[i - j\] + t_end), for one port. It charges t_hold also to the last
/// send, after which nobody waits for the sender; so with j = 1 only the second term counts here, which makes the
/// result right for t_hold > t_end too.
///
/// The first term then never falls with j and the second one never rises, so the minimum is where they cross. One more
/// rank moves the crossing by 0 or 1, whatever the times and the number of ports: two candidates suffice.
const fn fill(table: &mut [Split], times: Hold, ports: usize) {
    let (mut ranks, mut keep) = (2, 1);
    while ranks < table.len() {
        let mut time = split(table, times, ports, ranks, keep);
        if keep + 1 < ranks {
            let next = split(table, times, ports, ranks, keep + 1);
            if next <= time {
                time = next;
                keep += 1;
            }
        }
        table[ranks] = Split {
            keep: keep as u32,
            time,
        };
        ranks += 1;
    }
}

/// Returns the time until the last of `ranks` ranks has the message if the sender keeps `keep` ranks in its own part.
const fn split(table: &[Split], times: Hold, ports: usize, ranks: usize, keep: usize) -> u64 {
    let theirs = (ranks - keep).div_ceil(ports);
    let there = table[theirs].time.saturating_add(times.end);
    let here = match keep {
        1 => 0,
        _ => table[keep].time.saturating_add(times.hold),
    };
    if here > there { here } else { there }
}

/// The table of the best trees for less than `N` ranks. It can be a constant; a reference to it is a [`Shape`].
#[derive(Clone, Copy, Debug)]
pub struct Optimal<const N: usize> {
    table: [Split; N],
    ports: usize,
}

impl<const N: usize> Optimal<N> {
    /// Computes the table for messages of these times, one at a time.
    pub const fn new(times: Hold) -> Self {
        Self::with_ports(times, 1)
    }

    /// Computes the table for `ports` messages at a time; 0 counts as 1. [`OptimalTree::with_ports`] tells what that
    /// means.
    pub const fn with_ports(times: Hold, ports: usize) -> Self {
        const { assert!(N > 1, "a table for 1 rank or more") };
        let ports = if ports == 0 { 1 } else { ports };
        let mut table = [Split::ALONE; N];
        fill(&mut table, times, ports);
        Optimal { table, ports }
    }

    /// Returns the tree of this table.
    pub const fn tree(&self) -> OptimalTree<'_> {
        OptimalTree {
            table: &self.table,
            ports: self.ports,
        }
    }

    /// Returns the time until the last of `ranks` ranks has the message; `ranks` is 1 or more, and less than `N`.
    pub const fn latency(&self, ranks: usize) -> u64 {
        self.tree().latency(ranks)
    }
}

/// The best trees by a table that the caller owns: for numbers of ranks that are known at run time. The number of ranks
/// of a tree is less than the length of the table.
#[derive(Clone, Copy, Debug)]
pub struct OptimalTree<'a> {
    table: &'a [Split],
    ports: usize,
}

impl<'a> OptimalTree<'a> {
    /// Computes a table for messages of these times, one at a time.
    pub const fn new(times: Hold, table: &'a mut [Split]) -> Self {
        Self::with_ports(times, 1, table)
    }

    /// Computes a table for `ports` messages at a time, 0 counts as 1: a sender serves up to `ports` ranks at once,
    /// each of which gets an equal part of the ranks that the sender does not keep, and t_hold later the next ones. All
    /// ports of a rank are free from the same moment on, so ports that work independently would serve no rank earlier.
    pub const fn with_ports(times: Hold, ports: usize, table: &'a mut [Split]) -> Self {
        let ports = if ports == 0 { 1 } else { ports };
        let mut alone = 0;
        while alone < table.len() && alone < 2 {
            table[alone] = Split::ALONE;
            alone += 1;
        }
        fill(table, times, ports);
        OptimalTree { table, ports }
    }

    /// Returns the time until the last of `ranks` ranks, 1 or more, has the message.
    pub const fn latency(&self, ranks: usize) -> u64 {
        self.table[ranks].time
    }

    /// Returns the subtrees of the children of the sender of `ranks` ranks, in the order in which it serves them: where
    /// each begins, counted from the sender, and its size.
    fn parts(self, ranks: usize) -> impl Iterator<Item = (usize, usize)> {
        let rounds = core::iter::successors(Some(ranks), move |&ranks| self.keep(ranks));
        rounds.flat_map(move |ranks| {
            let keep = self.keep(ranks).unwrap_or(ranks);
            let given = ranks - keep;
            let parts = self.ports.min(given);
            (0..parts).map(move |index| {
                // Parts are taken from the end on, larger ones first.
                let (size, larger) = (given / parts, given % parts);
                let before = index * size + index.min(larger);
                let own = size + usize::from(index < larger);
                (ranks - before - own, own)
            })
        })
    }

    /// Returns the number of ranks that a sender of `ranks` ranks keeps; `None` if there is nothing to send.
    fn keep(self, ranks: usize) -> Option<usize> {
        (ranks > 1).then(|| self.table[ranks].keep as usize)
    }

    /// Returns the parent of a rank, 0 for the root, and the size of the rank's subtree.
    fn place(self, rank: usize, ranks: usize) -> (usize, usize) {
        let (mut parent, mut at, mut size) = (0, 0, ranks);
        while at != rank {
            // Every rank is the sender or below one of its children.
            let below = self.parts(size).find(|(begin, _)| at + begin <= rank);
            let Some((begin, part)) = below else { break };
            (parent, at, size) = (at, at + begin, part);
        }
        (parent, size)
    }
}

impl Shape for OptimalTree<'_> {
    fn parent(&self, rank: usize, ranks: usize) -> usize {
        self.place(rank, ranks).0
    }

    fn degree(&self, rank: usize, ranks: usize) -> usize {
        self.parts(self.place(rank, ranks).1).count()
    }

    fn child(&self, rank: usize, ranks: usize, index: usize) -> usize {
        let mut parts = self.parts(self.place(rank, ranks).1);
        rank + parts.nth(index).map_or(0, |(begin, _)| begin)
    }
}

impl Contiguous for OptimalTree<'_> {
    fn size(&self, rank: usize, ranks: usize) -> usize {
        self.place(rank, ranks).1
    }
}

impl<const N: usize> Shape for &Optimal<N> {
    fn parent(&self, rank: usize, ranks: usize) -> usize {
        self.tree().parent(rank, ranks)
    }

    fn degree(&self, rank: usize, ranks: usize) -> usize {
        self.tree().degree(rank, ranks)
    }

    fn child(&self, rank: usize, ranks: usize, index: usize) -> usize {
        self.tree().child(rank, ranks, index)
    }
}

impl<const N: usize> Contiguous for &Optimal<N> {
    fn size(&self, rank: usize, ranks: usize) -> usize {
        self.tree().size(rank, ranks)
    }
}
