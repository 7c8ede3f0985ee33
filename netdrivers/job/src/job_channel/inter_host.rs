//! The channel to the ranks of other hosts: reliable over UDP or raw Ethernet, with connections that detect dead ranks.

use super::failure_detector::FailureDetector;
use super::injected_loss::{self, Lossy};
use super::link::{self, Link};
use super::traffic::Traffic;
use crate::bootstrap::JobKeys;
use core::net::IpAddr;
use pombo_kernel::Error;
use pombo_kernel::channel::{Channel, ChannelError, Event, SHORT_SLEEP, WaitSet};
use pombo_netdrivers::deaths::DeathSource;
use pombo_netdrivers::tuning::{INTERFACE_CHECK_INTERVAL, POLLS_PER_CLOCK, SLEEPING_AFTER};
use pombo_netdrivers::udp::Udp;
use pombo_netdrivers::{HeapStorage, wait_fds};
use pombo_transport::ContiguousFrame;
use pombo_transport::reliable::{Arrived, Reliable, Timing, Window};

/// Largest number of frames in flight to a peer, and the sizes in bytes of each and of all: 64 of usual length, 32 of
/// 9000 bytes, 8 of the longest. Memory that a pair of ranks has used stays allocated, for each slot as much as its
/// longest frame: on either side at most 256 KiB with usual frames and 1 MiB with long ones.
type Wide<const RANKS: usize> = Window<RANKS, 64, 65535, { 512 << 10 }>;

/// A rank's channel to the ranks of other hosts, of a job of up to `RANKS` ranks. All ranks are its peers.
pub struct InterHost<const RANKS: usize> {
    reliable: Reliable<Lossy<Link<Udp>>, Wide<RANKS>, HeapStorage>,
    failure_detector: FailureDetector,
    /// Number of polls before the clock is read next.
    polls: u32,
    /// The time of the next check of the interface in ns.
    check_due: u64,
    /// The time since which everything has arrived; 0: not yet.
    settled: u64,
    address: IpAddr,
    /// Seconds after which a host that does not answer counts as lost.
    timeout: u32,
    job: JobKeys,
    fingerprint: u64,
}

impl<const RANKS: usize> InterHost<RANKS> {
    pub(super) fn new(
        network: Lossy<Link<Udp>>,
        failure_detector: FailureDetector,
        (address, timeout): (IpAddr, u32),
        (job, fingerprint): (JobKeys, u64),
    ) -> Result<Self, Error> {
        Ok(InterHost {
            reliable: Reliable::new(network, job.name.epoch)?,
            failure_detector,
            polls: 0,
            check_due: 0,
            settled: 0,
            address,
            timeout,
            job,
            fingerprint,
        })
    }

    /// Returns the counters of frames.
    pub(super) fn traffic(&self) -> Traffic {
        let counts = self.reliable.counts();
        let lossy = self.reliable.network();
        let (strangers, overflow) = link::refused(injected_loss::below(lossy));
        Traffic {
            frames: counts.sent + counts.reports,
            resent: counts.resent,
            repairs: 0,
            duplicates: counts.duplicates,
            dropped: counts.beyond + injected_loss::lost(lossy) + overflow,
            rejected: strangers
                + counts.foreign
                + counts.corrupt
                + counts.stale
                + counts.impossible,
        }
    }

    /// Returns the network below.
    pub(super) fn link(&self) -> &Link<Udp> {
        injected_loss::below(self.reliable.network())
    }

    /// Returns this host's address on the network between hosts.
    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns the seconds after which a host that does not answer counts as lost.
    pub(super) fn timeout(&self) -> u32 {
        self.timeout
    }

    /// Returns the job for which the channel was opened.
    pub(super) fn job(&self) -> JobKeys {
        self.job
    }

    /// Returns the fingerprint of the job's composition.
    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns whether everything that was sent has arrived, or its receiver is lost, and the others have had time to
    /// receive the last reports. A rank that leaves then blocks no other; a rank that misses the last report learns
    /// from the connection that this one has ended.
    pub(super) fn is_settled(&mut self) -> bool {
        let now = self.now();
        self.look(now);
        if !self.reliable.is_settled() {
            self.settled = 0;
            return false;
        }
        if self.settled == 0 {
            self.settled = now;
        }
        now - self.settled >= 2 * Timing::default().report_after
    }

    /// Returns whether a frame has not been acknowledged by its receiver, which lives.
    pub(crate) fn has_frames_under_way(&self) -> bool {
        !self.reliable.is_settled()
    }

    pub(super) fn finish(&mut self) {
        self.failure_detector.finish();
    }

    /// Tells the others that a process has come to the place that this rank has kept.
    pub(super) fn report_taken(&self) {
        self.failure_detector.report_taken();
    }

    /// Returns the failure detector, which knows the ended ranks and the reasons.
    pub(super) fn failure_detector(&self) -> &FailureDetector {
        &self.failure_detector
    }

    /// Checks for ended ranks.
    fn look(&mut self, now: u64) {
        self.polls = POLLS_PER_CLOCK;
        let reliable = &mut self.reliable;
        self.failure_detector
            .poll_deaths(now, &mut |gone| reliable.declare_lost(gone));
    }

    /// Checks whether the interface still carries the job's frames.
    fn check(&mut self, now: u64) -> Result<(), ChannelError> {
        if now < self.check_due {
            return Ok(());
        }
        self.check_due = now.saturating_add(INTERFACE_CHECK_INTERVAL);
        self.link().inner().check()
    }
}

impl<const RANKS: usize> Channel for InterHost<RANKS> {
    type Arrival<'a> = Arrived<'a, ContiguousFrame<'a>>;

    pombo_kernel::channel_defaults! { poll_with }
    pombo_kernel::forward_channel! { reliable: me, peers, limit, supports_single_copy, favours_early_data, try_send, set_corked, now }

    fn poll(&mut self, f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        match self.polls {
            0 => {
                let now = self.now();
                self.look(now);
                self.check(now)?;
            }
            _ => self.polls -= 1,
        }
        self.reliable.poll(f)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.wait_timeout(idle, u64::MAX)
    }

    fn wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        // The channel may sleep, so the clock is read at the next poll.
        self.polls = 0;
        let most = self.failure_detector.max_sleep();
        self.reliable.wait_timeout(idle, nanoseconds.min(most))
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        self.polls = 0;
        let most = self.failure_detector.max_sleep();
        Some(self.reliable.wait_sources()?.at_most(most))
    }

    fn wait_with(&mut self, idle: u32, other: WaitSet) -> Result<(), ChannelError> {
        if idle < SLEEPING_AFTER {
            return self.wait_timeout(idle, other.timeout);
        }
        match self.wait_sources().and_then(|own| own.or(other)) {
            Some(both) => wait_fds(both).map_err(ChannelError::Device),
            None => self.wait_timeout(idle, other.timeout.min(SHORT_SLEEP)),
        }
    }
}
