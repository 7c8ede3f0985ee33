//! The ranks of other hosts: a reliable channel over UDP or raw Ethernet, and connections by which everybody learns who
//! has gone.

use super::failure_detector::FailureDetector;
use super::injected_loss::{self, Lossy};
use super::link::{self, Link};
use super::traffic::Traffic;
use crate::bootstrap::JobKeys;
use core::net::IpAddr;
use pombo_kernel::Error;
use pombo_kernel::channel::{Channel, ChannelError, Event, WaitSet};
use pombo_netdrivers::udp::Udp;
use pombo_netdrivers::{HeapStorage, wait_fds};
use pombo_transport::ContiguousFrame;
use pombo_transport::reliable::{Arrived, Reliable, Timing, Window};

/// Frames under way to a peer, at most, and the bytes of each and of all: 64 of usual length, 32 of 9000 bytes, 8 of the
/// longest. What a pair of ranks has used of it stays in memory, for each place as much as its longest frame: on either
/// side at most 256 KiB with usual frames and 1 MiB with long ones.
type Wide<const RANKS: usize> = Window<RANKS, 64, 65535, { 512 << 10 }>;

/// A rank's channel to the ranks of other hosts, of a job of up to so many. It has all ranks as peers.
pub struct InterHost<const RANKS: usize> {
    reliable: Reliable<Lossy<Link<Udp>>, Wide<RANKS>, HeapStorage>,
    failure_detector: FailureDetector,
    /// Polls before the next look at the clock.
    polls: u32,
    /// When the next look at the connections is due.
    due: u64,
    /// When the next look at the interface is due.
    check_due: u64,
    /// Since when everything has arrived; 0: not yet.
    settled: u64,
    address: IpAddr,
    /// Seconds after which a host that does not answer counts as gone.
    timeout: u32,
    job: JobKeys,
    /// What wakes the groups.
    also: Option<WaitSet>,
}

/// Idle so often it sleeps for the groups too: before the network does, which does not hear of them.
const CALM: u32 = 400;
/// Polls between two looks at the clock.
const POLLS: u32 = 64;
/// The longest sleep in nanoseconds: so long a death stays unnoticed.
const LONGEST_SLEEP: u64 = 100_000_000;
/// Nanoseconds between two looks at the connections.
const LOOK: u64 = 50_000_000;
/// Nanoseconds between two looks at the interface. Whoever only receives learns from nothing else that it carries less.
const CHECK: u64 = 1_000_000_000;

impl<const RANKS: usize> InterHost<RANKS> {
    pub(super) fn new(
        network: Lossy<Link<Udp>>,
        failure_detector: FailureDetector,
        (address, timeout): (IpAddr, u32),
        job: JobKeys,
    ) -> Result<Self, Error> {
        Ok(InterHost {
            reliable: Reliable::new(network, job.name.epoch)?,
            failure_detector,
            polls: 0,
            due: 0,
            check_due: 0,
            settled: 0,
            address,
            timeout,
            job,
            also: None,
        })
    }

    /// What has happened to frames so far.
    pub fn traffic(&self) -> Traffic {
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

    /// The network itself.
    pub(super) fn link(&self) -> &Link<Udp> {
        injected_loss::below(self.reliable.network())
    }

    /// This host's address on the network between hosts.
    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    /// Seconds after which a host that does not answer counts as gone.
    pub(super) fn timeout(&self) -> u32 {
        self.timeout
    }

    /// The job that it was opened for.
    pub(super) fn job(&self) -> JobKeys {
        self.job
    }

    /// The groups beside it are woken by this; whoever sleeps next sleeps for it too.
    pub fn wakes_also_by(&mut self, groups: Option<WaitSet>) {
        self.also = groups;
    }

    /// Has everything arrived that was sent, or its receiver gone? And have others had the time to be told of all that
    /// arrived here? Who goes then keeps nobody waiting; who misses the last report learns from the connection that
    /// this rank has gone.
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

    pub(super) fn finish(&mut self) {
        self.failure_detector.finish();
    }

    /// Who has gone because of whom.
    pub(super) fn failure_detector(&self) -> &FailureDetector {
        &self.failure_detector
    }

    /// Looks who has gone.
    fn look(&mut self, now: u64) {
        self.polls = POLLS;
        if now >= self.due {
            self.due = now.saturating_add(LOOK);
            let reliable = &mut self.reliable;
            self.failure_detector
                .look(|gone| reliable.declare_lost(gone));
        }
    }

    /// Looks whether the interface still carries the job's frames.
    fn check(&mut self, now: u64) -> Result<(), ChannelError> {
        if now < self.check_due {
            return Ok(());
        }
        self.check_due = now.saturating_add(CHECK);
        self.link().inner().check()
    }
}

impl<const RANKS: usize> Channel for InterHost<RANKS> {
    type Arrival<'a> = Arrived<'a, ContiguousFrame<'a>>;

    pombo_kernel::channel_defaults! { poll_with, wait_with }
    pombo_kernel::forward_channel! { reliable: me, peers, limit, supports_single_copy, try_send, set_corked, now }

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
        // It may sleep.
        self.polls = 0;
        let nanoseconds = nanoseconds.min(LONGEST_SLEEP);
        match self.also {
            Some(_) if idle >= CALM => match self.wait_sources() {
                Some(wake) => wait_fds(wake.at_most(nanoseconds)).map_err(ChannelError::Device),
                None => Ok(()),
            },
            _ => self.reliable.wait_timeout(idle, nanoseconds),
        }
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        self.polls = 0;
        let wake = self.reliable.wait_sources()?.at_most(LONGEST_SLEEP);
        match self.also.take() {
            Some(groups) => wake.or(groups),
            None => Some(wake),
        }
    }
}
