//! A lock for threads of one process: a thread that finds it taken looks again for a while, and sleeps. `loopback` and
//! `mailbox` use it.

use crate::futex;
use crate::tuning::LOCK_SPINS;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

/// A value to which one thread at a time has access.
pub(crate) struct Lock<T> {
    word: AtomicU32,
    guarded: UnsafeCell<T>,
}

/// The values of a lock's word.
const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// The lock is taken, and other threads may sleep.
const CONTENDED: u32 = 2;

// SAFETY: the word gives the guarded value to one thread at a time, as if it were sent there and back.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) fn new(guarded: T) -> Self {
        Self {
            word: AtomicU32::new(FREE),
            guarded: UnsafeCell::new(guarded),
        }
    }

    /// Runs `f` with exclusive access to the value. If `f` panics, the value stays as `f` left it. `f` must not lock
    /// again: it would deadlock.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.taken(Taken::wait(&self.word), f)
    }

    /// Runs `f` as [`Self::with`] does if the lock is free.
    ///
    /// # Errors
    /// Returns `f` if it is taken.
    pub(crate) fn try_with<R, F: FnOnce(&mut T) -> R>(&self, f: F) -> Result<R, F> {
        match Taken::now(&self.word) {
            Some(taken) => Ok(self.taken(taken, f)),
            None => Err(f),
        }
    }

    #[inline]
    fn taken<R>(&self, taken: Taken<'_>, f: impl FnOnce(&mut T) -> R) -> R {
        debug_assert!(core::ptr::eq(taken.0, &self.word));
        // SAFETY: until `taken` is dropped, which this call does after `f`, the word excludes all other threads.
        let result = f(unsafe { &mut *self.guarded.get() });
        drop(taken);
        result
    }
}

/// The lock, taken. Frees it when dropped, also while a panic unwinds.
struct Taken<'a>(&'a AtomicU32);

impl<'a> Taken<'a> {
    fn now(word: &'a AtomicU32) -> Option<Self> {
        let (took, found) = (Ordering::Acquire, Ordering::Relaxed);
        let taken = word.compare_exchange(FREE, TAKEN, took, found);
        taken.is_ok().then(|| Taken(word))
    }

    fn wait(word: &'a AtomicU32) -> Self {
        Self::now(word).unwrap_or_else(|| Self::sleep(word))
    }

    /// Waits for the lock. A thread that had to wait cannot know whether others still do, so it marks the lock
    /// contended.
    #[cold]
    fn sleep(word: &'a AtomicU32) -> Self {
        // Who drives a channel gives it away at once when another thread wants it.
        for _ in 0..LOCK_SPINS {
            if word.load(Ordering::Relaxed) == FREE
                && let Some(taken) = Self::now(word)
            {
                return taken;
            }
            core::hint::spin_loop();
        }
        while word.swap(CONTENDED, Ordering::Acquire) != FREE {
            futex::wait(word, CONTENDED, None);
        }
        Taken(word)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if self.0.swap(FREE, Ordering::Release) == CONTENDED {
            futex::wake(self.0, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn one_thread_at_a_time_has_it() {
        const TURNS: u64 = 20_000;
        let count = Lock::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..TURNS).for_each(|_| count.with(|count| *count += 1)));
            }
        });
        assert_eq!(count.with(|count| *count), 4 * TURNS);
    }

    #[test]
    fn who_panics_with_it_keeps_nobody_out() {
        let held = Lock::new(0);
        thread::scope(|scope| {
            let broken = scope.spawn(|| {
                held.with(|held| {
                    *held = 1;
                    // By then the other threads sleep, or soon will.
                    thread::yield_now();
                    panic!("as the test wants it");
                })
            });
            let others: [_; 3] = [(); 3].map(|()| scope.spawn(|| held.with(|held| *held <= 1)));
            assert!(broken.join().is_err());
            for other in others {
                assert!(other.join().expect("it was let in"));
            }
        });
        assert_eq!(held.with(|held| *held), 1);
    }
}
