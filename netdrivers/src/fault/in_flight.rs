//! Frames under way, ordered by arrival time. `FaultyNetwork` and the simulator of `pombo-testing` use it.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use pombo_kernel::header::Peer;

/// Frames under way; the user bounds their number. Frames of equal arrival times keep the order in which they were
/// sent.
#[derive(Default)]
pub struct InFlight {
    heap: BinaryHeap<Reverse<FrameInFlight>>,
    count: u64,
}

/// One frame. Frames are ordered by the first two fields, which together are unique.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameInFlight {
    /// Arrival time in nanoseconds.
    pub at: u64,
    number: u64,
    /// The source.
    pub from: Peer,
    /// The destination.
    pub to: Peer,
    /// The bytes.
    pub frame: Vec<u8>,
}

impl InFlight {
    /// Adds a frame that arrives at that time.
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

    /// Returns the arrival time of the next frame.
    pub fn next(&self) -> Option<u64> {
        self.heap
            .peek()
            .map(|Reverse(frame_in_flight)| frame_in_flight.at)
    }

    /// Removes the next frame if it has arrived by then.
    pub fn pop(&mut self, by: u64) -> Option<FrameInFlight> {
        self.next().filter(|at| *at <= by)?;
        self.heap
            .pop()
            .map(|Reverse(frame_in_flight)| frame_in_flight)
    }

    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Returns whether no frame is under way.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
