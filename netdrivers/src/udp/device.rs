//! Frames from node to node.

use core::mem::take;
use core::net::SocketAddr;

use super::address::Table;
use super::common::{Common, Counts, To};
use super::ring::Ring;
use super::socket::Socket;
use crate::clock::now;
use pombo_kernel::channel::{ChannelError, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use pombo_transport::InPlace;

/// One node's device. Dropping it closes its socket.
pub struct Udp {
    socket: Socket,
    ring: Ring,
    common: Common,
}

impl Udp {
    pub(super) fn new(me: Node, socket: Socket, table: Table, mtu: usize) -> Self {
        Udp {
            ring: Ring::new(),
            common: Common::new(me, table, mtu, &socket),
            socket,
        }
    }

    /// The descriptor, for who waits on several: readable when frames have come.
    pub fn fd(&self) -> i32 {
        self.socket.number()
    }

    fn wake(&mut self) -> Wake {
        let fd = self.socket.number();
        Wake::by([fd]).room(take(&mut self.common.full), [fd])
    }

    /// Was there no room at the last transmission? Then the descriptor is writable when there is.
    pub fn is_full(&self) -> bool {
        self.common.full
    }

    /// What has happened so far.
    pub fn counts(&self) -> Counts {
        self.common.counts
    }

    /// So many seconds this host may refuse to send to an address before that is an error.
    pub fn set_refused_limit(&mut self, seconds: u32) {
        self.common.refused.set_limit(seconds);
    }

    /// The address to which this host refused to send until that was an error.
    pub fn refused(&self) -> Option<SocketAddr> {
        self.common.refused.failed()
    }
}

impl Network for Udp {
    type Frame<'a> = InPlace<'a>;

    fn node(&self) -> Node {
        self.common.me
    }

    fn nodes(&self) -> usize {
        self.common.table.len()
    }

    fn mtu(&self) -> usize {
        self.common.mtu
    }

    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.common.transmit(&self.socket, To::Node(to), parts)
    }

    fn gather(&mut self, on: bool) {
        self.common.gather(&self.socket, on);
    }

    fn poll(&mut self, f: impl FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        self.common.leave_late(&self.socket)?;
        let came = self.ring.fill(&self.socket)?;
        Ok(came > 0 && self.common.hand_out(&self.ring, came, true, f))
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        let wake = self.wake();
        self.common.patience.wait(idle, until, wake)
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        Some(self.wake())
    }

    fn now(&self) -> u64 {
        now()
    }
}
