//! Calls and the thread that makes progress take turns, by one lock. Where there is no such thread a call looks at a flag,
//! once. Only with the feature `progress-thread`.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// There is a thread. Changes only while there is none.
static HERE: AtomicBool = AtomicBool::new(false);
struct Lock(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is made to be used by several threads, through its address alone.
unsafe impl Sync for Lock {}

static LOCK: Lock = Lock(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

/// Tries to get a turn, at most: on a busy machine each gives others the processor for long.
const TRIES: u32 = 16;

/// Is there such a thread?
#[inline]
pub(crate) fn is_shared() -> bool {
    HERE.load(Ordering::Relaxed)
}

/// Nobody else is at the world while it lives.
pub(crate) struct Turn {
    locked: bool,
}

/// Waits for the thread, where there is one.
#[inline]
pub(crate) fn turn() -> Turn {
    let locked = HERE.load(Ordering::Relaxed);
    if locked {
        wait();
    }
    Turn { locked }
}

// Neither this nor its counterpart is worth its place in every call.
#[cold]
#[inline(never)]
fn wait() {
    // SAFETY: the mutex lives for ever; this thread does not have it, as no call runs inside another.
    unsafe { libc::pthread_mutex_lock(LOCK.0.get()) };
}

/// As [`turn`], for who may be inside a call already: not if that takes longer than the thread ever has its turn.
pub(crate) fn turn_soon() -> Option<Turn> {
    let mut tries = 0;
    // SAFETY: the mutex lives for ever; who has it already does not get it again.
    while HERE.load(Ordering::Relaxed) && unsafe { libc::pthread_mutex_trylock(LOCK.0.get()) } != 0
    {
        tries += 1;
        if tries == TRIES {
            return None;
        }
        // SAFETY: no demands.
        unsafe { libc::sched_yield() };
    }
    let locked = HERE.load(Ordering::Relaxed);
    Some(Turn { locked })
}

/// In a forked child, which has no such thread.
pub(crate) fn forget() {
    HERE.store(false, Ordering::Relaxed);
}

impl Drop for Turn {
    #[inline]
    fn drop(&mut self) {
        if self.locked {
            leave();
        }
    }
}

#[cold]
#[inline(never)]
fn leave() {
    // SAFETY: the mutex lives for ever, and this thread has locked it.
    unsafe { libc::pthread_mutex_unlock(LOCK.0.get()) };
}

/// From now on calls take turns. Only while there is no such thread.
pub(crate) fn share() {
    HERE.store(true, Ordering::Relaxed);
}

/// A turn, unless somebody else has one.
pub(crate) fn try_turn() -> Option<Turn> {
    // SAFETY: the mutex lives for ever, and the thread that asks does not have it.
    let locked = unsafe { libc::pthread_mutex_trylock(LOCK.0.get()) } == 0;
    locked.then_some(Turn { locked })
}
