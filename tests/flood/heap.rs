//! Counts what the test program has on the heap, so that "memory stays below a limit" is a number.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The allocator of the system, with two counters.
struct Counted;

#[global_allocator]
static HEAP: Counted = Counted;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn more(bytes: usize) {
    PEAK.fetch_max(LIVE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call goes on to the system's allocator with the caller's arguments; counting allocates nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on, and the memory came from the same allocator.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // While it moves, both are there.
        more(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on, and the memory came from the same allocator.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Measures from now on. One test at a time does, as the heap is everybody's.
pub(crate) struct Measure {
    before: usize,
    _alone: MutexGuard<'static, ()>,
}

impl Measure {
    pub(crate) fn begin() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = LIVE.load(Relaxed);
        PEAK.store(before, Relaxed);
        Measure {
            before,
            _alone: alone,
        }
    }

    /// The most bytes that were on the heap at a time, beyond those of the beginning.
    pub(crate) fn peak(&self) -> usize {
        PEAK.load(Relaxed).saturating_sub(self.before)
    }
}
