//! The waiting policy of a segment's ranks, computed from their processors. Only `Shm` uses it.

use super::layout::CPU_WORDS;
use super::segment::{RankState, Segment};
use super::sync::Ordering;
use crate::tuning::{FAST_PATHS, SINGLE_COPY_BYTES};
use crate::wait::{WaitPolicy, processors};

/// Returns the policy for the ranks that are attached now.
pub(super) fn of(segment: &Segment) -> WaitPolicy {
    if !FAST_PATHS {
        // As where ranks share processors: it is right everywhere, only slower.
        return WaitPolicy::of_ranks(1, 0, None);
    }
    let header = segment.header();
    let cpus = header.cpus.0.iter();
    let cpus = cpus.map(|word| word.load(Ordering::Relaxed).count_ones());
    let ranks = (0..segment.ranks()).map(|rank| segment.state_of(rank));
    let attached = ranks.filter(|state| *state == RankState::Attached).count();
    let quota = header.quota.load(Ordering::Relaxed);
    WaitPolicy::of_ranks(attached, cpus.sum(), (quota != 0).then_some(quota))
}

/// Returns whether a single copy by the receiver pays for such a message. It does not if two copies can overlap.
pub(super) fn favours_single_copy(wait_policy: WaitPolicy, len: usize) -> bool {
    !wait_policy.spins() && SINGLE_COPY_BYTES.contains(&len)
}

/// Adds the processors that this process may run on; none if the system does not tell them: then ranks do not spin.
pub(super) fn publish_cpus(segment: &Segment) {
    if !FAST_PATHS {
        return;
    }
    let own = processors::affinity::<CPU_WORDS>().unwrap_or_default();
    for (all, own) in segment.header().cpus.0.iter().zip(own) {
        all.fetch_or(own, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::{
        QUOTA_YIELDS, RANK_POLLS as POLLS, RANK_SPINS as SPINS, RANK_YIELDS as YIELDS,
    };
    use crate::wait::WaitStep;

    fn first(wait_policy: WaitPolicy, step: WaitStep) -> Option<u32> {
        (0..10_000).find(|idle| wait_policy.step(*idle) == step)
    }

    #[test]
    fn ranks_that_have_processors_spin() {
        for (attached, cpus, quota) in [(2, 2, None), (2, 64, Some(2)), (64, 64, Some(64))] {
            let wait_policy = WaitPolicy::of_ranks(attached, cpus, quota);
            assert_eq!(first(wait_policy, WaitStep::Poll), Some(0));
            assert_eq!(first(wait_policy, WaitStep::Spin), Some(POLLS));
            assert_eq!(first(wait_policy, WaitStep::Yield), Some(SPINS));
            assert_eq!(first(wait_policy, WaitStep::Sleep), Some(SPINS + YIELDS));
            assert!(!favours_single_copy(wait_policy, 1 << 20));
        }
    }

    #[test]
    fn ranks_that_share_processors_yield() {
        for (attached, cpus, quota) in [(3, 2, None), (1, 0, None), (9, 8, Some(8))] {
            let wait_policy = WaitPolicy::of_ranks(attached, cpus, quota);
            assert_eq!(first(wait_policy, WaitStep::Yield), Some(0));
            assert_eq!(first(wait_policy, WaitStep::Sleep), Some(YIELDS));
            let favoured =
                [1 << 16, 1 << 20, 1 << 24].map(|len| favours_single_copy(wait_policy, len));
            assert_eq!(favoured, [false, true, false]);
        }
    }

    #[test]
    fn a_quota_is_not_spent_on_looking() {
        for (attached, cpus, quota) in [(2, 2, Some(1)), (8, 64, Some(7)), (64, 32, Some(2))] {
            let wait_policy = WaitPolicy::of_ranks(attached, cpus, quota);
            assert_eq!(first(wait_policy, WaitStep::Yield), Some(0));
            assert_eq!(first(wait_policy, WaitStep::Sleep), Some(QUOTA_YIELDS));
        }
    }
}
