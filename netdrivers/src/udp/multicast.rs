//! The device for multicast.

use core::mem::take;
use core::net::{SocketAddr, SocketAddrV4};

use super::address::{PeerTable, SockAddr};
use super::device_state::{Destination, DeviceState, UdpCounts};
use super::recv_batch::RecvBatch;
use super::socket::Socket;
use crate::wait::now;
use pombo_kernel::channel::{ChannelError, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_transport::ContiguousFrame;

/// One peer's multicast device: broadcasts go through a multicast or broadcast address, unicast frames to the socket of
/// this device at the other peer. Dropping it closes both its sockets.
pub struct UdpMulticast {
    /// Sends all frames, and receives unicast frames.
    socket: Socket,
    /// Receives the frames of the group.
    group_socket: Socket,
    group: SockAddr,
    recv_batch: RecvBatch,
    state: DeviceState,
}

/// Largest number of system calls for unicast frames per poll. Each may return twice as many as the one before, so that
/// a poll takes a report of every one of 63 receivers.
const MAX_FILLS: usize = 6;

impl UdpMulticast {
    pub(super) fn new(
        me: Peer,
        (socket, group_socket): (Socket, Socket),
        table: PeerTable,
        group: SocketAddrV4,
        mtu: usize,
    ) -> Self {
        UdpMulticast {
            group: SockAddr::new(group.into()),
            recv_batch: RecvBatch::new(),
            state: DeviceState::new(me, table, mtu, &socket),
            socket,
            group_socket,
        }
    }

    /// Returns the descriptors, for a wait on several: they are readable when frames have arrived.
    pub fn fds(&self) -> [i32; 2] {
        [self.socket.number(), self.group_socket.number()]
    }

    fn wake(&mut self) -> WaitSet {
        let [socket, group_socket] = self.fds();
        WaitSet::readable([socket, group_socket]).writable(take(&mut self.state.full), [socket])
    }

    /// Returns whether the last transmission found no room. The first descriptor is writable when there is room again.
    pub fn is_full(&self) -> bool {
        self.state.full
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> UdpCounts {
        self.state.counts
    }

    /// Sets the limit as [`Udp::set_refused_limit`](super::Udp::set_refused_limit) does.
    pub fn set_refused_limit(&mut self, seconds: u32) {
        self.state.refused.set_limit(seconds);
    }

    /// Returns the address as [`Udp::refused`](super::Udp::refused) does.
    pub fn refused(&self) -> Option<SocketAddr> {
        self.state.refused.failed()
    }
}

impl Network for UdpMulticast {
    type Frame<'a> = ContiguousFrame<'a>;

    pombo_kernel::network_defaults! { is_checked }

    fn me(&self) -> Peer {
        self.state.me
    }

    fn peers(&self) -> usize {
        self.state.table.len()
    }

    fn mtu(&self) -> usize {
        self.state.mtu
    }

    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.state
            .transmit(&self.socket, Destination::Peer(to), parts)
    }

    fn set_corked(&mut self, on: bool) {
        self.state.set_corked(&self.socket, on);
    }

    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        self.state.flush_pending(&self.socket)?;
        let came = self.recv_batch.fill(&self.group_socket)?;
        let cast = self.state.deliver(&self.recv_batch, came, false, &mut f);
        // All receivers report at about the same time, and a rank that does not wait for the group polls seldom: with
        // one report per poll a sender of short messages runs out of credit.
        let mut sent = false;
        for _ in 0..MAX_FILLS {
            let requested = self.recv_batch.requested();
            let came = self.recv_batch.fill(&self.socket)?;
            sent |= self.state.deliver(&self.recv_batch, came, true, &mut f);
            if came < requested {
                break;
            }
        }
        Ok(cast || sent)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        let wake = self.wake();
        self.state.device_wait.wait(idle, until, wake)
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        Some(self.wake())
    }

    fn now(&self) -> u64 {
        now()
    }
}

impl Broadcast for UdpMulticast {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.state
            .transmit(&self.socket, Destination::Address(&self.group), parts)
    }
}
