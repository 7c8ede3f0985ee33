//! Frames under way, by the time when they arrive. `Sim` and `FaultyNetwork` use it.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use pombo_kernel::header::Node;

/// Frames under way. Those of the same time arrive in the order in which they set out.
#[derive(Default)]
pub(super) struct Flights {
    heap: BinaryHeap<Reverse<Flight>>,
    count: u64,
}

/// One frame. Compared by its first two fields, which differ from those of all others.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Flight {
    pub(super) at: u64,
    number: u64,
    pub(super) from: Node,
    pub(super) to: Node,
    pub(super) frame: Vec<u8>,
}

impl Flights {
    pub(super) fn push(&mut self, at: u64, from: Node, to: Node, frame: Vec<u8>) {
        let number = self.count;
        self.count += 1;
        self.heap.push(Reverse(Flight {
            at,
            number,
            from,
            to,
            frame,
        }));
    }

    /// When the next one arrives.
    pub(super) fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(flight)| flight.at)
    }

    /// The next one, if it has arrived by then.
    pub(super) fn pop(&mut self, by: u64) -> Option<Flight> {
        self.next().filter(|at| *at <= by)?;
        self.heap.pop().map(|Reverse(flight)| flight)
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }
}
