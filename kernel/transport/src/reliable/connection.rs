//! Both directions of the connection to one peer: what arrives and what has to be sent. Only `reliable` uses it.

use super::capacities::Windows;
use super::frame;
use super::frame::{ASK, DATA, FrameHeader, HEADER_LEN, REPORT};
use super::received_frame::{Arrived, ArrivedOf};
use super::receiver::{ArrivalOrder, Receiver};
use super::sender::{AckInfo, Sender};
use super::stats::ReliableStats;
use super::timing::Timing;
use pombo_kernel::aspect::Storage;
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

pub(super) struct Connection<Z: Windows, S: Storage> {
    pub(super) sender: Sender<Z, S>,
    pub(super) receiver: Receiver<Z, S>,
    pub(super) liveness: Liveness,
    /// Whether the peer is in the list of those to serve.
    pub(super) marked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Liveness {
    Up,
    /// The peer is lost; the user is told after all that has arrived.
    LossDeclared,
    Lost,
}

/// The context of a transmission to a peer.
pub(super) struct Tx<'a, N> {
    pub(super) network: &'a mut N,
    pub(super) counts: &'a mut ReliableStats,
    pub(super) timing: &'a Timing,
    pub(super) epoch: u32,
    pub(super) to: Peer,
    pub(super) now: u64,
}

impl<Z: Windows, S: Storage> Connection<Z, S> {
    pub(super) fn new(frames: u32) -> Self {
        Connection {
            sender: Sender::new(frames),
            receiver: Receiver::new(frames),
            liveness: Liveness::Up,
            marked: false,
        }
    }

    /// Handles a verified frame. Passes on what is in order.
    pub(super) fn on_frame<N: Network>(
        &mut self,
        head: &FrameHeader,
        arrival: N::Frame<'_>,
        now: u64,
        timing: &Timing,
        counts: &mut ReliableStats,
        mut f: impl FnMut(ArrivedOf<'_, N>),
    ) {
        let ack = AckInfo {
            expected: head.expected.get(),
            echo: head.echo.get(),
            credit: head.credit.get(),
            seen: head.seen(&arrival),
        };
        if !self.sender.on_ack(&ack, now, timing) {
            counts.impossible += 1;
            return;
        }
        if head.kind == REPORT {
            return;
        }
        let asks = head.flags & ASK != 0;
        let (number, stamp) = (head.number.get(), head.stamp.get());
        let receiver = &mut self.receiver;
        let order = receiver.take(number, stamp, &arrival, HEADER_LEN, head.len());
        match order {
            ArrivalOrder::Next => {
                let (from, len) = (arrival.from(), head.len());
                counts.received += 1;
                f(Arrived::behind(arrival, HEADER_LEN, len));
                while receiver.advance() {
                    counts.received += 1;
                    f(Arrived::kept(from, receiver.out_of_order()));
                }
            }
            ArrivalOrder::Buffered => counts.kept += 1,
            ArrivalOrder::Duplicate => counts.duplicates += 1,
            ArrivalOrder::OutOfWindow => counts.beyond += 1,
        }
        match asks || order != ArrivalOrder::Next || receiver.has_gaps() {
            true => receiver.report_now(),
            false => receiver.report_by(now.saturating_add(timing.report_after)),
        }
    }

    /// Sends what is due. Returns the time in nanoseconds of the next action.
    ///
    /// # Errors
    /// [`ChannelError::Full`] if the device has no room, or the network's error.
    pub(super) fn serve<N: Network>(&mut self, tx: &mut Tx<'_, N>) -> Result<u64, ChannelError> {
        if self.liveness != Liveness::Up {
            return Ok(u64::MAX);
        }
        self.sender.expire(tx.now, tx.timing);
        while let Some(number) = self.sender.next_lost() {
            self.transmit(number, tx)?;
            tx.counts.resent += 1;
        }
        if self.receiver.deadline() <= tx.now {
            self.report(tx)?;
        }
        Ok(self.deadline(tx.timing))
    }

    pub(super) fn deadline(&self, timing: &Timing) -> u64 {
        let sender = self.sender.deadline(timing);
        sender.min(self.receiver.deadline())
    }

    /// Sends a stored frame, for the first time or again.
    pub(super) fn transmit<N: Network>(
        &mut self,
        number: u32,
        tx: &mut Tx<'_, N>,
    ) -> Result<(), ChannelError> {
        let marks = self.sender.marks(number, tx.timing);
        let bytes = self.sender.bytes(number);
        let head = FrameHeader {
            flags: if marks.ask { ASK } else { 0 },
            number: U32::new(number),
            stamp: U32::new(marks.stamp),
            ..self.head(DATA, bytes.len(), tx.epoch)
        };
        tx.transmit(head, bytes)?;
        self.receiver.acked_by_data();
        self.sender.sent(number, &marks, tx.now);
        Ok(())
    }

    fn report<N: Network>(&mut self, tx: &mut Tx<'_, N>) -> Result<(), ChannelError> {
        let seen = U64::new(self.receiver.seen());
        let head = self.head(REPORT, size_of::<U64>(), tx.epoch);
        tx.transmit(head, seen.as_bytes())?;
        tx.counts.reports += 1;
        self.receiver.reported();
        Ok(())
    }

    fn head(&self, kind: u8, len: usize, epoch: u32) -> FrameHeader {
        FrameHeader {
            kind,
            flags: 0,
            // The length is bounded by the MTU, which was checked to be smaller.
            len: U16::new(len as u16),
            check: U32::ZERO,
            epoch: U32::new(epoch),
            number: U32::ZERO,
            stamp: U32::ZERO,
            expected: U32::new(self.receiver.expected()),
            echo: U32::new(self.receiver.echo()),
            credit: U16::new(self.receiver.credit()),
            reserved: U16::ZERO,
        }
    }
}

impl<N: Network> Tx<'_, N> {
    fn transmit(&mut self, mut head: FrameHeader, rest: &[u8]) -> Result<(), ChannelError> {
        if !self.network.is_checked() {
            head.set_checksum((self.network.me(), self.to), rest);
        }
        let parts = [Part::Bytes(head.as_bytes()), Part::Bytes(rest)];
        self.network.transmit(self.to, &parts)
    }
}

impl ReliableStats {
    pub(super) fn refuse(&mut self, refusal: frame::Refusal) {
        match refusal {
            frame::Refusal::Foreign => self.foreign += 1,
            frame::Refusal::Corrupt => self.corrupt += 1,
            frame::Refusal::Stale => self.stale += 1,
        }
    }
}
