//! An event count: how a rank sleeps without missing an event, and how others wake it. Only `Shm` and `Segment` use it.
//!
//! Sleeper: mark itself asleep, heavy fence, check again, sleep. Waker: publish, light fence, check whether a rank
//! sleeps. At least one of the two checks sees the other side, so no wake-up is lost, and a waker makes no system call
//! for a rank that is awake.

use core::time::Duration;

use super::sync::{AtomicU32, Ordering};

/// The sleep primitives of the machine. The words lie in memory that all ranks share.
pub(super) trait Park {
    /// Orders the waker's publication before its check of the sleeper; pairs with [`Park::heavy_fence`].
    fn light_fence(&self);

    /// Orders the sleeper's mark before its second check. Returns false if no such fence is available: then the rank
    /// must not sleep.
    fn heavy_fence(&self) -> bool;

    /// Returns the number of the socket at which the rank sleeps, up to [`MAX_SOCKET`]; 0: it sleeps on the word
    /// itself.
    fn wake_socket(&self) -> u32 {
        0
    }

    /// Sleeps while the word has this value, up to the limit. May return early. At a socket it sleeps until a
    /// notification since its last sleep.
    fn sleep(&self, word: &AtomicU32, value: u32, limit: Option<Duration>);

    /// Wakes the rank that sleeps at that socket; 0: on the word.
    fn wake(&self, word: &AtomicU32, wake_socket: u32);
}

/// Number of bits of an event count's word for the socket; the bits above are the [`WaitFor`].
const SOCKET_BITS: u32 = 24;
/// The highest socket number.
pub(super) const MAX_SOCKET: u32 = (1 << SOCKET_BITS) - 1;

/// Shift of the number, above the [`WaitFor`], of the rank whose board a sleeper waits for, plus 1; 0: that of any rank.
const BOARD_SHIFT: u32 = SOCKET_BITS + 2;
/// Exclusive bound of these numbers.
const BOARD_NUMBERS: u32 = 1 << (u32::BITS - BOARD_SHIFT);

/// Returns the bits of a sleeper that waits for the board of that rank of the segment, or for that of any rank.
fn board_bits(rank: Option<usize>) -> u32 {
    match rank.map(|rank| rank + 1) {
        Some(number) if number < BOARD_NUMBERS as usize => (number as u32) << BOARD_SHIFT,
        _ => 0,
    }
}

/// The event that a rank sleeps for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum WaitFor {
    /// A frame, or a loss.
    Frame = 1 << SOCKET_BITS,
    /// A frame, a loss, or room for its own frames.
    Room = 2 << SOCKET_BITS,
}

/// One rank's event count, alone in its cache line: 0 while it is awake, otherwise the event that it sleeps for, the board
/// that it waits for, and the socket.
#[repr(C, align(64))]
pub(super) struct EventCount(pub(super) AtomicU32);

pub(super) const AWAKE: u32 = 0;

impl EventCount {
    /// Sleeps until notified or up to the limit, unless an event is already pending. If it waits for the board of one
    /// rank of the segment, those of others do not wake it.
    pub(super) fn sleep(
        &self,
        until: WaitFor,
        board: Option<usize>,
        limit: Option<Duration>,
        park: &impl Park,
        has_pending: impl FnOnce() -> bool,
    ) {
        let asleep = board_bits(board) | until as u32 | park.wake_socket() & MAX_SOCKET;
        // A swap is in one modification order with the wakers' swaps; a model checker cannot verify this for a store.
        self.0.swap(asleep, Ordering::Relaxed);
        if park.heavy_fence() && !has_pending() {
            park.sleep(&self.0, asleep, limit);
        }
        self.0.swap(AWAKE, Ordering::Relaxed);
    }

    /// Notifies the rank; call it after publishing an event that the rank may sleep for.
    #[inline]
    pub(super) fn notify(&self, what: WaitFor, park: &impl Park) {
        park.light_fence();
        if self.0.load(Ordering::Relaxed) % (1 << BOARD_SHIFT) >= what as u32 {
            self.wake(park);
        }
    }

    /// Notifies the rank of an event of a board, which belongs to that rank of the segment.
    #[inline]
    pub(super) fn notify_of_board(&self, rank: usize, park: &impl Park) {
        park.light_fence();
        let asleep = self.0.load(Ordering::Relaxed);
        if asleep != AWAKE {
            let board = asleep >> BOARD_SHIFT << BOARD_SHIFT;
            if board == 0 || board == board_bits(Some(rank)) {
                self.wake(park);
            }
        }
    }

    /// Wakes the rank if it still sleeps. Of several wakers only the first makes the system call.
    #[cold]
    fn wake(&self, park: &impl Park) {
        let asleep = self.0.swap(AWAKE, Ordering::AcqRel);
        if asleep != AWAKE {
            park.wake(&self.0, asleep & MAX_SOCKET);
        }
    }

    /// Wakes the rank even if a waker died between marking it awake and waking it. A rank that sleeps at a socket then
    /// wakes by its time-out.
    pub(super) fn notify_always(&self, park: &impl Park) {
        let asleep = self.0.swap(AWAKE, Ordering::SeqCst);
        park.wake(&self.0, asleep & MAX_SOCKET);
    }
}
