//! What a sink does with frames. `group` only.

use super::{Coming, Sink, Size};
use crate::group::frame::{ALONE, ANNOUNCE, EXTRA, HEAD, Head, PACKET, POLL, REPORT};
use crate::group::ring::Ring;
use crate::group::room::{add, place_of};
use crate::group::{Groups, Room};
use pombo_kernel::Error;
use pombo_kernel::aspect::{Capacity, Storage};
use pombo_kernel::channel::Arrival;
use pombo_kernel::header::Node;

impl<Z: Groups, S: Storage> Sink<Z, S> {
    /// Takes a frame that came from the network. `buffer` is what waits for a long message, or empty. `me`: this
    /// node where frames carry a checksum, as they do where not [`Network::is_checked`](pombo_kernel::Network::is_checked).
    pub fn hear<A: Arrival, R: Room + ?Sized>(
        &mut self,
        frame: &A,
        buffer: &mut R,
        now: u64,
        me: Option<Node>,
    ) {
        match Head::read(frame, self.name.epoch, me) {
            Ok(head) if head.group.get() == self.name.group => {
                self.listen(&head, frame, Some(buffer), now);
            }
            Ok(_) => self.counts.foreign += 1,
            Err(refusal) => self.counts.refuse(refusal),
        }
    }

    /// Takes a frame of this group and this life.
    pub(in crate::group) fn listen<A: Arrival, R: Room + ?Sized>(
        &mut self,
        head: &Head,
        frame: &A,
        buffer: Option<&mut R>,
        now: u64,
    ) {
        if frame.from() != self.source || head.kind == REPORT {
            self.counts.foreign += 1;
            return;
        }
        let ahead = head.message.get().wrapping_sub(self.message);
        // The source has heard that the train is here, else it would not go on.
        let next = ahead == 1 && self.coming == Coming::Train && self.has.count() == 0;
        if next {
            self.advance();
        }
        let last = ahead == u32::MAX;
        if ahead != 0 && !next && !last {
            self.counts.stale += 1;
            return;
        }
        let stamp = head.stamp.get();
        if head.flags & ALONE == 0 && stamp.wrapping_sub(self.echo) < 1 << 31 {
            self.echo = stamp;
        }
        self.answer = head.message.get();
        let received = self.counts.received;
        if !last {
            self.heard = true;
            self.take(head, frame, buffer);
        }
        let ended = self.answer != self.message && !last;
        let kept = self.coming == Coming::Train && self.counts.received > received;
        self.owe(head.asks(), ended || kept, last, now);
    }

    fn take<A: Arrival, R: Room + ?Sized>(
        &mut self,
        head: &Head,
        frame: &A,
        buffer: Option<&mut R>,
    ) {
        if head.kind == ANNOUNCE {
            return self.announce(head, frame);
        }
        if head.is_whole() && self.coming == Coming::Unknown {
            self.coming = Coming::Train;
            self.told = self.start.wrapping_add(Ring::<Z, S>::PLACES);
        }
        match (self.coming, head.kind) {
            (_, POLL) => {}
            (Coming::Train, PACKET) if head.is_whole() => self.keep(head, frame),
            (Coming::Long(size), _) if !head.is_whole() => self.fill(head, frame, buffer, size),
            (Coming::Unknown, _) => self.counts.useless += 1,
            _ => self.counts.impossible += 1,
        }
    }

    fn announce<A: Arrival>(&mut self, head: &Head, frame: &A) {
        let size = head.announced(frame).and_then(|announced| {
            let chunk = usize::from(announced.chunk.get());
            let len = usize::try_from(announced.len.get()).ok()?;
            let packets = len.checked_div(chunk)? + usize::from(len % chunk != 0);
            let packets = u32::try_from(packets).ok();
            let packets = packets.filter(|n| (1..=1 << 31).contains(n))?;
            Some(Size {
                len,
                chunk,
                packets,
            })
        });
        match (size, self.coming) {
            (Some(size), Coming::Unknown) => self.coming = Coming::Long(size),
            (Some(size), Coming::Long(known)) if size == known => {}
            _ => self.counts.impossible += 1,
        }
    }

    /// Keeps a small message.
    fn keep<A: Arrival>(&mut self, head: &Head, frame: &A) {
        let (packet, len) = (head.packet.get(), head.len());
        let number = self.start.wrapping_add(packet);
        let places = Ring::<Z, S>::PLACES;
        if !self.lacks(packet) || number.wrapping_sub(self.taken) >= places {
            self.counts.useless += 1;
            return;
        }
        if len > Z::Small::N {
            self.counts.impossible += 1;
            return;
        }
        let kept = self.ring.put(number, |append| {
            if len > 0 {
                frame.pieces(HEAD, len, append);
            }
        });
        match kept {
            true => self.got(packet),
            false => self.counts.useless += 1,
        }
    }

    /// Lays packets of a long message at their places; into a buffer that is too short nothing.
    fn fill<A: Arrival, R: Room + ?Sized>(
        &mut self,
        head: &Head,
        frame: &A,
        buffer: Option<&mut R>,
        size: Size,
    ) {
        let (Some(room), Some(buffer)) = (self.room.filter(|_| self.is_open()), buffer) else {
            self.counts.useless += 1;
            return;
        };
        if head.packet.get() >= size.packets {
            self.counts.impossible += 1;
            return;
        }
        let buffer = match room {
            _ if room < size.len => None,
            _ if buffer.len() < size.len => {
                self.counts.useless += 1;
                return;
            }
            _ => Some(buffer),
        };
        match head.kind {
            PACKET => self.take_packet(head, frame, buffer, size),
            _ => self.take_repair(head, frame, buffer, size),
        }
        if self.expected == size.packets {
            let (sent, fits) = (size.len, room >= size.len);
            let truncated = Err(Error::Truncated { sent, room });
            self.finished = Some(if fits { Ok(sent) } else { truncated });
            self.room = None;
            self.advance();
        }
    }

    fn take_packet<A: Arrival, R: Room + ?Sized>(
        &mut self,
        head: &Head,
        frame: &A,
        buffer: Option<&mut R>,
        size: Size,
    ) {
        let packet = head.packet.get();
        let place = place_of(size.len, size.chunk, packet);
        if !self.lacks(packet) || place.1 != head.len() {
            self.counts.useless += 1;
            return;
        }
        copy(frame, HEAD, buffer, place);
        self.got(packet);
    }

    fn take_repair<A: Arrival, R: Room + ?Sized>(
        &mut self,
        head: &Head,
        frame: &A,
        mut buffer: Option<&mut R>,
        size: Size,
    ) {
        let first = head.packet.get();
        let whole = head.len() == EXTRA + size.chunk;
        let Some(deltas) = head.deltas(frame).filter(|_| whole) else {
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
        let place = |packet| place_of(size.len, size.chunk, packet);
        copy(frame, HEAD + EXTRA, buffer.as_deref_mut(), place(lack));
        if let Some(buffer) = buffer {
            let known = covered().filter(|packet| *packet != lack);
            known.for_each(|packet| add(buffer, place(lack), place(packet)));
        }
        self.counts.decoded += 1;
        self.got(lack);
    }
}

/// Copies what fits.
fn copy<A: Arrival, R: Room + ?Sized>(
    frame: &A,
    offset: usize,
    buffer: Option<&mut R>,
    (start, len): (usize, usize),
) {
    let Some(buffer) = buffer.filter(|_| len > 0) else {
        return;
    };
    let mut at = start;
    frame.pieces(offset, len, |piece| {
        buffer.write(at, piece);
        at += piece.len();
    });
}
