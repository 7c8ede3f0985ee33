//! Frames to all nodes at once.

use core::mem::take;
use core::net::{SocketAddr, SocketAddrV4};

use super::address::{Raw, Table};
use super::common::{Common, Counts, To};
use super::ring::Ring;
use super::socket::Socket;
use crate::clock::now;
use pombo_kernel::channel::{ChannelError, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_transport::InPlace;

/// One node's device for groups: what is broadcast goes through a multicast or broadcast address, what is for one node
/// to the socket that this device has there. Dropping it closes both its sockets.
pub struct UdpCast {
    /// Sends everything, and hears what is for this node.
    mouth: Socket,
    /// Hears what is for all.
    ears: Socket,
    group: Raw,
    ring: Ring,
    common: Common,
}

impl UdpCast {
    pub(super) fn new(
        me: Node,
        (mouth, ears): (Socket, Socket),
        table: Table,
        group: SocketAddrV4,
        mtu: usize,
    ) -> Self {
        UdpCast {
            group: Raw::of(group.into()),
            ring: Ring::new(),
            common: Common::new(me, table, mtu, &mouth),
            mouth,
            ears,
        }
    }

    /// The descriptors, for who waits on several: readable when frames have come.
    pub fn fds(&self) -> [i32; 2] {
        [self.mouth.number(), self.ears.number()]
    }

    fn wake(&mut self) -> Wake {
        let [mouth, ears] = self.fds();
        Wake::by([mouth, ears]).room(take(&mut self.common.full), [mouth])
    }

    /// Was there no room at the last transmission? Then the first descriptor is writable when there is.
    pub fn is_full(&self) -> bool {
        self.common.full
    }

    /// What has happened so far.
    pub fn counts(&self) -> Counts {
        self.common.counts
    }

    /// As [`Udp::set_refused_limit`](super::Udp::set_refused_limit).
    pub fn set_refused_limit(&mut self, seconds: u32) {
        self.common.refused.set_limit(seconds);
    }

    /// As [`Udp::refused`](super::Udp::refused).
    pub fn refused(&self) -> Option<SocketAddr> {
        self.common.refused.failed()
    }
}

impl Network for UdpCast {
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
        self.common.transmit(&self.mouth, To::Node(to), parts)
    }

    fn gather(&mut self, on: bool) {
        self.common.gather(&self.mouth, on);
    }

    fn poll(&mut self, mut f: impl FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        self.common.leave_late(&self.mouth)?;
        let came = self.ring.fill(&self.ears)?;
        let cast = self.common.hand_out(&self.ring, came, false, &mut f);
        let came = self.ring.fill(&self.mouth)?;
        let sent = self.common.hand_out(&self.ring, came, true, &mut f);
        Ok(cast || sent)
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

impl Broadcast for UdpCast {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.common
            .transmit(&self.mouth, To::Address(&self.group), parts)
    }
}
