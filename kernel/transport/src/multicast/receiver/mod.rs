//! The receiving side of a group: [`Receiver`].

mod receive;
mod report;

use super::message_ring::MessageRing;
use super::packet_bitmap::{PacketBitmap, WINDOW};
use super::{GroupSizes, MulticastStats, ReassemblyBuffer, WireGroup};
use crate::reliable::Timing;
use pombo_kernel::Error;
use pombo_kernel::aspect::Storage;
use pombo_kernel::header::Peer;

/// Receives the messages of one sender in one group, in order.
///
/// It keeps small messages until the user receives them; long ones wait for a buffer. [`Receiver::receive`] takes a
/// small message, or begins the reception of a long one.
pub struct Receiver<Z: GroupSizes, S: Storage> {
    id: WireGroup,
    sender: Peer,
    timing: Timing,
    /// Nanoseconds without a frame after which the receiver reports unasked.
    quiet: Option<u64>,
    message: u32,
    incoming_kind: Incoming,
    /// Size in bytes of the buffer for a long message, if there is one.
    room: Option<usize>,
    /// The result of a long message that is complete, or was too long for its buffer.
    finished: Option<Result<usize, Error>>,
    /// Every packet of this message before this one has arrived.
    expected: u32,
    has: PacketBitmap,
    /// Small messages, numbered from the first of the group.
    ring: MessageRing<Z, S>,
    /// The number of the train's first message, and that of the first message that the user has not taken.
    start: u64,
    taken: u64,
    /// The messages after that which the user has dropped.
    dropped: PacketBitmap,
    /// The number up to which the sender has been granted room.
    granted: u64,
    /// The highest stamp received.
    echo: u32,
    /// The time of the next report, and its message; `u64::MAX`: no report is due.
    due: u64,
    answer: u32,
    /// A frame of the message has arrived.
    heard: bool,
    /// Packets arrived before the group was open, and were dropped.
    refused: bool,
    /// Number of packets of the last message.
    before: u32,
    lost: bool,
    counts: MulticastStats,
}

/// The kind of the present message, as far as known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Incoming {
    Unknown,
    Train,
    Long(MessageSize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct MessageSize {
    len: usize,
    chunk: usize,
    packets: u32,
}

impl<Z: GroupSizes, S: Storage> Receiver<Z, S> {
    /// Creates a receiver of that sender's messages. With `quiet` it reports unasked when no frame has arrived for that
    /// many nanoseconds.
    pub fn new(id: WireGroup, sender: Peer, timing: Timing, quiet: Option<u64>) -> Self {
        Receiver {
            id,
            sender,
            timing,
            quiet,
            message: 1,
            incoming_kind: Incoming::Unknown,
            room: None,
            finished: None,
            expected: 0,
            has: PacketBitmap::default(),
            ring: MessageRing::new(),
            start: 0,
            taken: 0,
            dropped: PacketBitmap::default(),
            granted: 0,
            echo: 0,
            due: u64::MAX,
            answer: 0,
            heard: false,
            refused: false,
            before: 0,
            lost: false,
            counts: MulticastStats::default(),
        }
    }

    /// Returns the counters of frames.
    pub fn counts(&self) -> MulticastStats {
        self.counts
    }

    /// Returns the sender.
    pub fn sender(&self) -> Peer {
        self.sender
    }

    /// Returns the size in bytes of the long message that waits for a buffer, or is being received.
    pub fn announced(&self) -> Option<usize> {
        match self.incoming_kind {
            Incoming::Long(size) => Some(size.len),
            _ => None,
        }
    }

    /// Returns the length of the next message, if it has arrived. If not, `into` becomes the buffer for it, if it is a
    /// long one: every call must pass the same buffer until the message has arrived.
    ///
    /// # Errors
    /// [`Error::Truncated`]: the message was longer than the buffer; a long one leaves nothing in it.
    /// [`Error::PeerLost`].
    pub fn receive(
        &mut self,
        into: &mut (impl ReassemblyBuffer + ?Sized),
    ) -> Result<Option<usize>, Error> {
        if let Some(finished) = self.finished.take() {
            return finished.map(Some);
        }
        if self.kept() > 0 {
            return self.take_kept(into).map(Some);
        }
        if self.lost {
            return Err(Error::PeerLost(self.sender));
        }
        if self.room != Some(into.len()) {
            self.room = Some(into.len());
            if self.heard && self.announced().is_some() {
                self.report_at_once();
            }
        }
        Ok(None)
    }

    /// Returns whether frames of a long message need a buffer.
    pub fn is_posted(&self) -> bool {
        self.room.is_some()
    }

    /// Reports that the sender is lost: messages that have arrived can be received, then an error follows.
    pub fn declare_lost(&mut self) {
        self.lost = true;
    }

    /// Returns how many small messages have arrived so far, each after all before it.
    pub fn arrived(&self) -> u64 {
        let here = match self.incoming_kind {
            Incoming::Train => self.expected,
            _ => 0,
        };
        self.start + u64::from(here)
    }

    /// Shows the small messages that have arrived and are not taken, in order and with their numbers from 0 on, and
    /// drops those for which `keep` returns false: a user need not take the messages in order.
    pub fn retain(&mut self, mut keep: impl FnMut(u64, &[u8]) -> bool) {
        for number in self.taken..self.arrived() {
            // Those before the first that is not taken are gone, and their marks with them.
            let is_here = number >= self.taken && !self.dropped.has(number as u32);
            if is_here && !keep(number, self.ring.get(number as u32)) {
                self.forget(number);
            }
        }
    }

    /// Returns the number of places that small messages occupy.
    fn kept(&self) -> u32 {
        (self.arrived() - self.taken) as u32
    }

    fn take_kept(&mut self, into: &mut (impl ReassemblyBuffer + ?Sized)) -> Result<usize, Error> {
        let bytes = self.ring.get(self.taken as u32);
        let (sent, room) = (bytes.len(), into.len());
        into.write(0, &bytes[..sent.min(room)]);
        // The buffer was for a long message, which the sender did not send.
        self.room = None;
        self.forget(self.taken);
        match sent <= room {
            true => Ok(sent),
            false => Err(Error::Truncated { sent, room }),
        }
    }

    /// Frees the memory of a small message, and reports the places that are free again if they are many.
    fn forget(&mut self, number: u64) {
        self.ring.forget(number as u32);
        self.dropped.set(number as u32);
        while self.dropped.has(self.taken as u32) {
            self.dropped.clear(self.taken as u32);
            self.taken += 1;
        }
        let places = u64::from(MessageRing::<Z, S>::PLACES);
        let more = (self.taken + places).saturating_sub(self.granted);
        if self.incoming_kind == Incoming::Train && more >= (places / 2).max(1) && more <= places {
            self.report_at_once();
        }
    }

    /// Advances to the sender's next message or train.
    fn advance(&mut self) {
        if self.incoming_kind == Incoming::Train {
            self.start += u64::from(self.expected);
            self.granted = self.start;
        }
        self.before = self.expected;
        self.message = self.message.wrapping_add(1);
        (self.incoming_kind, self.expected) = (Incoming::Unknown, 0);
        (self.has, self.heard) = (PacketBitmap::default(), false);
    }

    /// Returns whether the packet is within the window and has not arrived.
    fn lacks(&self, packet: u32) -> bool {
        packet >= self.expected && packet - self.expected < WINDOW && !self.has.has(packet)
    }

    fn is_here(&self, packet: u32) -> bool {
        packet < self.expected || (packet - self.expected < WINDOW && self.has.has(packet))
    }

    fn got(&mut self, packet: u32) {
        self.counts.received += 1;
        self.has.set(packet);
        while self.has.has(self.expected) {
            self.has.clear(self.expected);
            self.expected += 1;
        }
    }
}
