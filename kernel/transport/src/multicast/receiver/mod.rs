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
/// Small messages are kept until the user comes for them, long ones wait for a buffer: [`Receiver::receive`] takes the
/// one and begins the other.
pub struct Receiver<Z: GroupSizes, S: Storage> {
    id: WireGroup,
    sender: Peer,
    timing: Timing,
    /// It reports when nothing has come for so long, asked or not.
    quiet: Option<u64>,
    message: u32,
    incoming_kind: Incoming,
    /// There is a buffer of that many bytes for a long message.
    room: Option<usize>,
    /// A long message that is complete, or was too long for its buffer.
    finished: Option<Result<usize, Error>>,
    /// Everything of this message before it is here.
    expected: u32,
    has: PacketBitmap,
    /// Small messages; numbers count from the first of all.
    ring: MessageRing<Z, S>,
    /// Number of this train's first, and of the first that the user has not taken.
    start: u32,
    taken: u32,
    /// Up to which number the sender was told that there is room.
    granted: u32,
    /// The highest stamp heard.
    echo: u32,
    /// When it reports, and of which message; `u64::MAX`: nothing to say.
    due: u64,
    answer: u32,
    /// Something of the message has come.
    heard: bool,
    /// What came before it was here is gone.
    refused: bool,
    /// Packets of the last message.
    before: u32,
    lost: bool,
    counts: MulticastStats,
}

/// What the message under way is, as far as is known.
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
    /// For messages of that sender. With `quiet` it reports, unasked too, when nothing has come for so many
    /// nanoseconds.
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

    /// What has happened to frames so far.
    pub fn counts(&self) -> MulticastStats {
        self.counts
    }

    /// Whose messages it receives.
    pub fn sender(&self) -> Peer {
        self.sender
    }

    /// Bytes of the long message that waits for a buffer, or comes into one.
    pub fn announced(&self) -> Option<usize> {
        match self.incoming_kind {
            Incoming::Long(size) => Some(size.len),
            _ => None,
        }
    }

    /// The next message, if it is here: its length. If not, `into` is the buffer for it, if it is a long one: from now
    /// on every call shows the same one, until it is here.
    ///
    /// # Errors
    /// [`Error::Truncated`]: it was longer than the buffer; of a long message nothing is in it. [`Error::PeerLost`].
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

    /// Does it need a buffer to take frames of a long message?
    pub fn is_posted(&self) -> bool {
        self.room.is_some()
    }

    /// Whoever knows it says that the sender is dead: what is here of it can be received, then it is an error.
    pub fn declare_lost(&mut self) {
        self.lost = true;
    }

    /// Small messages that are here and not taken.
    fn kept(&self) -> u32 {
        let here = match self.incoming_kind {
            Incoming::Train => self.expected,
            _ => 0,
        };
        self.start.wrapping_add(here).wrapping_sub(self.taken)
    }

    fn take_kept(&mut self, into: &mut (impl ReassemblyBuffer + ?Sized)) -> Result<usize, Error> {
        let bytes = self.ring.get(self.taken);
        let (sent, room) = (bytes.len(), into.len());
        into.write(0, &bytes[..sent.min(room)]);
        self.ring.forget(self.taken);
        self.taken = self.taken.wrapping_add(1);
        // It was for a message that would have come instead.
        self.room = None;
        let places = MessageRing::<Z, S>::PLACES;
        let more = self.taken.wrapping_add(places).wrapping_sub(self.granted);
        if self.incoming_kind == Incoming::Train && more >= (places / 2).max(1) && more <= places {
            self.report_at_once();
        }
        match sent <= room {
            true => Ok(sent),
            false => Err(Error::Truncated { sent, room }),
        }
    }

    /// The sender has something else to send now.
    fn advance(&mut self) {
        if self.incoming_kind == Incoming::Train {
            self.start = self.start.wrapping_add(self.expected);
            self.granted = self.start;
        }
        self.before = self.expected;
        self.message = self.message.wrapping_add(1);
        (self.incoming_kind, self.expected) = (Incoming::Unknown, 0);
        (self.has, self.heard) = (PacketBitmap::default(), false);
    }

    /// Within the window and not here yet?
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
