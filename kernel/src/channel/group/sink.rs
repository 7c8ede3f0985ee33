//! The receiving side of a group: [`Sink`].

use super::bits::{Bits, WINDOW};
use super::frame::{ANNOUNCE, ASK, EXTRA, HEAD, Head, PACKET, POLL, REPAIR, REPORT, WHOLE};
use super::source::{bytes_of, xor};
use super::{Counts, Name, out};
use crate::channel::reliable::Timing;
use crate::channel::{Arrival, ChannelError};
use crate::header::Node;
use crate::network::Network;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

/// Receives the messages of one source in one group, one after the other.
pub struct Sink {
    name: Name,
    source: Node,
    timing: Timing,
    /// It reports when nothing has come for so long, asked or not.
    quiet: Option<u64>,
    message: u32,
    /// There is a buffer of that many bytes.
    room: Option<usize>,
    /// The message has so many bytes, in packets of so many; known from an announce, or when it is one packet.
    size: Option<Size>,
    /// Everything before it is in the buffer.
    expected: u32,
    has: Bits,
    /// The highest stamp heard.
    echo: u32,
    /// When it reports, and of which message; `u64::MAX`: nothing to say.
    due: u64,
    answer: u32,
    /// Something of the message has come.
    heard: bool,
    /// Packets of the last message.
    before: u32,
    counts: Counts,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Size {
    len: usize,
    chunk: usize,
    packets: u32,
}

impl Sink {
    /// For messages of that source. With `quiet` it reports, unasked too, when nothing has come for so many
    /// nanoseconds.
    pub fn new(name: Name, source: Node, timing: Timing, quiet: Option<u64>) -> Self {
        Sink {
            name,
            source,
            timing,
            quiet,
            message: 1,
            room: None,
            size: None,
            expected: 0,
            has: Bits::default(),
            echo: 0,
            due: u64::MAX,
            answer: 0,
            heard: false,
            before: 0,
            counts: Counts::default(),
        }
    }

    /// What has happened to frames so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The source waits for a buffer of so many bytes.
    pub fn announced(&self) -> Option<usize> {
        self.size.map(|size| size.len)
    }

    /// There is a buffer of `len` bytes for the next message. From now on every call shows the same one, until it is
    /// complete. A longer message is not received: see [`Sink::announced`], and post again.
    pub fn post(&mut self, len: usize) {
        self.room = Some(len);
        if self.heard {
            (self.due, self.answer) = (0, self.message);
        }
    }

    /// The length of the message, if all of it is in the buffer. The next one begins with [`Sink::post`] after
    /// [`Sink::next`].
    pub fn complete(&self) -> Option<usize> {
        let size = self.size?;
        (self.expected == size.packets).then_some(size.len)
    }

    /// Goes on to the next message when this one is complete.
    pub fn next(&mut self) {
        if let Some(size) = self.size.filter(|_| self.complete().is_some()) {
            self.before = size.packets;
            self.message = self.message.wrapping_add(1);
            (self.room, self.size, self.expected) = (None, None, 0);
            (self.has, self.heard) = (Bits::default(), false);
        }
    }

    /// Takes a frame that came from the network. `buffer` is what was posted, or empty. `sums`: frames
    /// carry a checksum, as they do where [`Network::CHECKED`](crate::Network::CHECKED) is false.
    pub fn hear<A: Arrival>(&mut self, frame: &A, buffer: &mut [u8], now: u64, sums: bool) {
        let Name { group, epoch } = self.name;
        let head = match Head::read(frame, group, epoch, sums) {
            Ok(head) => head,
            Err(refusal) => return self.counts.refuse(refusal),
        };
        if frame.from() != self.source || head.kind == REPORT {
            self.counts.foreign += 1;
            return;
        }
        let stamp = head.stamp.get();
        let last = head.message.get().wrapping_add(1) == self.message;
        if head.message.get() != self.message && !last {
            self.counts.stale += 1;
            return;
        }
        if stamp.wrapping_sub(self.echo) < 1 << 31 {
            self.echo = stamp;
        }
        if !last {
            self.heard = true;
            self.take(&head, frame, buffer);
        }
        self.answer = head.message.get();
        self.owe(&head, last, now);
    }

    /// When it has to report.
    fn owe(&mut self, head: &Head, last: bool, now: u64) {
        let asked = head.flags & ASK != 0;
        let soon = self
            .complete()
            .is_some()
            .then_some(self.timing.report_after);
        self.due = match (asked, self.quiet) {
            (true, _) => 0,
            (false, Some(quiet)) => now.saturating_add(quiet),
            (false, None) if !last => match soon {
                Some(soon) => self.due.min(now.saturating_add(soon)),
                None => self.due,
            },
            (false, None) => self.due,
        };
    }

    fn take<A: Arrival>(&mut self, head: &Head, frame: &A, buffer: &mut [u8]) {
        if head.kind == POLL {
            return;
        }
        if head.kind == ANNOUNCE {
            return self.announce(head, frame);
        }
        if head.flags & WHOLE != 0 && self.size.is_none() {
            let (len, chunk) = (head.len(), head.len().max(1));
            let packets = 1;
            self.size = Some(Size {
                len,
                chunk,
                packets,
            });
        }
        let (Some(size), Some(room)) = (self.size, self.room) else {
            self.counts.useless += 1;
            return;
        };
        if room < size.len || buffer.len() < size.len || head.packet.get() >= size.packets {
            self.counts.impossible += 1;
            return;
        }
        let buffer = &mut buffer[..size.len];
        match head.kind {
            PACKET => self.take_packet(head, frame, buffer, size),
            REPAIR => self.take_repair(head, frame, buffer, size),
            _ => {}
        }
    }

    fn announce<A: Arrival>(&mut self, head: &Head, frame: &A) {
        let announced = head.announced(frame);
        let size = announced.and_then(|announced| {
            let chunk = usize::from(announced.chunk.get());
            let len = usize::try_from(announced.len.get()).ok()?;
            let packets = len.checked_div(chunk)? + usize::from(len % chunk != 0);
            let packets = u32::try_from(packets).ok().filter(|n| *n <= 1 << 31)?;
            Some(Size {
                len,
                chunk,
                packets,
            })
        });
        if size.is_none() || (self.size.is_some() && self.size != size) {
            self.counts.impossible += 1;
        } else {
            self.size = size;
        }
    }

    /// Within the window and not here yet?
    fn lacks(&self, packet: u32) -> bool {
        packet >= self.expected && packet - self.expected < WINDOW && !self.has.has(packet)
    }

    fn take_packet<A: Arrival>(&mut self, head: &Head, frame: &A, buffer: &mut [u8], size: Size) {
        let packet = head.packet.get();
        let place = place_of(buffer, size.chunk, packet);
        if !self.lacks(packet) || place.len() != head.len() {
            self.counts.useless += 1;
            return;
        }
        copy(frame, HEAD, place);
        self.got(packet);
    }

    fn take_repair<A: Arrival>(&mut self, head: &Head, frame: &A, buffer: &mut [u8], size: Size) {
        let first = head.packet.get();
        let Some(deltas) = head
            .deltas(frame)
            .filter(|_| head.len() == EXTRA + size.chunk)
        else {
            self.counts.impossible += 1;
            return;
        };
        let others = deltas.iter().filter(|delta| **delta != 0);
        let covered =
            || core::iter::once(first).chain(others.clone().map(|d| first + u32::from(*d)));
        let mut lacked = covered().filter(|packet| self.lacks(*packet));
        let lack = match (lacked.next(), lacked.next()) {
            (Some(lack), None) if covered().all(|packet| packet < size.packets) => lack,
            _ => {
                self.counts.useless += 1;
                return;
            }
        };
        if covered().any(|packet| packet != lack && !self.is_here(packet)) {
            self.counts.useless += 1;
            return;
        }
        copy(frame, HEAD + EXTRA, place_of(buffer, size.chunk, lack));
        for packet in covered().filter(|packet| *packet != lack) {
            let (low, high) = buffer.split_at_mut(lack.max(packet) as usize * size.chunk);
            match packet < lack {
                true => xor(
                    place_of(high, size.chunk, 0),
                    bytes_of(low, size.chunk, packet),
                ),
                false => xor(
                    place_of(low, size.chunk, lack),
                    bytes_of(high, size.chunk, 0),
                ),
            }
        }
        self.counts.decoded += 1;
        self.got(lack);
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

    /// Sends the report that is due.
    ///
    /// # Errors
    /// What the network says, except that it has no room.
    pub fn turn<N: Network>(&mut self, network: &mut N) -> Result<(), ChannelError> {
        if self.due == u64::MAX || self.due > network.now() {
            return Ok(());
        }
        match self.report(network) {
            Ok(()) => {
                self.due = u64::MAX;
                self.counts.reports += 1;
                Ok(())
            }
            Err(ChannelError::Full) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// When [`Sink::turn`] has something to do by itself.
    pub fn deadline(&self) -> u64 {
        self.due
    }

    fn report<N: Network>(&self, network: &mut N) -> Result<(), ChannelError> {
        let this = self.answer == self.message;
        let fits = |room| self.size.is_none_or(|size| room >= size.len);
        let credit = if self.room.is_some_and(fits) {
            WINDOW
        } else {
            0
        };
        let (packet, has) = match this {
            true => (self.expected, self.has),
            false => (self.before, Bits::default()),
        };
        let head = Head {
            kind: REPORT,
            flags: 0,
            len: U16::ZERO,
            check: U32::ZERO,
            epoch: U32::new(self.name.epoch),
            group: U16::new(self.name.group),
            credit: U16::new(credit as u16),
            message: U32::new(self.answer),
            packet: U32::new(packet),
            stamp: U32::new(self.echo),
        };
        let words = has.0.map(U64::new);
        out::transmit(network, self.source, head, words.as_bytes())
    }
}

/// Where a packet lies.
fn place_of(buffer: &mut [u8], chunk: usize, packet: u32) -> &mut [u8] {
    let start = (packet as usize * chunk).min(buffer.len());
    let end = (start + chunk).min(buffer.len());
    &mut buffer[start..end]
}

/// Copies what fits.
fn copy<A: Arrival>(frame: &A, offset: usize, place: &mut [u8]) {
    let mut at = 0;
    frame.pieces(offset, place.len(), |piece| {
        place[at..at + piece.len()].copy_from_slice(piece);
        at += piece.len();
    });
}
