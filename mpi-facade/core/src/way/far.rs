//! The ranks of other hosts: a reliable channel over UDP, and connections by which everybody learns who has gone.

use super::Traffic;
use super::patient::Patient;
use super::vigil::Vigil;
use crate::header::RANKS;
use core::net::IpAddr;
use pombo_kernel::channel::reliable::{Arrived, Reliable, Timing, Window};
use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::memory::Part;
use pombo_kernel::{Error, Node};
use pombo_netdrivers::udp::{Lossy, Udp};
use pombo_netdrivers::{Growing, InPlace};

/// Frames under way to a peer, at most, and the bytes of each. What a pair of ranks has used of it stays in memory:
/// at most 190 KiB on either side.
type Wide = Window<RANKS, 64, 1500>;

/// A rank's channel to the ranks of other hosts. It has all ranks as nodes.
pub struct Far {
    reliable: Reliable<Lossy<Patient<Udp>>, Wide, Growing>,
    vigil: Vigil,
    /// Polls before the next look at the clock.
    polls: u32,
    /// When the next look at the connections is due.
    due: u64,
    /// Since when everything has arrived; 0: not yet.
    settled: u64,
    address: IpAddr,
    job: u64,
}

/// Polls between two looks at the clock.
const POLLS: u32 = 64;
/// Nanoseconds between two looks at the connections.
const LOOK: u64 = 50_000_000;

impl Far {
    pub(super) fn new(
        network: Lossy<Patient<Udp>>,
        vigil: Vigil,
        epoch: u32,
        (address, job): (IpAddr, u64),
    ) -> Result<Self, Error> {
        Ok(Far {
            reliable: Reliable::new(network, epoch)?,
            vigil,
            polls: 0,
            due: 0,
            settled: 0,
            address,
            job,
        })
    }

    /// What has happened to frames so far.
    pub fn traffic(&self) -> Traffic {
        let counts = self.reliable.counts();
        let lossy = self.reliable.network();
        let strangers = lossy.inner().inner().counts().foreign;
        Traffic {
            frames: counts.sent + counts.reports,
            resent: counts.resent,
            repairs: 0,
            duplicates: counts.duplicates,
            dropped: counts.beyond + lossy.lost(),
            rejected: strangers
                + counts.foreign
                + counts.corrupt
                + counts.stale
                + counts.impossible,
        }
    }

    /// This host's address on the network between hosts.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// A random number that the ranks of this job share.
    pub fn job(&self) -> u64 {
        self.job
    }

    /// The descriptor that is readable when frames have come.
    pub fn fd(&self) -> i32 {
        self.reliable.network().inner().inner().fd()
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
        self.vigil.finish();
    }

    /// Looks who has gone.
    fn look(&mut self, now: u64) {
        self.polls = POLLS;
        if now >= self.due {
            self.due = now.saturating_add(LOOK);
            let reliable = &mut self.reliable;
            self.vigil.look(|gone| reliable.declare_lost(gone));
        }
    }
}

impl Channel for Far {
    type Arrival<'a> = Arrived<'a, InPlace<'a>>;

    fn node(&self) -> Node {
        self.reliable.node()
    }

    fn nodes(&self) -> usize {
        self.reliable.nodes()
    }

    fn limit(&self, to: Node) -> usize {
        self.reliable.limit(to)
    }

    fn try_send(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        self.reliable.try_send(to, cookie, parts)
    }

    fn poll(&mut self, f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        match self.polls {
            0 => self.look(self.now()),
            _ => self.polls -= 1,
        }
        self.reliable.poll(f)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        // It may sleep.
        self.polls = 0;
        self.reliable.wait(idle)
    }

    fn now(&self) -> u64 {
        self.reliable.now()
    }
}
