//! The device: frames from peer to peer, and broadcasts.

use super::SelectedIo;
use super::frame_io::FrameIo;
use super::interface;
use super::table::PeerTable;
use crate::ethernet_frame::{self as frame, EVERYBODY, FrameAddress, FrameError};
use crate::wait::{DeviceWait, now};
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
    /// The MTU of the interface when the peer joined.
    initial_mtu: usize,
    mtu: usize,
    /// Whether there are peers on other hosts, and (`has_local`) other peers on this one.
    has_remote: bool,
    has_local: bool,
    full: bool,
    counts: EthernetCounts,
    device_wait: DeviceWait,
}

/// Counters of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct EthernetCounts {
    /// Frames of another protocol or job, or from an interface that its peer does not have: dropped.
    pub foreign: u64,
    /// Frames shorter than their header says: dropped.
    pub truncated: u64,
    /// Frames that found no room in this host because no poll took them: lost.
    pub dropped: u64,
    /// Frames that the system did not accept for a transient reason: no memory, an interface that is down.
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
            device_wait: DeviceWait::of(table.local),
            table,
            interface,
            initial_mtu,
            mtu,
            full: false,
            counts: EthernetCounts::default(),
        }
    }

    /// Returns the interface's name.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Returns the speed of the interface in megabits per second, if the system tells it.
    pub fn speed(&self) -> Option<u32> {
        let [socket, _] = self.io.fds();
        interface::speed(socket, &self.interface)
    }

    /// Returns the interface's MTU when this peer joined, and its present MTU, if that is smaller. Longer frames are
    /// refused with EMSGSIZE (90).
    pub fn reduced_mtu(&self) -> Option<(usize, usize)> {
        let [socket, _] = self.io.fds();
        let now = interface::mtu(socket, &self.interface).ok()?;
        (now < self.initial_mtu).then_some((self.initial_mtu, now))
    }

    /// Checks that the interface still carries the longest frame of the job. With a smaller MTU the system drops longer
    /// arriving frames without an error, so a peer that only receives must call this.
    ///
    /// # Errors
    /// [`ChannelError::Device`] with EMSGSIZE (90) if the MTU is too small.
    pub fn check_mtu(&self) -> Result<(), ChannelError> {
        match self.reduced_mtu() {
            Some((_, now)) if now < self.mtu + frame::POMBO_HEADER_LEN => {
                Err(ChannelError::Device(libc::EMSGSIZE))
            }
            _ => Ok(()),
        }
    }

    /// Returns the descriptors, for a wait on several: they are readable when frames have arrived; negative ones are
    /// absent.
    pub fn fds(&self) -> [i32; 2] {
        self.io.fds()
    }

    /// Waits as [`Network::wait`], also for the events of another device.
    pub(super) fn wait_with_other(
        &mut self,
        idle: u32,
        until: u64,
        other: Option<&WaitSet>,
    ) -> Result<(), ChannelError> {
        let own = self.wake();
        let wake = other.map_or(own, |other| own.or(*other).unwrap_or(own));
        self.device_wait.wait(idle, until, wake)
    }

    fn wake(&mut self) -> WaitSet {
        let descriptors = self.io.fds();
        let full = core::mem::take(&mut self.full);
        WaitSet::readable(descriptors).writable(full, descriptors)
    }

    /// Returns whether the last transmission found no room. The descriptors are writable when there is room again.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> EthernetCounts {
        EthernetCounts {
            dropped: self.io.dropped(),
            ..self.counts
        }
    }

    /// Sends to a peer's interface, over the loopback interface if the peer is on this host.
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

    pombo_kernel::network_defaults! { is_checked, set_corked }

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
                // The loopback interface may return this peer's own broadcasts.
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
        self.wait_with_other(idle, until, None)
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
            // The frame has already left for the other hosts; on this host it may get lost like any frame.
            match self.send(to, true, parts) {
                Err(ChannelError::Full) if self.has_remote => self.counts.unsent += 1,
                sent => sent?,
            }
        }
        Ok(())
    }
}
