//! How a rank sleeps without missing anything, and how others wake it. Used by `Shm` and `Segment` only.
//!
//! Sleeper: say so, heavy fence, look again, sleep. Waker: publish, light fence, look whether anyone sleeps. Of the two
//! looks at least one sees the other side, so no wake-up is lost, and a waker pays no system call for a rank that is
//! awake.

use core::time::Duration;

use super::sync::{AtomicU32, Ordering};

/// What the machine offers for sleeping. The words lie in memory that all ranks share.
pub(super) trait Park {
    /// Orders what the waker published before its look at the sleeper; pairs with [`Park::heavy_fence`].
    fn light_fence(&self);

    /// Orders the sleeper's word before its second look. False if that is not to be had: then nobody may sleep.
    fn heavy_fence(&self) -> bool;

    /// Where it sleeps, a number up to [`MAX_SOCKET`]; 0: on the word itself.
    fn wake_socket(&self) -> u32 {
        0
    }

    /// Sleeps while the word has this value, for that long at most. May return early. At a socket it sleeps until somebody
    /// has notified it since its last sleep.
    fn sleep(&self, word: &AtomicU32, value: u32, limit: Option<Duration>);

    /// Wakes whoever sleeps at that socket, 0: on the word.
    fn wake(&self, word: &AtomicU32, wake_socket: u32);
}

/// Sockets have so many bits of an event count's word; what its rank sleeps for is above.
const SOCKET_BITS: u32 = 24;
/// The highest number of a socket.
pub(super) const MAX_SOCKET: u32 = (1 << SOCKET_BITS) - 1;

/// What a rank sleeps for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum WaitFor {
    /// A frame, or a loss.
    Frame = 1 << SOCKET_BITS,
    /// These, or room for its own frames.
    Room = 2 << SOCKET_BITS,
}

/// One rank's event count, alone in its cache line: 0 while it is awake, else what it sleeps for, and where.
#[repr(C, align(64))]
pub(super) struct EventCount(pub(super) AtomicU32);

pub(super) const AWAKE: u32 = 0;

impl EventCount {
    /// Sleeps until notified or for that long, unless something is pending already.
    pub(super) fn sleep(
        &self,
        until: WaitFor,
        limit: Option<Duration>,
        park: &impl Park,
        has_pending: impl FnOnce() -> bool,
    ) {
        let asleep = until as u32 | park.wake_socket() & MAX_SOCKET;
        // Swaps have one order with those of the wakers; of stores a model checker cannot tell.
        self.0.swap(asleep, Ordering::Relaxed);
        if park.heavy_fence() && !has_pending() {
            park.sleep(&self.0, asleep, limit);
        }
        self.0.swap(AWAKE, Ordering::Relaxed);
    }

    /// Call it after publishing what the rank may sleep for.
    #[inline]
    pub(super) fn notify(&self, what: WaitFor, park: &impl Park) {
        park.light_fence();
        if self.0.load(Ordering::Relaxed) >= what as u32 {
            self.wake(park);
        }
    }

    /// Wakes the rank if it still sleeps. The first of several wakers makes the system call.
    #[cold]
    fn wake(&self, park: &impl Park) {
        let asleep = self.0.swap(AWAKE, Ordering::AcqRel);
        if asleep != AWAKE {
            park.wake(&self.0, asleep & MAX_SOCKET);
        }
    }

    /// Wakes the rank even if a waker died between marking it awake and waking it. Who sleeps at a socket then wakes by
    /// itself.
    pub(super) fn notify_always(&self, park: &impl Park) {
        let asleep = self.0.swap(AWAKE, Ordering::SeqCst);
        park.wake(&self.0, asleep & MAX_SOCKET);
    }
}
