//! The one lock: calls of several threads, and the thread that makes progress, take turns by it. Where a process has
//! one thread in MPI nobody takes it.

use super::pthread::{self, Locked, this_thread};
use core::sync::atomic::{AtomicUsize, Ordering};

/// Who has the turn: a thread, or 0.
static OWNER: AtomicUsize = AtomicUsize::new(0);

/// Tries to get a turn, at most: on a busy machine each gives others the processor for long.
const TRIES: u32 = 16;

/// Nobody else has a turn while it lives, nor this thread another one.
pub(super) struct Turn {
    /// Unlocked after the drop below.
    _locked: Locked,
}

impl Turn {
    /// Not inlined: most calls have none.
    #[cold]
    #[inline(never)]
    pub(super) fn end(self) {}

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

/// Waits for a turn; none for the thread that has it: a handler of signals may run inside a call.
pub(super) fn turn() -> Option<Turn> {
    if OWNER.load(Ordering::Relaxed) == this_thread() {
        return None;
    }
    Some(Turn::of(pthread::lock()))
}

/// A turn, unless somebody has one.
pub(super) fn try_turn() -> Option<Turn> {
    pthread::try_lock().map(Turn::of)
}

/// As [`turn`], but not if that takes longer than the thread that makes progress ever has its turn.
pub(super) fn turn_soon() -> Option<Turn> {
    for _ in 1..TRIES {
        if let Some(turn) = try_turn() {
            return Some(turn);
        }
        pthread::yield_now();
    }
    try_turn()
}
