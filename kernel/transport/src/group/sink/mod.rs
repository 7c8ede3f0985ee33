//! The receiving side of a group: [`Sink`].

mod report;
mod take;

use super::bits::{Bits, WINDOW};
use super::ring::Ring;
use super::{Counts, Groups, Name, Room};
use crate::reliable::Timing;
use pombo_kernel::Error;
use pombo_kernel::aspect::Storage;
use pombo_kernel::header::Node;

/// Receives the messages of one source in one group, in order.
///
/// Small messages are kept until the user comes for them, long ones wait for a buffer: [`Sink::receive`] takes the
/// one and begins the other.
pub struct Sink<Z: Groups, S: Storage> {
    name: Name,
    source: Node,
    timing: Timing,
    /// It reports when nothing has come for so long, asked or not.
    quiet: Option<u64>,
    message: u32,
    coming: Coming,
    /// There is a buffer of that many bytes for a long message.
    room: Option<usize>,
    /// A long message that is complete, or was too long for its buffer.
    finished: Option<Result<usize, Error>>,
    /// Everything of this message before it is here.
    expected: u32,
    has: Bits,
    /// Small messages; numbers count from the first of all.
    ring: Ring<Z, S>,
    /// Number of this train's first, and of the first that the user has not taken.
    start: u32,
    taken: u32,
    /// Up to which number the source was told that there is room.
    told: u32,
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
    counts: Counts,
}

/// What the message under way is, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coming {
    Unknown,
    Train,
    Long(Size),
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Size {
    len: usize,
    chunk: usize,
    packets: u32,
}

impl<Z: Groups, S: Storage> Sink<Z, S> {
    /// For messages of that source. With `quiet` it reports, unasked too, when nothing has come for so many
    /// nanoseconds.
    pub fn new(name: Name, source: Node, timing: Timing, quiet: Option<u64>) -> Self {
        Sink {
            name,
            source,
            timing,
            quiet,
            message: 1,
            coming: Coming::Unknown,
            room: None,
            finished: None,
            expected: 0,
            has: Bits::default(),
            ring: Ring::new(),
            start: 0,
            taken: 0,
            told: 0,
            echo: 0,
            due: u64::MAX,
            answer: 0,
            heard: false,
            refused: false,
            before: 0,
            lost: false,
            counts: Counts::default(),
        }
    }

    /// What has happened to frames so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whose messages it receives.
    pub fn source(&self) -> Node {
        self.source
    }

    /// Bytes of the long message that waits for a buffer, or comes into one.
    pub fn announced(&self) -> Option<usize> {
        match self.coming {
            Coming::Long(size) => Some(size.len),
            _ => None,
        }
    }

    /// The next message, if it is here: its length. If not, `into` is the buffer for it, if it is a long one: from now
    /// on every call shows the same one, until it is here.
    ///
    /// # Errors
    /// [`Error::Truncated`]: it was longer than the buffer; of a long message nothing is in it. [`Error::PeerLost`].
    pub fn receive(&mut self, into: &mut (impl Room + ?Sized)) -> Result<Option<usize>, Error> {
        if let Some(finished) = self.finished.take() {
            return finished.map(Some);
        }
        if self.kept() > 0 {
            return self.take_kept(into).map(Some);
        }
        if self.lost {
            return Err(Error::PeerLost(self.source));
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

    /// Whoever knows it says that the source is dead: what is here of it can be received, then it is an error.
    pub fn declare_lost(&mut self) {
        self.lost = true;
    }

    /// Small messages that are here and not taken.
    fn kept(&self) -> u32 {
        let here = match self.coming {
            Coming::Train => self.expected,
            _ => 0,
        };
        self.start.wrapping_add(here).wrapping_sub(self.taken)
    }

    fn take_kept(&mut self, into: &mut (impl Room + ?Sized)) -> Result<usize, Error> {
        let bytes = self.ring.get(self.taken);
        let (sent, room) = (bytes.len(), into.len());
        into.write(0, &bytes[..sent.min(room)]);
        self.ring.forget(self.taken);
        self.taken = self.taken.wrapping_add(1);
        // It was for a message that would have come instead.
        self.room = None;
        let places = Ring::<Z, S>::PLACES;
        let more = self.taken.wrapping_add(places).wrapping_sub(self.told);
        if self.coming == Coming::Train && more >= (places / 2).max(1) && more <= places {
            self.report_at_once();
        }
        match sent <= room {
            true => Ok(sent),
            false => Err(Error::Truncated { sent, room }),
        }
    }

    /// The source has something else to send now.
    fn advance(&mut self) {
        if self.coming == Coming::Train {
            self.start = self.start.wrapping_add(self.expected);
            self.told = self.start;
        }
        self.before = self.expected;
        self.message = self.message.wrapping_add(1);
        (self.coming, self.expected) = (Coming::Unknown, 0);
        (self.has, self.heard) = (Bits::default(), false);
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
