//! Both directions of one peer together: what comes in and what has to go out. `reliable` only.

use super::arrived::{Arrived, Of};
use super::counts::Counts;
use super::frame;
use super::frame::{ASK, DATA, HEAD, Head, REPORT};
use super::receiver::{Place, Receiver};
use super::sender::{Said, Sender};
use super::timing::Timing;
use super::windows::Windows;
use pombo_kernel::aspect::Storage;
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

pub(super) struct Peer<Z: Windows, S: Storage> {
    pub(super) sender: Sender<Z, S>,
    pub(super) receiver: Receiver<Z, S>,
    pub(super) life: Life,
    /// It stands in the list of those to serve.
    pub(super) marked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Life {
    Up,
    /// Gone; the user hears of it after what has arrived.
    Declared,
    Lost,
}

/// What a peer needs to send.
pub(super) struct Out<'a, N> {
    pub(super) network: &'a mut N,
    pub(super) counts: &'a mut Counts,
    pub(super) timing: &'a Timing,
    pub(super) epoch: u32,
    pub(super) to: Node,
    pub(super) now: u64,
}

impl<Z: Windows, S: Storage> Peer<Z, S> {
    pub(super) fn new(frames: u32) -> Self {
        Peer {
            sender: Sender::new(frames),
            receiver: Receiver::new(frames),
            life: Life::Up,
            marked: false,
        }
    }

    /// Takes a frame that is what it says. Hands on what is in order.
    pub(super) fn hear<N: Network>(
        &mut self,
        head: &Head,
        arrival: N::Frame<'_>,
        now: u64,
        timing: &Timing,
        counts: &mut Counts,
        mut f: impl FnMut(Of<'_, N>),
    ) {
        let said = Said {
            expected: head.expected.get(),
            echo: head.echo.get(),
            credit: head.credit.get(),
            seen: head.seen(&arrival),
        };
        if !self.sender.hear(&said, now, timing) {
            counts.impossible += 1;
            return;
        }
        if head.kind == REPORT {
            return;
        }
        let asks = head.flags & ASK != 0;
        let (number, stamp) = (head.number.get(), head.stamp.get());
        let receiver = &mut self.receiver;
        let place = receiver.take(number, stamp, &arrival, HEAD, head.len());
        match place {
            Place::Next => {
                let (from, len) = (arrival.from(), head.len());
                counts.received += 1;
                f(Arrived::behind(arrival, HEAD, len));
                while receiver.advance() {
                    counts.received += 1;
                    f(Arrived::kept(from, receiver.early()));
                }
            }
            Place::Kept => counts.kept += 1,
            Place::Again => counts.duplicates += 1,
            Place::Beyond => counts.beyond += 1,
        }
        match asks || place != Place::Next || receiver.has_gaps() {
            true => receiver.owe_all(),
            false => receiver.owe(now.saturating_add(timing.report_after)),
        }
    }

    /// Sends what is due. Returns when there is something to do again.
    ///
    /// # Errors
    /// [`ChannelError::Full`] where the device has no room, and what the network says.
    pub(super) fn serve<N: Network>(&mut self, out: &mut Out<'_, N>) -> Result<u64, ChannelError> {
        if self.life != Life::Up {
            return Ok(u64::MAX);
        }
        self.sender.expire(out.now, out.timing);
        while let Some(number) = self.sender.next_lost() {
            self.transmit(number, out)?;
            out.counts.resent += 1;
        }
        if self.receiver.deadline() <= out.now {
            self.report(out)?;
        }
        Ok(self.deadline(out.timing))
    }

    pub(super) fn deadline(&self, timing: &Timing) -> u64 {
        let sender = self.sender.deadline(timing);
        sender.min(self.receiver.deadline())
    }

    /// Sends a frame that is kept, for the first time or again.
    pub(super) fn transmit<N: Network>(
        &mut self,
        number: u32,
        out: &mut Out<'_, N>,
    ) -> Result<(), ChannelError> {
        let marks = self.sender.marks(number, out.timing);
        let bytes = self.sender.bytes(number);
        let head = Head {
            flags: if marks.ask { ASK } else { 0 },
            number: U32::new(number),
            stamp: U32::new(marks.stamp),
            ..self.head(DATA, bytes.len(), out.epoch)
        };
        out.transmit(head, bytes)?;
        self.receiver.mentioned();
        self.sender.sent(number, &marks, out.now);
        Ok(())
    }

    fn report<N: Network>(&mut self, out: &mut Out<'_, N>) -> Result<(), ChannelError> {
        let seen = U64::new(self.receiver.seen());
        let head = self.head(REPORT, size_of::<U64>(), out.epoch);
        out.transmit(head, seen.as_bytes())?;
        out.counts.reports += 1;
        self.receiver.reported();
        Ok(())
    }

    fn head(&self, kind: u8, len: usize, epoch: u32) -> Head {
        Head {
            kind,
            flags: 0,
            // Bounded by the MTU, which is checked to be less.
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

impl<N: Network> Out<'_, N> {
    fn transmit(&mut self, mut head: Head, rest: &[u8]) -> Result<(), ChannelError> {
        if !self.network.is_checked() {
            head.seal((self.network.node(), self.to), rest);
        }
        let parts = [Part::Bytes(head.as_bytes()), Part::Bytes(rest)];
        self.network.transmit(self.to, &parts)
    }
}

impl Counts {
    pub(super) fn refuse(&mut self, refusal: frame::Refusal) {
        match refusal {
            frame::Refusal::Foreign => self.foreign += 1,
            frame::Refusal::Corrupt => self.corrupt += 1,
            frame::Refusal::Stale => self.stale += 1,
        }
    }
}
