//! The phase of this process between `MPI_Init` and `MPI_Finalize`, and the values that every thread may read at any
//! time.

use super::pthread::this_thread;
use crate::constants::{MPI_THREAD_FUNNELED, MPI_THREAD_SINGLE};
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU8, AtomicUsize, Ordering};

/// The phase of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Before `MPI_Init`.
    Before,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Running,
    /// After `MPI_Finalize`.
    After,
    /// In a child process that a rank has forked.
    Forked,
}

static PHASE: AtomicU8 = AtomicU8::new(Phase::Before as u8);
static THREADS: AtomicI32 = AtomicI32::new(0);
static MAIN: AtomicUsize = AtomicUsize::new(0);
static RANK: AtomicUsize = AtomicUsize::new(0);
static RANKS: AtomicUsize = AtomicUsize::new(0);

/// Returns the phase of this process. Any thread may call it at any time.
pub fn phase() -> Phase {
    let phase = PHASE.load(Ordering::Acquire);
    let all = [Phase::Before, Phase::Running, Phase::After, Phase::Forked];
    all[usize::from(phase) % all.len()]
}

/// Enters a phase.
pub(crate) fn enter(phase: Phase) {
    PHASE.store(phase as u8, Ordering::Release);
}

/// Sets the values of [`granted`], [`is_main_thread`], [`rank`] and [`ranks`]; this thread becomes the main one.
pub(crate) fn note(rank: usize, ranks: usize, threads: c_int) {
    RANK.store(rank, Ordering::Relaxed);
    RANKS.store(ranks, Ordering::Relaxed);
    MAIN.store(this_thread(), Ordering::Relaxed);
    THREADS.store(threads, Ordering::Relaxed);
}

/// Returns the granted level of thread support.
pub(crate) fn granted() -> c_int {
    THREADS.load(Ordering::Relaxed)
}

/// Returns the name of the granted level of thread support.
pub(crate) fn level() -> &'static str {
    match granted() {
        MPI_THREAD_SINGLE => "MPI_THREAD_SINGLE",
        MPI_THREAD_FUNNELED => "MPI_THREAD_FUNNELED",
        _ => "MPI_THREAD_SERIALIZED",
    }
}

/// Returns whether this thread has called `MPI_Init`.
pub(crate) fn is_main_thread() -> bool {
    MAIN.load(Ordering::Relaxed) == this_thread()
}

/// Returns this rank of `MPI_COMM_WORLD`.
pub(crate) fn rank() -> usize {
    RANK.load(Ordering::Relaxed)
}

/// Returns the number of ranks of `MPI_COMM_WORLD`.
pub(crate) fn ranks() -> usize {
    RANKS.load(Ordering::Relaxed)
}
