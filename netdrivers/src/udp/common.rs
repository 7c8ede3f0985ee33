//! What devices for nodes and for groups have in common: how frames leave, are told apart and are counted. Used by
//! `device` and `cast` only.

use alloc::vec::Vec;

use super::address::{Raw, Table};
use super::batch::Batch;
use super::gather::Vectors;
use super::refused::Refused;
use super::ring::Ring;
use super::socket::{Socket, Taken};
use super::waiting::Patience;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_transport::InPlace;

/// What has happened at a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Datagrams from addresses that are not in the table: dropped.
    pub foreign: u64,
    /// Frames that the system did not take for a reason that may pass: memory, a network that is down, nobody there, a
    /// rule that forbids it.
    pub unsent: u64,
}

/// What devices for nodes and for groups have in common.
pub(super) struct Common {
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

impl Common {
    pub(super) fn new(me: Node, table: Table, mtu: usize, socket: &Socket) -> Self {
        Common {
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
