//! How long the queue between a socket and its line is. Used inside `ethernet` only.
//!
//! Repairs and questions stand in this queue too: on a slow line a long one makes every repair late, on a fast line a
//! short one runs dry while the sender sleeps. So it is as long as what the line takes in a while.

use super::socket::Socket;
use crate::wait::now;

/// The queue is worth that much of the line's time, in nanoseconds.
const QUEUE_TIME: u64 = 3_000_000;
/// What a line takes is measured over that much time: from one moment when the queue was full to another.
const MIN_SPAN: u64 = 1_000_000;
/// Over more the queue has run dry in between.
const MAX_SPAN: u64 = 50 * MIN_SPAN;
/// Never fewer frames, and so many at first: half of them leave before who waits for room is woken.
const MIN_FRAMES: u64 = 24;
/// What the system counts for a frame beside its bytes, about.
pub(super) const OVERHEAD: usize = 1024;

pub(super) struct Pace {
    /// Of a frame as the system counts.
    frame: u64,
    /// The longest queue, and the one that was set last.
    most: u64,
    queue: u64,
    /// Since when, and how many frames left since.
    since: u64,
    left: u64,
}

impl Pace {
    /// For frames of an interface that carries so much, and a queue of so many bytes that the system granted.
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

    /// A frame went into the queue.
    #[inline]
    pub(super) fn left(&mut self) {
        self.left += 1;
    }

    /// The queue is full.
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
