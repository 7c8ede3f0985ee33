//! Frames under way, by the time when they arrive. `FaultyNetwork` uses it, and the simulator of `pombo-testing`.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use pombo_kernel::header::Peer;

/// Frames under way; who uses it bounds how many. Those of the same time arrive in the order in which they set out.
#[derive(Default)]
pub struct InFlight {
    heap: BinaryHeap<Reverse<FrameInFlight>>,
    count: u64,
}

/// One frame. Compared by its first two fields, which differ from those of all others.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameInFlight {
    /// When it arrives.
    pub at: u64,
    number: u64,
    /// Who has sent it.
    pub from: Peer,
    /// To whom.
    pub to: Peer,
    /// Its bytes.
    pub frame: Vec<u8>,
}

impl InFlight {
    /// One more, which arrives at that time.
    pub fn push(&mut self, at: u64, from: Peer, to: Peer, frame: Vec<u8>) {
        let number = self.count;
        self.count += 1;
        self.heap.push(Reverse(FrameInFlight {
            at,
            number,
            from,
            to,
            frame,
        }));
    }

    /// When the next one arrives.
    pub fn next(&self) -> Option<u64> {
        self.heap
            .peek()
            .map(|Reverse(frame_in_flight)| frame_in_flight.at)
    }

    /// The next one, if it has arrived by then.
    pub fn pop(&mut self, by: u64) -> Option<FrameInFlight> {
        self.next().filter(|at| *at <= by)?;
        self.heap
            .pop()
            .map(|Reverse(frame_in_flight)| frame_in_flight)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Is none under way?
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
