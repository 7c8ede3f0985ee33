//! Frames to all nodes at once.

use core::mem::take;
use core::net::{SocketAddr, SocketAddrV4};

use super::address::{SockAddr, PeerTable};
use super::device_state::{DeviceState, UdpCounts, Destination};
use super::recv_batch::RecvBatch;
use super::socket::Socket;
use crate::clock::now;
use pombo_kernel::channel::{ChannelError, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_transport::ContiguousFrame;

/// One node's device for groups: what is broadcast goes through a multicast or broadcast address, what is for one node
/// to the socket that this device has there. Dropping it closes both its sockets.
pub struct UdpMulticast {
    /// Sends everything, and hears what is for this node.
    socket: Socket,
    /// Hears what is for all.
    group_socket: Socket,
    group: SockAddr,
    recv_batch: RecvBatch,
    state: DeviceState,
}

impl UdpMulticast {
    pub(super) fn new(
        me: Node,
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

    /// The descriptors, for who waits on several: readable when frames have come.
    pub fn fds(&self) -> [i32; 2] {
        [self.socket.number(), self.group_socket.number()]
    }

    fn wake(&mut self) -> Wake {
        let [socket, group_socket] = self.fds();
        Wake::by([socket, group_socket]).room(take(&mut self.state.full), [socket])
    }

    /// Was there no room at the last transmission? Then the first descriptor is writable when there is.
    pub fn is_full(&self) -> bool {
        self.state.full
    }

    /// What has happened so far.
    pub fn counts(&self) -> UdpCounts {
        self.state.counts
    }

    /// As [`Udp::set_refused_limit`](super::Udp::set_refused_limit).
    pub fn set_refused_limit(&mut self, seconds: u32) {
        self.state.refused.set_limit(seconds);
    }

    /// As [`Udp::refused`](super::Udp::refused).
    pub fn refused(&self) -> Option<SocketAddr> {
        self.state.refused.failed()
    }
}

impl Network for UdpMulticast {
    type Frame<'a> = ContiguousFrame<'a>;

    fn node(&self) -> Node {
        self.state.me
    }

    fn nodes(&self) -> usize {
        self.state.table.len()
    }

    fn mtu(&self) -> usize {
        self.state.mtu
    }

    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.state.transmit(&self.socket, Destination::Node(to), parts)
    }

    fn gather(&mut self, on: bool) {
        self.state.set_corked(&self.socket, on);
    }

    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        self.state.flush_pending(&self.socket)?;
        let came = self.recv_batch.fill(&self.group_socket)?;
        let cast = self.state.deliver(&self.recv_batch, came, false, &mut f);
        let came = self.recv_batch.fill(&self.socket)?;
        let sent = self.state.deliver(&self.recv_batch, came, true, &mut f);
        Ok(cast || sent)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        let wake = self.wake();
        self.state.wait_policy.wait(idle, until, wake)
    }

    fn wakes_by(&mut self) -> Option<Wake> {
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
