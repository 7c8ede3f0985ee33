//! A lock for threads of one process: who finds it taken sleeps. Used by `loopback`.

use crate::futex;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

/// Something that one thread at a time has.
pub(crate) struct Lock<T> {
    word: AtomicU32,
    guarded: UnsafeCell<T>,
}

/// The values of a lock's word.
const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and others may sleep.
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

    /// Runs `f` while no other thread has the value. If `f` panics, others have the value as `f` left it. `f` may not
    /// come back here: it would wait for itself.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.take();
        let _taken = Taken(&self.word);
        // SAFETY: until `_taken` is dropped the word keeps everybody else out, and the reference ends before.
        f(unsafe { &mut *self.guarded.get() })
    }

    fn take(&self) {
        let (took, found) = (Ordering::Acquire, Ordering::Relaxed);
        let taken = self.word.compare_exchange(FREE, TAKEN, took, found);
        if taken.is_err() {
            self.wait();
        }
    }

    /// Whoever had to wait cannot know whether others still do.
    #[cold]
    fn wait(&self) {
        while self.word.swap(CONTENDED, Ordering::Acquire) != FREE {
            futex::wait(&self.word, CONTENDED, None);
        }
    }
}

/// Frees the lock when it goes, also while a panic unwinds.
struct Taken<'a>(&'a AtomicU32);

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
                    // Others are asleep by then, or soon will be.
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
