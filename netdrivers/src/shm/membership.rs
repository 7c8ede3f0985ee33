//! A rank's view of the ranks of its segment: which are attached, and which have ended. A launcher records in the
//! segment whose process has ended; ranks without one check the others' processes. Only `Shm` uses it.

use pombo_kernel::header::Peer;

use super::pid_monitor::{self, PidMonitor};
use super::segment::{RankState, Segment};
use super::sync::Ordering;
use crate::deaths::DeathSource;
use crate::tuning::PROCESS_CHECK_INTERVAL;

pub(super) struct Membership {
    pub(super) me: Peer,
    /// The PID of the rank: a forked child is not this rank.
    pid: i32,
    /// The segment's epoch at the last check.
    pub(super) epoch: u32,
    /// The monitor of the others' processes; `None` if a launcher monitors the ranks.
    monitor: Option<PidMonitor>,
    pub(super) segment: Segment,
}

impl Membership {
    /// Creates the view of this process, which has claimed the rank.
    pub(super) fn new(segment: Segment, me: Peer) -> Self {
        Self {
            me,
            pid: pid_monitor::pid(),
            epoch: 0,
            monitor: PidMonitor::of(&segment, me.index()),
            segment,
        }
    }

    /// Returns whether a rank has attached or ended since the last check.
    #[inline]
    pub(super) fn has_changed(&self) -> bool {
        self.current_epoch() != self.epoch
    }

    #[inline]
    fn current_epoch(&self) -> u32 {
        self.segment.header().epoch.0.load(Ordering::Acquire)
    }

    /// Returns whether this rank monitors the others' processes.
    #[inline]
    pub(super) fn is_monitoring(&self) -> bool {
        self.monitor.is_some()
    }

    /// Records the final state of this rank.
    pub(super) fn leave(&self, state: RankState) {
        if self.pid == pid_monitor::pid() {
            let rank = self.me.index();
            self.segment.transition(rank, RankState::Attached, state);
        }
    }
}

impl DeathSource for Membership {
    #[cold]
    fn poll_deaths(&mut self, now: u64, gone: &mut dyn FnMut(Peer)) {
        if let Some(monitor) = &mut self.monitor {
            monitor.check(&self.segment, now);
        }
        let epoch = self.current_epoch();
        if epoch == self.epoch {
            return;
        }
        self.epoch = epoch;
        for rank in (0..self.segment.ranks()).filter(|rank| *rank != self.me.index()) {
            let state = self.segment.state_of(rank);
            if matches!(state, RankState::Finished | RankState::Dead) {
                gone(Peer(rank as u16));
            }
        }
    }

    fn max_sleep(&self) -> u64 {
        match self.monitor {
            Some(_) => PROCESS_CHECK_INTERVAL,
            None => u64::MAX,
        }
    }

    fn has_started(&self, peer: Peer) -> bool {
        self.segment
            .state(peer.index())
            .is_ok_and(|state| state != RankState::NotStarted)
    }

    fn is_unreachable(&self, _: Peer) -> bool {
        // The system of this host knows which of its processes have ended.
        false
    }

    fn has_finished(&self, peer: Peer) -> bool {
        self.segment.state(peer.index()) == Ok(RankState::Finished)
    }

    fn root_cause_of(&self, peer: Peer) -> Option<Peer> {
        self.segment.root_cause(peer.index()).map(Peer)
    }

    fn report_root_cause(&self, other: Peer) {
        // `set_root_cause` fails only for an unknown rank.
        let _ = self.segment.set_root_cause(self.me.index(), other.0);
    }
}
