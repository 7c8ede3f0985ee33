//! Raw Ethernet for short messages and UDP for long ones: [`EthernetAndUdp`]. Launchers use it where frames are short
//! and the line is fast.
//!
//! A raw frame costs half as much latency as a datagram, but every one of them goes through the system by itself, and
//! Linux segments no frames of an EtherType of our own. Of datagrams it takes 64 in one call.

use super::SelectedIo;
use super::device::Ethernet;
use super::frame_io::FrameIo;
use crate::tuning::{BULK_HOLD, BULK_POLL_INTERVAL, BULK_POLLS, DEVICE_POLLS};
use crate::udp::Udp;
use crate::wait::now;
use alloc::vec::Vec;
use pombo_kernel::channel::{ChannelError, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_transport::ContiguousFrame;

/// Two devices of one peer with the same peers. Bulk goes by UDP: many full frames that may wait for each other,
/// and what follows them soon, so that frames seldom overtake each other.
pub struct EthernetAndUdp<L: FrameIo = SelectedIo> {
    raw: Ethernet<L>,
    udp: Udp,
    mtu: usize,
    corked: bool,
    /// Number of full frames to one peer since the network was corked or another one got a frame, less those that
    /// shorter ones cancel, and that peer.
    run: (u32, Peer),
    /// The time until which frames to a peer follow its bulk; 0: there is none.
    bulk_until: Vec<u64>,
    /// Number of polls before UDP is polled next, and of those that poll it each time because bulk has arrived.
    polls_left: u32,
    bulk_polls: u32,
}

/// Full frames before bulk begins: more than those of a message that is sent without asking.
const BULK_AFTER: u32 = 7;
/// Full frames that a shorter one cancels: a datagram ends what the system takes in one call if it is shorter.
const SHORT_WEIGHT: u32 = 2;
/// Bytes that a full frame may lack: protocols above round their frames.
const NEARLY: usize = 64;

impl<L: FrameIo> EthernetAndUdp<L> {
    /// Joins two devices with the same peers.
    pub fn new(raw: Ethernet<L>, udp: Udp) -> Self {
        EthernetAndUdp {
            mtu: raw.mtu().min(udp.mtu()),
            bulk_until: alloc::vec![0; raw.peers()],
            raw,
            udp,
            corked: false,
            run: (0, Peer(0)),
            polls_left: 0,
            bulk_polls: 0,
        }
    }

    /// Returns the device of raw frames.
    pub fn raw(&self) -> &Ethernet<L> {
        &self.raw
    }

    /// Returns the device of long messages.
    pub fn udp(&self) -> &Udp {
        &self.udp
    }

    /// Returns whether a frame belongs to bulk or follows it.
    fn is_bulk(&mut self, to: Peer, parts: &[Part<'_>]) -> bool {
        let Some(until) = self.bulk_until.get_mut(to.index()) else {
            return false;
        };
        let full = self.corked && Part::total(parts) + NEARLY >= self.mtu;
        let before = if self.run.1 == to { self.run.0 } else { 0 };
        let run = match full {
            true => before + 1,
            false => before.saturating_sub(SHORT_WEIGHT),
        };
        self.run = (run, to);
        let begins = run > BULK_AFTER;
        if *until == 0 && !begins {
            return false;
        }
        let now = now();
        let follows = now < *until;
        if full && (begins || follows && run > BULK_AFTER / 2) {
            *until = now.saturating_add(BULK_HOLD);
        } else if !follows {
            *until = 0;
        }
        *until != 0
    }
}

impl<L: FrameIo> Network for EthernetAndUdp<L> {
    type Frame<'a> = ContiguousFrame<'a>;

    pombo_kernel::network_defaults! { is_checked }

    fn me(&self) -> Peer {
        self.raw.me()
    }

    fn peers(&self) -> usize {
        self.raw.peers()
    }

    fn mtu(&self) -> usize {
        self.mtu
    }

    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        match self.is_bulk(to, parts) {
            true => self.udp.transmit(to, parts),
            false => self.raw.transmit(to, parts),
        }
    }

    fn set_corked(&mut self, on: bool) {
        (self.corked, self.run.0) = (on, 0);
        self.udp.set_corked(on);
    }

    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        let short = self.raw.poll(&mut f)?;
        if self.bulk_polls == 0 && self.polls_left > 0 {
            self.polls_left -= 1;
            return Ok(short);
        }
        let long = self.udp.poll(f)?;
        self.bulk_polls = match long {
            true => BULK_POLLS,
            false => self.bulk_polls.saturating_sub(1),
        };
        self.polls_left = BULK_POLL_INTERVAL - 1;
        Ok(short || long)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        if idle >= DEVICE_POLLS {
            self.polls_left = 0;
        }
        let udp = self.udp.wait_sources();
        self.raw.wait_with_other(idle, until, udp.as_ref())
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        self.polls_left = 0;
        self.raw.wait_sources()?.or(self.udp.wait_sources()?)
    }

    fn now(&self) -> u64 {
        now()
    }
}

impl<L: FrameIo> Broadcast for EthernetAndUdp<L> {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.raw.broadcast(parts)
    }
}
