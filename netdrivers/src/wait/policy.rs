//! The policy that selects the next step of an idle rank. `shm`, `loopback` and `device_wait` use it.

use crate::tuning::NO_SLEEP_POLLS;
#[cfg(feature = "udp")]
use crate::tuning::{DEVICE_POLLS, DEVICE_YIELDS};
#[cfg(feature = "shm")]
use crate::tuning::{
    QUOTA_YIELDS, RANK_POLLS, RANK_SPINS, RANK_YIELDS, THREAD_SPINS, THREAD_YIELDS,
};

/// The next step of an idle rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitStep {
    /// Poll again immediately.
    Poll,
    Spin,
    Yield,
    /// Sleep for a short time in place of a yield.
    ShortSleep,
    Sleep,
}

/// A waiting policy. Waiting costs little while every rank has a processor; otherwise it takes the processor from ranks
/// that work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WaitPolicy {
    /// The numbers of the first idle polls with a pause, a yield, and a sleep: the [table](crate::tuning) fit.
    spins_from: u16,
    yields_from: u16,
    sleeps_from: u16,
}

impl WaitPolicy {
    /// The policy of ranks that are threads.
    #[cfg(feature = "shm")]
    pub(crate) const THREADS: Self = Self::new(0, THREAD_SPINS, THREAD_YIELDS);

    const fn new(polls: u32, spins: u32, yields: u32) -> Self {
        WaitPolicy {
            spins_from: polls as u16,
            yields_from: (polls + spins) as u16,
            sleeps_from: (polls + spins + yields) as u16,
        }
    }

    /// Returns the policy for `attached` ranks of a segment that may use `cpus` processors, with a CPU quota of `quota`
    /// processors.
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

    /// Returns the policy for `ranks` ranks of this host on a network device. They do not pause between polls; if they
    /// share processors, they yield immediately.
    #[cfg(feature = "udp")]
    pub(crate) fn of_device(ranks: usize, processors: usize) -> Self {
        let polls = if ranks > processors { 0 } else { DEVICE_POLLS };
        Self::new(polls, 0, DEVICE_YIELDS)
    }

    /// Returns the number of idle polls after which a rank sleeps.
    #[cfg(feature = "shm")]
    #[inline]
    pub(crate) fn polls_before_sleep(&self) -> u32 {
        self.sleeps_from.into()
    }

    /// Returns whether a rank spins before it yields its processor. Boards are polled for a moment also where it does not.
    #[cfg(feature = "shm")]
    #[inline]
    pub(crate) fn spins(&self) -> bool {
        self.yields_from > 0
    }

    /// Returns the step of the idle poll of that number, if yields pay.
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

    /// Returns the step of the idle poll; if yields do not pay, a short sleep replaces a yield. Only yields call
    /// `yields_pay`.
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
