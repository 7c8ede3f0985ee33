//! Frames from peer to peer, and to all at once.

use super::SelectedIo;
use super::frame::{self, EVERYBODY, FrameAddress, FrameError};
use super::frame_io::FrameIo;
use super::interface;
use super::table::PeerTable;
use crate::clock::now;
use crate::udp::wait_policy::NetworkWaitPolicy;
use alloc::string::String;
use pombo_kernel::channel::{ChannelError, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_transport::ContiguousFrame;

/// One peer's device. Dropping it closes its socket.
pub struct Ethernet<L: FrameIo = SelectedIo> {
    io: L,
    frame_address: FrameAddress,
    table: PeerTable,
    interface: String,
    /// What the interface carried when the peer joined.
    initial_mtu: usize,
    mtu: usize,
    /// Are there peers on other hosts, and other peers on this one?
    has_remote: bool,
    has_local: bool,
    full: bool,
    counts: EthernetCounts,
    wait_policy: NetworkWaitPolicy,
}

/// What has happened at a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct EthernetCounts {
    /// Of another protocol or job, or from an interface that its peer does not have: dropped.
    pub foreign: u64,
    /// Shorter than they say: dropped.
    pub truncated: u64,
    /// Found no room in this host, because nobody polled: lost.
    pub dropped: u64,
    /// Not taken by the system for a reason that may pass: memory, an interface that is down.
    pub unsent: u64,
}

impl<L: FrameIo> Ethernet<L> {
    pub(super) fn new(
        io: L,
        frame_address: FrameAddress,
        table: PeerTable,
        (interface, initial_mtu): (String, usize),
        mtu: usize,
    ) -> Self {
        Ethernet {
            io,
            frame_address,
            has_remote: table.local < table.len(),
            has_local: table.local > 1,
            wait_policy: NetworkWaitPolicy::of(table.local),
            table,
            interface,
            initial_mtu,
            mtu,
            full: false,
            counts: EthernetCounts::default(),
        }
    }

    /// The interface's name.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The interface's MTU when this peer joined, and what it is now, where that is less. Frames that are too long for
    /// it are refused with EMSGSIZE (90).
    pub fn reduced_mtu(&self) -> Option<(usize, usize)> {
        let [socket, _] = self.io.fds();
        let now = interface::mtu(socket, &self.interface).ok()?;
        (now < self.initial_mtu).then_some((self.initial_mtu, now))
    }

    /// Does the interface still carry the longest frame of the job? One that does not drops longer frames when they
    /// arrive, and says nothing: who only receives has to ask.
    ///
    /// # Errors
    /// [`ChannelError::Device`] with EMSGSIZE (90) if it does not.
    pub fn check_mtu(&self) -> Result<(), ChannelError> {
        match self.reduced_mtu() {
            Some((_, now)) if now < self.mtu + frame::POMBO_HEADER_LEN => {
                Err(ChannelError::Device(libc::EMSGSIZE))
            }
            _ => Ok(()),
        }
    }

    /// For who waits on several: readable when frames have come; negative: none.
    pub fn fds(&self) -> [i32; 2] {
        self.io.fds()
    }

    fn wake(&mut self) -> WaitSet {
        let descriptors = self.io.fds();
        let full = core::mem::take(&mut self.full);
        WaitSet::readable(descriptors).writable(full, descriptors)
    }

    /// Was there no room at the last transmission? Then the descriptors are writable when there is.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// What has happened so far.
    pub fn counts(&self) -> EthernetCounts {
        EthernetCounts {
            dropped: self.io.dropped(),
            ..self.counts
        }
    }

    /// To a peer's interface, by way of this host if it is there.
    #[inline]
    fn send(
        &mut self,
        to: (frame::MacBytes, u16),
        local: bool,
        parts: &[Part<'_>],
    ) -> Result<(), ChannelError> {
        let len = Part::total(parts);
        if len > self.mtu {
            return Err(ChannelError::TooLong { limit: self.mtu });
        }
        let head = frame::header(to, (self.table.own_mac(), self.frame_address), len);
        let sent = self.io.send(local, &head, parts);
        self.full = sent == Err(ChannelError::Full);
        self.counts.unsent += u64::from(!sent?);
        Ok(())
    }
}

impl<L: FrameIo> Network for Ethernet<L> {
    type Frame<'a> = ContiguousFrame<'a>;

    fn me(&self) -> Peer {
        self.frame_address.peer
    }

    fn peers(&self) -> usize {
        self.table.len()
    }

    fn mtu(&self) -> usize {
        self.mtu
    }

    #[inline]
    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let mac = self.table.mac(to).ok_or(ChannelError::NoSuchPeer(to))?;
        self.send((mac, to.0), mac == self.table.own_mac(), parts)
    }

    #[inline]
    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        let Ethernet {
            io,
            frame_address,
            table,
            counts,
            ..
        } = self;
        let mut any = false;
        io.poll(|bytes| match frame::parse(bytes, *frame_address) {
            Ok(parsed) if table.mac(parsed.from) == Some(parsed.mac) => {
                // What it sends to all it may hear itself, as an echo of this host.
                if !(parsed.to_all && parsed.from == frame_address.peer) {
                    any = true;
                    f(ContiguousFrame::new(parsed.from, parsed.bytes));
                }
            }
            Ok(_) | Err(FrameError::Foreign) => counts.foreign += 1,
            Err(FrameError::Truncated) => counts.truncated += 1,
        })?;
        Ok(any)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        let wake = self.wake();
        self.wait_policy.wait(idle, until, wake)
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        Some(self.wake())
    }

    fn now(&self) -> u64 {
        now()
    }
}

impl<L: FrameIo> Broadcast for Ethernet<L> {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let to = (self.frame_address.group(), EVERYBODY);
        if self.has_remote {
            self.send(to, false, parts)?;
        }
        if self.has_local {
            // It is out already where others are; here it may get lost as anywhere.
            match self.send(to, true, parts) {
                Err(ChannelError::Full) if self.has_remote => self.counts.unsent += 1,
                sent => sent?,
            }
        }
        Ok(())
    }
}
