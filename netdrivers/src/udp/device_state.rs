//! The common part of unicast and multicast devices: sending, identifying and counting frames. Only `device` and
//! `multicast` use it.

use alloc::vec::Vec;

use super::address::{PeerTable, SockAddr};
use super::gso::GsoBatch;
use super::iovec::IoVecs;
use super::recv_batch::RecvBatch;
use super::send_refusals::RefusalTracker;
use super::socket::{SendOutcome, Socket};
use crate::wait::DeviceWait;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_transport::ContiguousFrame;

/// Counters of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UdpCounts {
    /// Datagrams from addresses that are not in the table: dropped.
    pub foreign: u64,
    /// Frames that the system did not send for a transient reason: no memory, a network that is down, no receiver, a
    /// rule that forbids it.
    pub unsent: u64,
}

/// The common part of unicast and multicast devices.
pub(super) struct DeviceState {
    pub(super) me: Peer,
    pub(super) table: PeerTable,
    pub(super) mtu: usize,
    pub(super) full: bool,
    pub(super) counts: UdpCounts,
    pub(super) device_wait: DeviceWait,
    pub(super) refused: RefusalTracker,
    gso: GsoBatch,
    /// An error for frames that had been accepted.
    deferred_error: Option<ChannelError>,
    /// Buffer for frames whose parts are not contiguous.
    scratch: Vec<u8>,
}

/// The destination of a frame.
#[derive(Clone, Copy)]
pub(super) enum Destination<'a> {
    Peer(Peer),
    Address(&'a SockAddr),
}

impl DeviceState {
    pub(super) fn new(me: Peer, table: PeerTable, mtu: usize, socket: &Socket) -> Self {
        DeviceState {
            gso: GsoBatch::new(socket.supports_gso()),
            deferred_error: None,
            me,
            device_wait: DeviceWait::of(table.local),
            table,
            mtu,
            full: false,
            counts: UdpCounts::default(),
            refused: RefusalTracker::new(),
            scratch: alloc::vec![0; mtu],
        }
    }

    #[inline]
    pub(super) fn transmit(
        &mut self,
        socket: &Socket,
        to: Destination<'_>,
        parts: &[Part<'_>],
    ) -> Result<(), ChannelError> {
        let to = match to {
            Destination::Peer(peer) => self
                .table
                .address(peer)
                .ok_or(ChannelError::NoSuchPeer(peer))?,
            Destination::Address(address) => address,
        };
        let len = Part::total(parts);
        if len > self.mtu {
            return Err(ChannelError::TooLong { limit: self.mtu });
        }
        if self.gso.is_corked() || !self.gso.is_empty() {
            let to = *to;
            return self.join(socket, &to, len, parts);
        }
        let sent = socket.send(to, &IoVecs::of(parts, &mut self.scratch));
        self.full = sent == Err(ChannelError::Full);
        let taken = sent?;
        self.counts.unsent += u64::from(taken != SendOutcome::Sent);
        self.refused.note(to, taken)
    }

    /// Adds a frame to those that wait to be sent, or sends these first.
    fn join(
        &mut self,
        socket: &Socket,
        to: &SockAddr,
        len: usize,
        parts: &[Part<'_>],
    ) -> Result<(), ChannelError> {
        if !self.gso.has_room(to, len) {
            self.flush(socket)?;
        }
        self.gso.push(to, len, parts);
        match self.gso.is_corked() {
            true => Ok(()),
            false => self.flush_if_room(socket),
        }
    }

    fn flush(&mut self, socket: &Socket) -> Result<(), ChannelError> {
        let left = self.gso.flush(socket);
        self.full = left == Err(ChannelError::Full);
        let (lost, taken) = left?;
        self.counts.unsent += lost;
        self.refused.note(self.gso.to(), taken)
    }

    /// Sends accepted frames now, or leaves them for later if there is no room.
    fn flush_if_room(&mut self, socket: &Socket) -> Result<(), ChannelError> {
        match self.flush(socket) {
            Err(ChannelError::Full) => Ok(()),
            left => left,
        }
    }

    #[inline]
    pub(super) fn set_corked(&mut self, socket: &Socket, on: bool) {
        self.gso.set_corked(on);
        if !on && !self.gso.is_empty() {
            self.deferred_error = self.flush_if_room(socket).err();
        }
    }

    /// Sends frames that found no room before, and reports a deferred error.
    #[inline]
    pub(super) fn flush_pending(&mut self, socket: &Socket) -> Result<(), ChannelError> {
        if !self.gso.is_empty() {
            self.flush_if_room(socket)?;
        }
        self.deferred_error.take().map_or(Ok(()), Err)
    }

    /// Delivers the frames of a batch that come from peers. Omits this peer's own frames unless `own`.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        recv_batch: &RecvBatch,
        came: usize,
        own: bool,
        mut f: impl FnMut(ContiguousFrame<'_>),
    ) -> bool {
        let mut any = false;
        for slot in 0..came {
            let (from, bytes, each) = recv_batch.frames(slot);
            match self.table.peer(from) {
                Some(peer) if own || peer != self.me => {
                    any = true;
                    let (first, rest) = bytes.split_at(each.min(bytes.len()));
                    f(ContiguousFrame::new(peer, first));
                    rest.chunks(each)
                        .for_each(|next| f(ContiguousFrame::new(peer, next)));
                }
                Some(_) => {}
                None => self.counts.foreign += bytes.len().div_ceil(each).max(1) as u64,
            }
        }
        any
    }
}
