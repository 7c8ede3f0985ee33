//! When a sink reports, and what. `group` only.

use super::{Coming, Sink};
use crate::group::bits::{Bits, WINDOW};
use crate::group::frame::{Head, REFUSED, REPORT};
use crate::group::out::NOTHING;
use crate::group::ring::Ring;
use crate::group::{Groups, out};
use pombo_kernel::aspect::Storage;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

impl<Z: Groups, S: Storage> Sink<Z, S> {
    /// The source has sent something before this sink was here, up to that stamp.
    pub(in crate::group) fn greet(&mut self, stamp: u32) {
        (self.echo, self.refused) = (stamp, true);
        self.report_at_once();
    }

    pub(super) fn report_at_once(&mut self) {
        (self.due, self.answer) = (0, self.message);
    }

    /// When it has to report: `soon` if it has something to say.
    pub(super) fn owe(&mut self, asked: bool, soon: bool, last: bool, now: u64) {
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
    /// What the network says, except that it has no room.
    pub fn turn<N: Network>(&mut self, network: &mut N) -> Result<bool, ChannelError> {
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

    /// When [`Sink::turn`] has something to do by itself.
    pub fn deadline(&self) -> u64 {
        self.due
    }

    /// May packets of a long message come?
    pub(super) fn is_open(&self) -> bool {
        self.room.is_some() && self.finished.is_none() && self.kept() == 0
    }

    fn credit(&mut self) -> u32 {
        match self.coming {
            Coming::Train => {
                let room = Ring::<Z, S>::PLACES - self.kept();
                self.told = self.taken.wrapping_add(Ring::<Z, S>::PLACES);
                room
            }
            Coming::Long(_) if self.is_open() => WINDOW,
            _ => 0,
        }
    }

    fn report<N: Network>(&mut self, network: &mut N) -> Result<(), ChannelError> {
        let (packet, has, credit) = match self.answer == self.message {
            true => (self.expected, self.has, self.credit()),
            false => (self.before, Bits::default(), WINDOW),
        };
        let head = Head {
            kind: REPORT,
            flags: if self.refused { REFUSED } else { 0 },
            len: U16::ZERO,
            check: U32::ZERO,
            epoch: U32::new(self.name.epoch),
            group: U32::new(self.name.group),
            credit: U16::new(credit as u16),
            message: U32::new(self.answer),
            packet: U32::new(packet),
            stamp: U32::new(self.echo),
        };
        let words = has.0.map(U64::new);
        out::transmit(
            network,
            self.source,
            head,
            [Part::Bytes(words.as_bytes()), NOTHING],
        )
    }
}
