//! Where this process stands between `MPI_Init` and `MPI_Finalize`, and what every thread may ask at any time.

use super::pthread::this_thread;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU8, AtomicUsize, Ordering};

/// Where a process stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Before `MPI_Init`.
    Before,
    /// MPI works.
    Running,
    /// After `MPI_Finalize`.
    After,
    /// In a child that a rank has forked.
    Forked,
}

static PHASE: AtomicU8 = AtomicU8::new(Phase::Before as u8);
static THREADS: AtomicI32 = AtomicI32::new(0);
static MAIN: AtomicUsize = AtomicUsize::new(0);
static RANK: AtomicUsize = AtomicUsize::new(0);

/// Where this process stands. For any thread, at any time.
pub fn phase() -> Phase {
    let phase = PHASE.load(Ordering::Acquire);
    let all = [Phase::Before, Phase::Running, Phase::After, Phase::Forked];
    all[usize::from(phase) % all.len()]
}

/// The next one.
pub(crate) fn enter(phase: Phase) {
    PHASE.store(phase as u8, Ordering::Release);
}

/// What [`granted`], [`is_main_thread`] and [`rank`] tell from now on; this thread is the main one.
pub(crate) fn note(rank: usize, threads: c_int) {
    RANK.store(rank, Ordering::Relaxed);
    MAIN.store(this_thread(), Ordering::Relaxed);
    THREADS.store(threads, Ordering::Relaxed);
}

/// The level of thread support that was granted.
pub(crate) fn granted() -> c_int {
    THREADS.load(Ordering::Relaxed)
}

/// Is this the thread that has called `MPI_Init`?
pub(crate) fn is_main_thread() -> bool {
    MAIN.load(Ordering::Relaxed) == this_thread()
}

/// The rank that the world has had since it began.
pub(crate) fn rank() -> usize {
    RANK.load(Ordering::Relaxed)
}
