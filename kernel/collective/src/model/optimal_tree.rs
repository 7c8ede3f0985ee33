//! The broadcast tree of least time. Source: parameterised multicast trees, section 3.

use super::Hold;
use crate::topology::{Contiguous, Shape};

/// For every number of ranks below `N`, the number of ranks that the sender keeps in its own part after its next
/// message. A table of this size can be a constant; a reference to it is a [`Shape`].
///
/// The published recurrence sends one message at a time; here the sender may give the rest to `ports` ranks at once,
/// each of which serves an equal part of it. One port is the published case.
#[derive(Clone, Copy, Debug)]
pub struct Optimal<const N: usize> {
    keep: [u16; N],
    time: [u64; N],
    ports: usize,
}

impl<const N: usize> Optimal<N> {
    /// Computes the table for messages of these times, one at a time.
    pub const fn new(times: Hold) -> Self {
        Self::with_ports(times, 1)
    }

    /// Computes the table for `ports` messages at a time; 0 counts as 1.
    pub const fn with_ports(times: Hold, ports: usize) -> Self {
        const { assert!(N > 1 && N <= 1 << 16, "a table for 1 to 65535 ranks") };
        let ports = if ports == 0 { 1 } else { ports };
        let mut table = Optimal {
            keep: [1; N],
            time: [0; N],
            ports,
        };
        let mut ranks = 2;
        while ranks < N {
            // The best number never falls when ranks are added, so the search begins at the last one. This does not
            // hold if the hold time exceeds the end time; the search then begins at 1.
            let mut keep = if times.hold <= times.end && ports == 1 {
                table.keep[ranks - 1] as usize
            } else {
                1
            };
            table.time[ranks] = u64::MAX;
            while keep < ranks {
                let time = table.split(times, ranks, keep);
                if time < table.time[ranks] {
                    table.time[ranks] = time;
                    table.keep[ranks] = keep as u16;
                } else if times.hold <= times.end && ports == 1 && time > table.time[ranks] {
                    break;
                }
                keep += 1;
            }
            ranks += 1;
        }
        table
    }

    /// Returns the time until the last of `ranks` ranks has the message if the sender keeps `keep` ranks in its own
    /// part.
    const fn split(&self, times: Hold, ranks: usize, keep: usize) -> u64 {
        let theirs = (ranks - keep).div_ceil(self.ports);
        let there = self.time[theirs] + times.end;
        // A sender that keeps only itself does not wait until it can send again.
        let here = if keep == 1 {
            0
        } else {
            self.time[keep] + times.hold
        };
        if here > there { here } else { there }
    }

    /// Returns the time until the last of `ranks` ranks has the message; `ranks` is 1 or more, and less than `N`.
    pub const fn latency(&self, ranks: usize) -> u64 {
        self.time[ranks]
    }

    /// Returns where the subtree of the child `index` begins, counted from the sender of `ranks` ranks, and its size.
    fn part(&self, mut ranks: usize, mut index: usize) -> (usize, usize) {
        loop {
            let keep = usize::from(self.keep[ranks]);
            let given = ranks - keep;
            let parts = self.ports.min(given);
            if index < parts {
                // Parts are taken from the end on, larger ones first.
                let (size, larger) = (given / parts, given % parts);
                let before = index * size + index.min(larger);
                let own = size + usize::from(index < larger);
                return (ranks - before - own, own);
            }
            index -= parts;
            ranks = keep;
        }
    }

    fn degree_of(&self, mut ranks: usize) -> usize {
        let mut degree = 0;
        while ranks > 1 {
            let keep = usize::from(self.keep[ranks]);
            degree += self.ports.min(ranks - keep);
            ranks = keep;
        }
        degree
    }

    /// Returns the parent of a rank, 0 for the root, and the size of the rank's subtree.
    fn place(&self, rank: usize, ranks: usize) -> (usize, usize) {
        let (mut parent, mut at, mut size) = (0, 0, ranks);
        'down: while at != rank {
            for index in 0..self.degree_of(size) {
                let (begin, part) = self.part(size, index);
                if at + begin <= rank {
                    parent = at;
                    at += begin;
                    size = part;
                    continue 'down;
                }
            }
            // Not reached: every rank is the sender or below one of its children.
            break;
        }
        (parent, size)
    }
}

impl<const N: usize> Shape for &Optimal<N> {
    fn parent(&self, rank: usize, ranks: usize) -> usize {
        self.place(rank, ranks).0
    }

    fn degree(&self, rank: usize, ranks: usize) -> usize {
        self.degree_of(self.place(rank, ranks).1)
    }

    fn child(&self, rank: usize, ranks: usize, index: usize) -> usize {
        rank + self.part(self.place(rank, ranks).1, index).0
    }
}

impl<const N: usize> Contiguous for &Optimal<N> {
    fn size(&self, rank: usize, ranks: usize) -> usize {
        self.place(rank, ranks).1
    }
}
