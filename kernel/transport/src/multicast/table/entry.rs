//! One group of a table. Only `table` uses it.

use super::BufferProvider;
use crate::multicast::frame::{FrameHeader, REPORT};
use crate::multicast::{
    GroupId, GroupSizes, MulticastStats, ReassemblyBuffer, Receiver, SendStatus, Sender,
    SenderConfig, WireGroup,
};
use crate::reliable::Timing;
use pombo_kernel::Error;
use pombo_kernel::aspect::{Slice, Storage};
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Source as Bytes;
use pombo_kernel::network::Broadcast;

pub(super) struct Entry<Z: GroupSizes, S: Storage> {
    id: GroupId,
    sender: Sender<Z, S>,
    receivers: S::Slice<Receiver<Z, S>, Z::Members>,
    closed: bool,
    /// The time before which nothing is due.
    due: u64,
    blocked: bool,
}

impl<Z: GroupSizes, S: Storage> Entry<Z, S> {
    pub(super) fn new(
        id: WireGroup,
        others: impl Iterator<Item = Peer>,
        mtu: usize,
        config: SenderConfig,
        timing: Timing,
    ) -> Result<Self, Error> {
        let mut receivers: S::Slice<Receiver<Z, S>, Z::Members> = S::Slice::new();
        for (before, peer) in others.enumerate() {
            let (peers, bound) = (
                before + 1,
                <Z::Members as pombo_kernel::aspect::Capacity>::N,
            );
            let refused = Error::TooManyPeers { peers, bound };
            let receiver = Receiver::new(id, peer, timing, None);
            receivers.push(receiver).map_err(|_| refused)?;
        }
        let peers = receivers.as_ref().iter().map(Receiver::sender);
        Ok(Entry {
            id: id.group,
            sender: Sender::new(id, peers, mtu, config, timing)?,
            receivers,
            closed: false,
            due: 0,
            blocked: false,
        })
    }

    pub(super) fn id(&self) -> GroupId {
        self.id
    }

    pub(super) fn count(&self, counts: &mut MulticastStats) {
        counts.add(&self.sender.counts());
        let receivers = self.receivers.as_ref().iter();
        receivers.for_each(|receiver| counts.add(&receiver.counts()));
    }

    fn receiver(&mut self, peer: Peer) -> Option<&mut Receiver<Z, S>> {
        let mut receivers = self.receivers.as_mut().iter_mut();
        receivers.find(|receiver| receiver.sender() == peer)
    }

    /// Records that frames of that sender arrived before the group was open.
    pub(super) fn report_missed(&mut self, from: Peer, stamp: u32) {
        if let Some(receiver) = self.receiver(from) {
            receiver.report_missed(stamp);
        }
    }

    pub(super) fn send<N: Broadcast>(
        &mut self,
        network: &mut N,
        message: &impl Bytes,
    ) -> Result<SendStatus, Error> {
        self.due = 0;
        let status = self.sender.send(message)?;
        self.sender.send_due(network, &Lent(Some(message)))?;
        Ok(status)
    }

    pub(super) fn is_lent(&self) -> bool {
        self.sender.is_lent()
    }

    pub(super) fn receive<N: Broadcast>(
        &mut self,
        network: &mut N,
        sender: Peer,
        into: &mut (impl ReassemblyBuffer + ?Sized),
    ) -> Result<Option<usize>, Error> {
        let receiver = self.receiver(sender).ok_or(Error::NoSuchPeer(sender))?;
        let received = receiver.receive(into)?;
        receiver.send_due(network)?;
        self.due = 0;
        Ok(received)
    }

    pub(super) fn small(&self) -> usize {
        self.sender.small()
    }

    pub(super) fn has_credit(&self) -> bool {
        self.sender.has_credit()
    }

    pub(super) fn arrived(&self, sender: Peer) -> Result<u64, Error> {
        let mut receivers = self.receivers.as_ref().iter();
        let receiver = receivers.find(|receiver| receiver.sender() == sender);
        receiver
            .map(Receiver::arrived)
            .ok_or(Error::NoSuchPeer(sender))
    }

    /// Shows the messages of a sender; returns whether it has to hear that there is room again.
    pub(super) fn retain(
        &mut self,
        sender: Peer,
        keep: impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<bool, Error> {
        let receiver = self.receiver(sender).ok_or(Error::NoSuchPeer(sender))?;
        receiver.retain(keep);
        let reports = receiver.deadline() == 0;
        if reports {
            self.due = 0;
        }
        Ok(reports)
    }

    /// Handles a frame; returns false if its source is not in this group.
    pub(super) fn on_frame<A: Arrival>(
        &mut self,
        head: &FrameHeader,
        frame: &A,
        provider: &mut impl BufferProvider,
        now: u64,
    ) -> bool {
        let (id, from) = (self.id, frame.from());
        let Some(receiver) = self.receiver(from) else {
            return false;
        };
        if head.kind == REPORT {
            self.sender.on_report(head, frame, now);
        } else {
            let posted = receiver.is_posted();
            let buffer = posted.then(|| provider.incoming(id, from)).flatten();
            receiver.on_group_frame(head, frame, buffer, now);
        }
        self.due = 0;
        true
    }

    /// Sends what is due.
    pub(super) fn send_due<N: Broadcast>(
        &mut self,
        network: &mut N,
        provider: &mut impl BufferProvider,
        now: u64,
    ) -> Result<(), ChannelError> {
        if self.due > now && !self.blocked {
            return Ok(());
        }
        (self.due, self.blocked) = (u64::MAX, false);
        for receiver in self.receivers.as_mut() {
            match receiver.send_due(network)? {
                true => self.due = self.due.min(receiver.deadline()),
                false => self.blocked = true,
            }
        }
        let message = provider.outgoing(self.id).filter(|_| self.sender.is_lent());
        self.sender.send_due(network, &Lent(message))?;
        self.due = self.due.min(self.sender.deadline());
        self.blocked |= self.sender.is_blocked();
        Ok(())
    }

    pub(super) fn due(&self) -> u64 {
        self.due
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    pub(super) fn declare_lost(&mut self, peer: Peer) {
        self.due = 0;
        if let Some(receiver) = self.receiver(peer) {
            receiver.declare_lost();
        }
        self.sender.declare_lost(peer);
    }

    pub(super) fn close(&mut self) {
        (self.closed, self.due) = (true, 0);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn is_settled(&self) -> bool {
        self.sender.is_done()
    }

    pub(super) fn is_unicast_only(&self) -> bool {
        self.sender.is_unicast_only()
    }

    /// Returns whether the group is closed and nothing is left to send.
    pub(super) fn is_over(&self) -> bool {
        let mut receivers = self.receivers.as_ref().iter();
        self.closed
            && self.is_settled()
            && receivers.all(|receiver| receiver.deadline() == u64::MAX)
    }
}

/// The message that a sender has been lent, or none: one type for both, as all that sends is compiled for it.
struct Lent<'a, M>(Option<&'a M>);

impl<M: Bytes> Bytes for Lent<'_, M> {
    fn len(&self) -> usize {
        self.0.map_or(0, Bytes::len)
    }

    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        self.0?.bytes()
    }

    fn fixed(&self, offset: usize, len: usize) -> Option<*const u8> {
        self.0?.fixed(offset, len)
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        if let Some(message) = self.0 {
            message.copy_out(offset, into);
        }
    }

    fn copy_out_swapped(&self, offset: usize, into: &mut [u8]) {
        if let Some(message) = self.0 {
            message.copy_out_swapped(offset, into);
        }
    }
}
