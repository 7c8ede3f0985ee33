//! Schedules and sends a receiver's reports. Only `multicast` uses it.

use super::{Incoming, Receiver};
use crate::multicast::frame::{FrameHeader, REFUSED, REPORT};
use crate::multicast::message_ring::MessageRing;
use crate::multicast::packet_bitmap::{PacketBitmap, WINDOW};
use crate::multicast::tx::NOTHING;
use crate::multicast::{GroupSizes, tx};
use pombo_kernel::aspect::Storage;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

impl<Z: GroupSizes, S: Storage> Receiver<Z, S> {
    /// Records that the sender has sent frames up to that stamp before this receiver existed.
    pub(in crate::multicast) fn report_missed(&mut self, stamp: u32) {
        (self.echo, self.refused) = (stamp, true);
        self.report_at_once();
    }

    pub(super) fn report_at_once(&mut self) {
        (self.due, self.answer) = (0, self.message);
    }

    /// Schedules the next report: `soon` if there is news.
    pub(super) fn schedule_report(&mut self, asked: bool, soon: bool, last: bool, now: u64) {
        let soon = soon.then(|| now.saturating_add(self.timing.report_after));
        self.due = match (asked, self.quiet) {
            (true, _) => 0,
            (false, Some(quiet)) => now.saturating_add(quiet),
            (false, None) if !last => self.due.min(soon.unwrap_or(u64::MAX)),
            (false, None) => self.due,
        };
    }

    /// Sends the report that is due. Returns whether none is due any more.
    ///
    /// # Errors
    /// The errors of the network, except that it has no room.
    pub fn send_due<N: Network>(&mut self, network: &mut N) -> Result<bool, ChannelError> {
        if self.due == u64::MAX || self.due > network.now() {
            return Ok(true);
        }
        match self.report(network) {
            Ok(()) => {
                (self.due, self.refused) = (u64::MAX, false);
                self.counts.reports += 1;
                Ok(true)
            }
            Err(ChannelError::Full) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the time in ns at which [`Receiver::send_due`] must be called next.
    pub fn deadline(&self) -> u64 {
        self.due
    }

    /// Returns whether the receiver accepts packets of a long message.
    pub(super) fn is_open(&self) -> bool {
        self.room.is_some() && self.finished.is_none() && self.kept() == 0
    }

    fn credit(&mut self) -> u32 {
        match self.incoming_kind {
            Incoming::Train => {
                let room = MessageRing::<Z, S>::PLACES - self.kept();
                self.granted = self.taken + u64::from(MessageRing::<Z, S>::PLACES);
                room
            }
            Incoming::Long(_) if self.is_open() => WINDOW,
            _ => 0,
        }
    }

    fn report<N: Network>(&mut self, network: &mut N) -> Result<(), ChannelError> {
        let (packet, has, credit) = match self.answer == self.message {
            true => (self.expected, self.has, self.credit()),
            false => (self.before, PacketBitmap::default(), WINDOW),
        };
        let head = FrameHeader {
            kind: REPORT,
            flags: if self.refused { REFUSED } else { 0 },
            len: U16::ZERO,
            check: U32::ZERO,
            epoch: U32::new(self.id.epoch),
            group: U32::new(self.id.group.0),
            credit: U16::new(credit as u16),
            message: U32::new(self.answer),
            packet: U32::new(packet),
            stamp: U32::new(self.echo),
        };
        let words = has.0.map(U64::new);
        tx::transmit(
            network,
            self.sender,
            head,
            [Part::Bytes(words.as_bytes()), NOTHING],
        )
    }
}
