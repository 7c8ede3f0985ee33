//! Frames from node to node.

use alloc::vec::Vec;
use core::mem::take;
use core::net::{IpAddr, SocketAddr};

use super::address::{Raw, Table};
use super::batch::Batch;
use super::bound::Bound;
use super::error::UdpError;
use super::gather::Vectors;
use super::refused::Refused;
use super::ring::Ring;
use super::socket::{Socket, Taken};
use super::waiting::Patience;
use crate::InPlace;
use crate::clock::now;
use pombo_kernel::channel::{ChannelError, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;

/// One node's device. Dropping it closes its socket.
pub struct Udp {
    socket: Socket,
    ring: Ring,
    sides: Sides,
}

/// What has happened at a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Datagrams from addresses that are not in the table: dropped.
    pub foreign: u64,
    /// Frames that the system did not take for a reason that may pass: memory, a network that is down, nobody there, a
    /// rule that forbids it.
    pub unsent: u64,
}

impl Udp {
    /// The first step: an address of this host, with a port that the system chooses.
    ///
    /// # Errors
    /// [`UdpError::Anywhere`], [`UdpError::NotHere`], [`UdpError::Mtu`], or [`UdpError::System`].
    pub fn bind(address: impl Into<IpAddr>) -> Result<Bound, UdpError> {
        Bound::new(address.into())
    }

    pub(super) fn new(me: Node, socket: Socket, table: Table, mtu: usize) -> Self {
        Udp {
            ring: Ring::new(),
            sides: Sides::new(me, table, mtu, &socket),
            socket,
        }
    }

    /// The descriptor, for who waits on several: readable when frames have come.
    pub fn fd(&self) -> i32 {
        self.socket.number()
    }

    fn wake(&mut self) -> Wake {
        let fd = self.socket.number();
        Wake::by([fd]).room(take(&mut self.sides.full), [fd])
    }

    /// Was there no room at the last transmission? Then the descriptor is writable when there is.
    pub fn is_full(&self) -> bool {
        self.sides.full
    }

    /// What has happened so far.
    pub fn counts(&self) -> Counts {
        self.sides.counts
    }

    /// So many seconds this host may refuse to send to an address before that is an error.
    pub fn set_refused_limit(&mut self, seconds: u32) {
        self.sides.refused.set_limit(seconds);
    }

    /// The address to which this host refused to send until that was an error.
    pub fn refused(&self) -> Option<SocketAddr> {
        self.sides.refused.failed()
    }
}

impl Network for Udp {
    type Frame<'a> = InPlace<'a>;

    fn node(&self) -> Node {
        self.sides.me
    }

    fn nodes(&self) -> usize {
        self.sides.table.len()
    }

    fn mtu(&self) -> usize {
        self.sides.mtu
    }

    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.sides.transmit(&self.socket, To::Node(to), parts)
    }

    fn gather(&mut self, on: bool) {
        self.sides.gather(&self.socket, on);
    }

    fn poll(&mut self, f: impl FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        self.sides.leave_late(&self.socket)?;
        let came = self.ring.fill(&self.socket)?;
        Ok(came > 0 && self.sides.hand_out(&self.ring, came, true, f))
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        let wake = self.wake();
        self.sides.patience.wait(idle, until, wake)
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        Some(self.wake())
    }

    fn now(&self) -> u64 {
        now()
    }
}

/// What devices for nodes and for groups have in common.
pub(super) struct Sides {
    pub(super) me: Node,
    pub(super) table: Table,
    pub(super) mtu: usize,
    pub(super) full: bool,
    pub(super) counts: Counts,
    pub(super) patience: Patience,
    pub(super) refused: Refused,
    batch: Batch,
    /// The device has failed for frames that were taken.
    failed: Option<ChannelError>,
    /// For frames that do not lie in pieces.
    room: Vec<u8>,
}

/// Who is to get a frame.
#[derive(Clone, Copy)]
pub(super) enum To<'a> {
    Node(Node),
    Address(&'a Raw),
}

impl Sides {
    pub(super) fn new(me: Node, table: Table, mtu: usize, socket: &Socket) -> Self {
        Sides {
            batch: Batch::new(socket.cuts()),
            failed: None,
            me,
            patience: Patience::of(table.here),
            table,
            mtu,
            full: false,
            counts: Counts::default(),
            refused: Refused::new(),
            room: alloc::vec![0; mtu],
        }
    }

    #[inline]
    pub(super) fn transmit(
        &mut self,
        socket: &Socket,
        to: To<'_>,
        parts: &[Part<'_>],
    ) -> Result<(), ChannelError> {
        let to = match to {
            To::Node(node) => self
                .table
                .address(node)
                .ok_or(ChannelError::NoSuchNode(node))?,
            To::Address(address) => address,
        };
        let len = Part::total(parts);
        if len > self.mtu {
            return Err(ChannelError::TooLong { limit: self.mtu });
        }
        if self.batch.is_on() || !self.batch.is_empty() {
            let to = *to;
            return self.join(socket, &to, len, parts);
        }
        let sent = socket.send(to, &Vectors::of(parts, &mut self.room));
        self.full = sent == Err(ChannelError::Full);
        let taken = sent?;
        self.counts.unsent += u64::from(taken != Taken::Whole);
        self.refused.note(to, taken)
    }

    /// Beside those that wait to leave, or after them.
    fn join(
        &mut self,
        socket: &Socket,
        to: &Raw,
        len: usize,
        parts: &[Part<'_>],
    ) -> Result<(), ChannelError> {
        if !self.batch.has_room(to, len) {
            self.leave(socket)?;
        }
        self.batch.put(to, len, parts);
        match self.batch.is_on() {
            true => Ok(()),
            false => self.leave_if_room(socket),
        }
    }

    fn leave(&mut self, socket: &Socket) -> Result<(), ChannelError> {
        let left = self.batch.leave(socket);
        self.full = left == Err(ChannelError::Full);
        let (lost, taken) = left?;
        self.counts.unsent += lost;
        self.refused.note(self.batch.to(), taken)
    }

    /// What was taken leaves now or later.
    fn leave_if_room(&mut self, socket: &Socket) -> Result<(), ChannelError> {
        match self.leave(socket) {
            Err(ChannelError::Full) => Ok(()),
            left => left,
        }
    }

    #[inline]
    pub(super) fn gather(&mut self, socket: &Socket, on: bool) {
        self.batch.gather(on);
        if !on && !self.batch.is_empty() {
            self.failed = self.leave_if_room(socket).err();
        }
    }

    /// What found no room before, or failed.
    #[inline]
    pub(super) fn leave_late(&mut self, socket: &Socket) -> Result<(), ChannelError> {
        if !self.batch.is_empty() {
            self.leave_if_room(socket)?;
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Hands out what a ring has taken and what comes from a node. What this node hears of itself is left out unless
    /// `own`.
    #[inline]
    pub(super) fn hand_out(
        &mut self,
        ring: &Ring,
        came: usize,
        own: bool,
        mut f: impl FnMut(InPlace<'_>),
    ) -> bool {
        let mut any = false;
        for slot in 0..came {
            let (from, bytes, each) = ring.frames(slot);
            match self.table.node(from) {
                Some(node) if own || node != self.me => {
                    any = true;
                    let (first, rest) = bytes.split_at(each.min(bytes.len()));
                    f(InPlace::new(node, first));
                    rest.chunks(each)
                        .for_each(|next| f(InPlace::new(node, next)));
                }
                Some(_) => {}
                None => self.counts.foreign += bytes.len().div_ceil(each).max(1) as u64,
            }
        }
        any
    }
}
