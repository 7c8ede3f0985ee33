//! Frames from peer to peer.

use core::mem::take;
use core::net::SocketAddr;

use super::address::PeerTable;
use super::device_state::{Destination, DeviceState, UdpCounts};
use super::recv_batch::RecvBatch;
use super::socket::Socket;
use crate::wait::now;
use pombo_kernel::channel::{ChannelError, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use pombo_transport::ContiguousFrame;

/// One peer's device. Dropping it closes its socket.
pub struct Udp {
    socket: Socket,
    recv_batch: RecvBatch,
    state: DeviceState,
}

impl Udp {
    pub(super) fn new(me: Peer, socket: Socket, table: PeerTable, mtu: usize) -> Self {
        Udp {
            recv_batch: RecvBatch::new(),
            state: DeviceState::new(me, table, mtu, &socket),
            socket,
        }
    }

    /// Returns the descriptor, for a wait on several: it is readable when frames have arrived.
    pub fn fd(&self) -> i32 {
        self.socket.number()
    }

    fn wake(&mut self) -> WaitSet {
        let fd = self.socket.number();
        WaitSet::readable([fd]).writable(take(&mut self.state.full), [fd])
    }

    /// Returns whether the last transmission found no room. The descriptor is writable when there is room again.
    pub fn is_full(&self) -> bool {
        self.state.full
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> UdpCounts {
        self.state.counts
    }

    /// Sets for how many seconds this host may refuse to send to an address before that is an error.
    pub fn set_refused_limit(&mut self, seconds: u32) {
        self.state.refused.set_limit(seconds);
    }

    /// Returns the address to which this host refused to send until that was an error.
    pub fn refused(&self) -> Option<SocketAddr> {
        self.state.refused.failed()
    }
}

impl Network for Udp {
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

    fn poll(&mut self, f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        self.state.flush_pending(&self.socket)?;
        let came = self.recv_batch.fill(&self.socket)?;
        Ok(came > 0 && self.state.deliver(&self.recv_batch, came, true, f))
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
