//! How long a rank looks before it sleeps. Used by `Shm` only.

use super::layout::CPU_WORDS;
use super::segment::{RankState, Segment};
use super::sync::Ordering;

/// What an idle rank should do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WaitStep {
    /// Look again at once.
    Poll,
    Spin,
    Yield,
    /// Sleep for a while, in place of a yield.
    ShortSleep,
    Sleep,
}

/// Bytes of messages that one copy carries faster where ranks share processors: shorter ones pay more for the call,
/// longer ones leave the caches on the way.
const SINGLE_COPY_BYTES: core::ops::Range<usize> = 256 << 10..4 << 20;

/// Waiting costs little while every rank has a processor; else it takes the processor from those that work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WaitPolicy {
    spins: u32,
    yields: u32,
}

/// Idle polls without a pause: a pause may take longer than a small frame needs to the other core.
const POLLS: u32 = 32;
/// Idle polls before the first yield, where ranks do not share processors: some microseconds.
const SPINS: u32 = 256;
/// Yields before the first sleep, where nobody else is ready: together far longer than waking a rank on another
/// processor takes. Where ranks share processors a yield lets the others work.
const YIELDS: u32 = 1000;
/// The same where the ranks are granted less time than their processors have: looking in vain uses it up, so about as
/// long as a wake-up takes.
const QUOTA_YIELDS: u32 = 50;

impl WaitPolicy {
    /// For the ranks that there are now.
    pub(super) fn of(segment: &Segment) -> Self {
        let header = segment.header();
        let cpus = header.cpus.0.iter();
        let cpus = cpus.map(|word| word.load(Ordering::Relaxed).count_ones());
        let ranks = (0..segment.ranks()).map(|rank| segment.state_of(rank));
        let attached = ranks.filter(|state| *state == RankState::Attached).count();
        let quota = header.quota.load(Ordering::Relaxed);
        Self::new(attached, cpus.sum(), (quota != 0).then_some(quota))
    }

    fn new(attached: usize, cpus: u32, quota: Option<u32>) -> Self {
        let beyond = |limit: u32| attached > limit as usize;
        let spins = if beyond(cpus) { 0 } else { SPINS };
        if quota.is_some_and(|quota| quota < cpus && beyond(quota)) {
            let yields = QUOTA_YIELDS;
            return Self { spins: 0, yields };
        }
        let yields = YIELDS;
        Self { spins, yields }
    }

    /// Does it pay that the receiver of such a message reads it in one copy? Not where two can overlap.
    pub(super) fn favours_single_copy(&self, len: usize) -> bool {
        self.spins == 0 && SINGLE_COPY_BYTES.contains(&len)
    }

    #[inline]
    pub(super) fn step(&self, idle: u32) -> WaitStep {
        if idle < self.spins {
            if idle < POLLS {
                WaitStep::Poll
            } else {
                WaitStep::Spin
            }
        } else if idle < self.spins + self.yields {
            WaitStep::Yield
        } else {
            WaitStep::Sleep
        }
    }
}

/// Adds the processors that this process may run on. Where the system does not say, none: ranks then do not spin.
pub(super) fn publish_cpus(segment: &Segment) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn first(wait_policy: WaitPolicy, step: WaitStep) -> Option<u32> {
        (0..10_000).find(|idle| wait_policy.step(*idle) == step)
    }

    #[test]
    fn ranks_that_have_processors_spin() {
        for (attached, cpus, quota) in [(2, 2, None), (2, 64, Some(2)), (64, 64, Some(64))] {
            let wait_policy = WaitPolicy::new(attached, cpus, quota);
            assert_eq!(first(wait_policy, WaitStep::Poll), Some(0));
            assert_eq!(first(wait_policy, WaitStep::Spin), Some(POLLS));
            assert_eq!(first(wait_policy, WaitStep::Yield), Some(SPINS));
            assert_eq!(first(wait_policy, WaitStep::Sleep), Some(SPINS + YIELDS));
            assert!(!wait_policy.favours_single_copy(1 << 20));
        }
    }

    #[test]
    fn ranks_that_share_processors_yield() {
        for (attached, cpus, quota) in [(3, 2, None), (1, 0, None), (9, 8, Some(8))] {
            let wait_policy = WaitPolicy::new(attached, cpus, quota);
            assert_eq!(first(wait_policy, WaitStep::Yield), Some(0));
            assert_eq!(first(wait_policy, WaitStep::Sleep), Some(YIELDS));
            let favoured =
                [1 << 16, 1 << 20, 1 << 24].map(|len| wait_policy.favours_single_copy(len));
            assert_eq!(favoured, [false, true, false]);
        }
    }

    #[test]
    fn a_quota_is_not_spent_on_looking() {
        for (attached, cpus, quota) in [(2, 2, Some(1)), (8, 64, Some(7)), (64, 32, Some(2))] {
            let wait_policy = WaitPolicy::new(attached, cpus, quota);
            assert_eq!(first(wait_policy, WaitStep::Yield), Some(0));
            assert_eq!(first(wait_policy, WaitStep::Sleep), Some(QUOTA_YIELDS));
        }
    }
}
