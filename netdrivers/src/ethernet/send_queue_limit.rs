//! The length of the queue between a socket and its link. Only `ethernet` uses it.
//!
//! Repairs and probes wait in this queue too: on a slow link a long queue delays every repair, on a fast link a short
//! one runs empty while the sender sleeps. So its length follows from the link's measured rate.

use super::socket::Socket;
use crate::wait::now;

/// Length of the queue, in nanoseconds of the link's time.
const QUEUE_TIME: u64 = 3_000_000;
/// Shortest interval over which the rate is measured, in nanoseconds: between two times when the queue was full.
const MIN_SPAN: u64 = 1_000_000;
/// Longest such interval: in a longer one the queue has run empty.
const MAX_SPAN: u64 = 50 * MIN_SPAN;
/// Least and initial number of frames: half of them leave before a sender that waits for room is woken.
const MIN_FRAMES: u64 = 24;
/// Approximate bytes that the system counts for a frame besides its own.
pub(super) const OVERHEAD: usize = 1024;

pub(super) struct Pace {
    /// Bytes of a frame as the system counts.
    frame: u64,
    /// Longest queue, and present queue, in bytes.
    most: u64,
    queue: u64,
    /// Beginning of the interval, and frames sent since.
    since: u64,
    left: u64,
}

impl Pace {
    /// Creates the limit for an interface with that MTU, and a queue of `granted` bytes.
    pub(super) fn new(socket: &Socket, mtu: usize, granted: usize) -> Self {
        let (frame, most) = ((mtu + OVERHEAD) as u64, granted as u64);
        let queue = (MIN_FRAMES * frame).min(most);
        socket.set_queue(queue as usize);
        Pace {
            frame,
            most,
            queue,
            since: 0,
            left: 0,
        }
    }

    /// Counts a frame that went into the queue.
    #[inline]
    pub(super) fn left(&mut self) {
        self.left += 1;
    }

    /// Measures the rate when the queue is full, and adapts the queue.
    #[cold]
    pub(super) fn full(&mut self, socket: &Socket) {
        let now = now();
        let time = now.saturating_sub(self.since);
        if time < MIN_SPAN {
            return;
        }
        let left = core::mem::take(&mut self.left);
        self.since = now;
        if time > MAX_SPAN {
            return;
        }
        let frames = (left * QUEUE_TIME / time).max(MIN_FRAMES);
        let queue = (frames * self.frame).min(self.most);
        if queue.abs_diff(self.queue) > self.queue / 4 {
            self.queue = queue;
            socket.set_queue(queue as usize);
        }
    }
}
