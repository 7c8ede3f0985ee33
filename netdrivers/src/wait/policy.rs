//! What an idle rank does next. Used by `shm`, `loopback` and `device_wait`.

use super::constants::NO_SLEEP_POLLS;
#[cfg(feature = "udp")]
use super::constants::{DEVICE_POLLS, DEVICE_YIELDS};
#[cfg(feature = "shm")]
use super::constants::{
    QUOTA_YIELDS, RANK_POLLS, RANK_SPINS, RANK_YIELDS, THREAD_SPINS, THREAD_YIELDS,
};

/// What an idle rank should do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitStep {
    /// Look again at once.
    Poll,
    Spin,
    Yield,
    /// Sleep for a while, in place of a yield.
    ShortSleep,
    Sleep,
}

/// Waiting costs little while every rank has a processor; else it takes the processor from those that work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WaitPolicy {
    /// The first idle poll with a pause, the first with a yield, and the first with a sleep:
    /// [`constants`](super::constants) are small.
    spins_from: u16,
    yields_from: u16,
    sleeps_from: u16,
}

impl WaitPolicy {
    /// For ranks that are threads.
    #[cfg(feature = "shm")]
    pub(crate) const THREADS: Self = Self::new(0, THREAD_SPINS, THREAD_YIELDS);

    const fn new(polls: u32, spins: u32, yields: u32) -> Self {
        WaitPolicy {
            spins_from: polls as u16,
            yields_from: (polls + spins) as u16,
            sleeps_from: (polls + spins + yields) as u16,
        }
    }

    /// For so many ranks of a segment, which may use so many processors, of which they are granted the time of a
    /// `quota`.
    #[cfg(feature = "shm")]
    pub(crate) fn of_ranks(attached: usize, cpus: u32, quota: Option<u32>) -> Self {
        let beyond = |limit: u32| attached > limit as usize;
        if quota.is_some_and(|quota| quota < cpus && beyond(quota)) {
            return Self::new(0, 0, QUOTA_YIELDS);
        }
        match beyond(cpus) {
            true => Self::new(0, 0, RANK_YIELDS),
            false => Self::new(RANK_POLLS, RANK_SPINS - RANK_POLLS, RANK_YIELDS),
        }
    }

    /// For so many ranks of this host before a network device. They do not pause in between; where they have no
    /// processor each, they let the others work at once.
    #[cfg(feature = "udp")]
    pub(crate) fn of_device(ranks: usize, processors: usize) -> Self {
        let polls = if ranks > processors { 0 } else { DEVICE_POLLS };
        Self::new(polls, 0, DEVICE_YIELDS)
    }

    /// Does a rank look for a while before others get its processor?
    #[cfg(feature = "shm")]
    #[inline]
    pub(crate) fn spins(&self) -> bool {
        self.yields_from > 0
    }

    /// The step of the idle poll of that number, where a yield pays.
    #[inline]
    pub(crate) fn step(&self, idle: u32) -> WaitStep {
        if idle < self.spins_from.into() {
            WaitStep::Poll
        } else if idle < self.yields_from.into() {
            WaitStep::Spin
        } else if idle < self.sleeps_from.into() {
            WaitStep::Yield
        } else {
            WaitStep::Sleep
        }
    }

    /// The same where a rank sleeps for a short time if a yield does not pay, of which only a yield asks.
    #[inline]
    pub(crate) fn step_if(&self, idle: u32, yields_pay: impl FnOnce() -> bool) -> WaitStep {
        match self.step(idle) {
            WaitStep::Yield if !yields_pay() => match idle {
                0..NO_SLEEP_POLLS => WaitStep::Spin,
                _ => WaitStep::ShortSleep,
            },
            step => step,
        }
    }
}
