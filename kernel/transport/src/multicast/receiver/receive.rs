//! The receiver's handling of frames. Only `multicast` uses it.

use super::{Incoming, MessageSize, Receiver};
use crate::multicast::frame::{
    ANNOUNCE, EXTRA, FrameHeader, HEADER_LEN, PACKET, POLL, REPORT, UNICAST,
};
use crate::multicast::message_ring::MessageRing;
use crate::multicast::reassembly_buffer::{add, place_of};
use crate::multicast::{GroupSizes, ReassemblyBuffer};
use pombo_kernel::Error;
use pombo_kernel::aspect::{Capacity, Storage};
use pombo_kernel::channel::Arrival;
use pombo_kernel::header::Peer;

impl<Z: GroupSizes, S: Storage> Receiver<Z, S> {
    /// Handles a frame from the network. `buffer` is the buffer that waits for a long message, or empty. `me` is this
    /// peer if frames carry a checksum, that is, unless [`Network::is_checked`](pombo_kernel::Network::is_checked).
    pub fn on_frame<A: Arrival, R: ReassemblyBuffer + ?Sized>(
        &mut self,
        frame: &A,
        buffer: &mut R,
        now: u64,
        me: Option<Peer>,
    ) {
        match FrameHeader::read(frame, self.id.epoch, me) {
            Ok(head) if head.group.get() == self.id.group.0 => {
                self.on_group_frame(&head, frame, Some(buffer), now);
            }
            Ok(_) => self.counts.foreign += 1,
            Err(refusal) => self.counts.refuse(refusal),
        }
    }

    /// Handles a frame of this group and epoch.
    pub(in crate::multicast) fn on_group_frame<A: Arrival, R: ReassemblyBuffer + ?Sized>(
        &mut self,
        head: &FrameHeader,
        frame: &A,
        buffer: Option<&mut R>,
        now: u64,
    ) {
        if frame.from() != self.sender || head.kind == REPORT {
            self.counts.foreign += 1;
            return;
        }
        if self.lost {
            // What has arrived stays; nothing is added behind a hole that nobody mends.
            self.counts.stale += 1;
            return;
        }
        let ahead = head.message.get().wrapping_sub(self.message);
        // The sender has got the report that the train is complete, otherwise it would not go on.
        let next = ahead == 1 && self.incoming_kind == Incoming::Train && self.has.count() == 0;
        if next {
            self.advance();
        }
        let last = ahead == u32::MAX;
        if ahead != 0 && !next && !last {
            self.counts.stale += 1;
            return;
        }
        let stamp = head.stamp.get();
        if head.flags & UNICAST == 0 && stamp.wrapping_sub(self.echo) < 1 << 31 {
            self.echo = stamp;
        }
        self.answer = head.message.get();
        let received = self.counts.received;
        if !last {
            self.heard = true;
            self.take(head, frame, buffer);
        }
        let ended = self.answer != self.message && !last;
        let kept = self.incoming_kind == Incoming::Train && self.counts.received > received;
        self.schedule_report(head.asks(), ended || kept, last, now);
    }

    fn take<A: Arrival, R: ReassemblyBuffer + ?Sized>(
        &mut self,
        head: &FrameHeader,
        frame: &A,
        buffer: Option<&mut R>,
    ) {
        if head.kind == ANNOUNCE {
            return self.announce(head, frame);
        }
        if head.is_whole() && self.incoming_kind == Incoming::Unknown {
            self.incoming_kind = Incoming::Train;
            self.granted = self.start + u64::from(MessageRing::<Z, S>::PLACES);
        }
        match (self.incoming_kind, head.kind) {
            (_, POLL) => {}
            (Incoming::Train, PACKET) if head.is_whole() => self.keep(head, frame),
            (Incoming::Long(size), _) if !head.is_whole() => self.fill(head, frame, buffer, size),
            (Incoming::Unknown, _) => self.counts.useless += 1,
            _ => self.counts.impossible += 1,
        }
    }

    fn announce<A: Arrival>(&mut self, head: &FrameHeader, frame: &A) {
        let size = head.announced(frame).and_then(|announced| {
            let chunk = usize::from(announced.chunk.get());
            let len = usize::try_from(announced.len.get()).ok()?;
            let packets = len.checked_div(chunk)? + usize::from(len % chunk != 0);
            let packets = u32::try_from(packets).ok();
            let packets = packets.filter(|n| (1..=1 << 31).contains(n))?;
            Some(MessageSize {
                len,
                chunk,
                packets,
            })
        });
        match (size, self.incoming_kind) {
            (Some(size), Incoming::Unknown) => self.incoming_kind = Incoming::Long(size),
            (Some(size), Incoming::Long(known)) if size == known => {}
            _ => self.counts.impossible += 1,
        }
    }

    /// Stores a small message.
    fn keep<A: Arrival>(&mut self, head: &FrameHeader, frame: &A) {
        let (packet, len) = (head.packet.get(), head.len());
        let number = self.start + u64::from(packet);
        let places = u64::from(MessageRing::<Z, S>::PLACES);
        if !self.lacks(packet) || number - self.taken >= places {
            self.counts.useless += 1;
            return;
        }
        if len > Z::Small::N {
            self.counts.impossible += 1;
            return;
        }
        let kept = self.ring.put(number as u32, |append| {
            if len > 0 {
                frame.for_each_chunk(HEADER_LEN, len, append);
            }
        });
        match kept {
            true => self.got(packet),
            false => self.counts.useless += 1,
        }
    }

    /// Writes packets of a long message into the buffer; into a buffer that is too short it writes nothing.
    fn fill<A: Arrival, R: ReassemblyBuffer + ?Sized>(
        &mut self,
        head: &FrameHeader,
        frame: &A,
        buffer: Option<&mut R>,
        size: MessageSize,
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

    fn take_packet<A: Arrival, R: ReassemblyBuffer + ?Sized>(
        &mut self,
        head: &FrameHeader,
        frame: &A,
        buffer: Option<&mut R>,
        size: MessageSize,
    ) {
        let packet = head.packet.get();
        let place = place_of(size.len, size.chunk, packet);
        if !self.lacks(packet) || place.1 != head.len() {
            self.counts.useless += 1;
            return;
        }
        copy(frame, HEADER_LEN, buffer, place);
        self.got(packet);
    }

    fn take_repair<A: Arrival, R: ReassemblyBuffer + ?Sized>(
        &mut self,
        head: &FrameHeader,
        frame: &A,
        mut buffer: Option<&mut R>,
        size: MessageSize,
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
        copy(
            frame,
            HEADER_LEN + EXTRA,
            buffer.as_deref_mut(),
            place(lack),
        );
        if let Some(buffer) = buffer {
            let known = covered().filter(|packet| *packet != lack);
            known.for_each(|packet| add(buffer, place(lack), place(packet)));
        }
        self.counts.decoded += 1;
        self.got(lack);
    }
}

/// Copies as many bytes as fit.
fn copy<A: Arrival, R: ReassemblyBuffer + ?Sized>(
    frame: &A,
    offset: usize,
    buffer: Option<&mut R>,
    (start, len): (usize, usize),
) {
    let Some(buffer) = buffer.filter(|_| len > 0) else {
        return;
    };
    let mut at = start;
    frame.for_each_chunk(offset, len, |piece| {
        buffer.write(at, piece);
        at += piece.len();
    });
}
