//! Counts the heap of the test program, so that a test can check a memory limit.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The system's allocator, with two counters.
struct Counted;

#[global_allocator]
static HEAP: Counted = Counted;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn more(bytes: usize) {
    PEAK.fetch_max(LIVE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is forwarded to the system's allocator with the caller's arguments; counting allocates nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller's promise is passed on to the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on, and the memory came from the same allocator.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // During the move both blocks exist.
        more(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on, and the memory came from the same allocator.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Measures from its creation on. Only one test at a time may do so, because the heap is shared by all.
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

    /// Returns the largest number of bytes on the heap at a time, in excess of those at the beginning.
    pub(crate) fn peak(&self) -> usize {
        PEAK.load(Relaxed).saturating_sub(self.before)
    }
}
