//! The lock that serialises the calls of several threads and the progress thread. In a process with one thread in MPI
//! it is never taken.

use super::pthread::{self, Locked, this_thread};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The thread that holds the lock, or 0.
static OWNER: AtomicUsize = AtomicUsize::new(0);

/// Most attempts to take the lock in [`turn_soon`]: on a busy machine each yields the processor for a long time.
const TRIES: u32 = 16;

/// Ownership of the lock: while it lives no other thread has one, and this thread has only one.
pub(super) struct Turn {
    /// The mutex, which is unlocked after `drop` has cleared the owner.
    _locked: Locked,
}

impl Turn {
    fn of(locked: Locked) -> Self {
        OWNER.store(this_thread(), Ordering::Relaxed);
        Turn { _locked: locked }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        OWNER.store(0, Ordering::Relaxed);
    }
}

/// Waits for the lock. Returns `None` in the thread that holds it, as a signal handler may run inside a call.
pub(super) fn turn() -> Option<Turn> {
    if OWNER.load(Ordering::Relaxed) == this_thread() {
        return None;
    }
    Some(Turn::of(pthread::lock()))
}

/// Takes the lock unless a thread holds it.
pub(super) fn try_turn() -> Option<Turn> {
    pthread::try_lock().map(Turn::of)
}

/// Waits for the lock as [`turn`] does, but no longer than the progress thread ever holds it.
pub(super) fn turn_soon() -> Option<Turn> {
    for _ in 1..TRIES {
        if let Some(turn) = try_turn() {
            return Some(turn);
        }
        pthread::yield_now();
    }
    try_turn()
}
