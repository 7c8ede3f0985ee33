//! How long a rank looks before it sleeps. Used by `Shm` only.

use super::layout::CPU_WORDS;
use super::segment::{RankState, Segment};
use super::sync::Ordering;

/// What an idle rank should do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Spin,
    Yield,
    Sleep,
}

/// Waiting costs little while every rank has a processor; else it takes the processor from those that work.
pub(super) struct Patience {
    spins: u32,
}

/// Idle polls before the first yield, where ranks do not share processors: together longer than waking a rank on
/// another processor takes.
const SPINS: u32 = 256;
/// Yields before the first sleep. Where nobody else is ready a yield returns at once and only looks again.
const YIELDS: u32 = 1000;

impl Patience {
    /// For the ranks that there are now.
    pub(super) fn of(segment: &Segment) -> Self {
        let cpus = &segment.header().cpus.0;
        let cpus: u32 = cpus
            .iter()
            .map(|word| word.load(Ordering::Relaxed).count_ones())
            .sum();
        let ranks = (0..segment.ranks()).map(|rank| segment.state_of(rank));
        let working = ranks.filter(|state| *state == RankState::Attached).count();
        let spins = if working <= cpus as usize { SPINS } else { 0 };
        Self { spins }
    }

    #[inline]
    pub(super) fn step(&self, idle: u32) -> Step {
        if idle < self.spins {
            Step::Spin
        } else if idle < self.spins + YIELDS {
            Step::Yield
        } else {
            Step::Sleep
        }
    }
}

/// Adds the processors that this process may run on. Where the system does not say, none: ranks then do not spin.
pub(super) fn announce_cpus(segment: &Segment) {
    let mut mask = [0_u64; CPU_WORDS];
    // SAFETY: the mask is valid for its size, and the call writes no more; 0 is this thread. The mask is an array of
    // long words, as the system has it, on 64-bit systems.
    let known = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    if known == 0 {
        let cpus = &segment.header().cpus.0;
        for (all, own) in cpus.iter().zip(mask) {
            all.fetch_or(own, Ordering::Relaxed);
        }
    }
}
