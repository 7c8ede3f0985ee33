//! What the hand-over between threads sleeps on, in one place so that a model checker can replace it.

use crate::futex;
use crate::tuning::{NO_SLEEP_POLLS, PARKED_SPINS, PARKED_YIELDS, STAND_BY};
use crate::wait::now;
use alloc::sync::Arc;
use core::time::Duration;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsRawFd, OwnedFd};

pub(super) use crate::lock::Lock;
pub(super) use crate::wait::yield_policy::sched_yield as yield_now;
pub(super) use core::sync::atomic::{AtomicU32, Ordering};

/// Returns whether the deadline has passed.
#[inline]
pub(super) fn is_over(deadline: Option<u64>) -> bool {
    deadline.is_some_and(|deadline| now() >= deadline)
}

/// Returns whether waiting after so many rounds in vain may sleep.
pub(super) fn may_sleep(idle: u32) -> bool {
    idle >= NO_SLEEP_POLLS
}

/// Leaves the channel to threads that make calls, for a while.
pub(super) fn stand_by() {
    // A word that nobody else has: this sleeps for just that time.
    futex::wait(&AtomicU32::new(0), 0, Some(STAND_BY));
}

/// The values of a flag, beside 0.
const SET: u32 = 1;
const ASLEEP: u32 = 2;

/// What one parked thread sleeps on. It is set once.
#[derive(Clone)]
pub(super) struct Flag(Arc<AtomicU32>);

impl Flag {
    pub(super) fn new() -> Self {
        Flag(Arc::new(AtomicU32::new(0)))
    }

    /// Returns whether this is the same flag.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Ends the wait, or the next one.
    pub(super) fn set(&self) {
        if self.0.swap(SET, Ordering::AcqRel) == ASLEEP {
            futex::wake(&self.0, 1);
        }
    }

    /// Waits until the flag is set, or until the deadline.
    pub(super) fn wait(&self, deadline: Option<u64>) {
        let is_set = || self.0.load(Ordering::Acquire) == SET;
        for round in 0..PARKED_SPINS + PARKED_YIELDS {
            if is_set() {
                return;
            }
            match round {
                0..PARKED_SPINS => core::hint::spin_loop(),
                _ => yield_now(),
            }
        }
        self.sleep(deadline);
    }

    /// Sleeps until the flag is set, or until the deadline.
    pub(super) fn sleep(&self, deadline: Option<u64>) {
        while self.0.load(Ordering::Acquire) != SET {
            let left = deadline.map(|deadline| deadline.saturating_sub(now()));
            if left == Some(0) {
                return;
            }
            // If it has been set meanwhile, it stays so.
            let _ = self
                .0
                .compare_exchange(0, ASLEEP, Ordering::AcqRel, Ordering::Acquire);
            futex::wait(&self.0, ASLEEP, left.map(Duration::from_nanos));
        }
    }
}

/// Wakes a thread that sleeps in a channel.
pub(super) struct Bell {
    descriptor: Option<OwnedFd>,
    rung: AtomicU32,
}

impl Bell {
    /// Creates a bell. Where the system has no descriptor left, a sleeper finds out by itself, soon.
    pub(super) fn new() -> Self {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Bell {
            descriptor: eventfd(0, flags).ok(),
            rung: AtomicU32::new(0),
        }
    }

    /// Returns what becomes readable when it is rung.
    pub(super) fn descriptor(&self) -> Option<i32> {
        self.descriptor.as_ref().map(AsRawFd::as_raw_fd)
    }

    pub(super) fn ring(&self) {
        if let Some(descriptor) = &self.descriptor {
            // A full counter is readable too.
            let _ = rustix::io::write(descriptor, &1_u64.to_ne_bytes());
            self.rung.store(1, Ordering::Release);
        }
    }

    /// Makes it silent, after a sleep.
    pub(super) fn silence(&self) {
        if self.rung.load(Ordering::Acquire) != 0
            && let Some(descriptor) = &self.descriptor
        {
            self.rung.store(0, Ordering::Relaxed);
            let _ = rustix::io::read(descriptor, &mut [0; 8]);
        }
    }
}
