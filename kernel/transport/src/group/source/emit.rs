//! How a source's frames are made. `group` only.

use super::Source;
use super::plan::Step;
use crate::group::bits::WINDOW;
use crate::group::frame::{
    ALONE, ANNOUNCE, ASK, Announce, Deltas, EXTRA, Head, PACKET, POLL, REPAIR, WHOLE,
};
use crate::group::out::NOTHING;
use crate::group::pick::Pick;
use crate::group::room::{add_to, place_of};
use crate::group::seat::Seat;
use crate::group::{Groups, out};
use pombo_kernel::aspect::Storage;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::{Part, Source as Bytes};
use pombo_kernel::network::Broadcast;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

impl<Z: Groups, S: Storage> Source<Z, S> {
    pub(super) fn emit<N: Broadcast>(
        &mut self,
        step: &Step,
        network: &mut N,
        message: &impl Bytes,
        now: u64,
    ) -> Result<(), ChannelError> {
        let ask = self.asks_with(step);
        let leap = match step {
            Step::Poll | Step::Announce => self.timing.overtakers.max(1).into(),
            _ => 1,
        };
        let stamp = self.stamp.wrapping_add(leap);
        self.send_step(step, self.head(stamp, ask), network, message)?;
        if !(self.alone && matches!(step, Step::Poll | Step::Announce)) {
            self.cast = stamp;
        }
        match step {
            Step::Packet(packet) => {
                self.next += 1;
                self.stamps[(packet % WINDOW) as usize] = stamp;
                self.counts.packets += 1;
            }
            Step::Repair(pick) => self.mark(pick, stamp),
            Step::Announce | Step::Poll => {
                self.counts.polls += 1;
                self.tried |= self.alone;
                self.alone = !self.alone && self.asks >= 2;
            }
        }
        self.stamp = stamp;
        self.note_asked(step, ask, now);
        Ok(())
    }

    fn note_asked(&mut self, step: &Step, ask: bool, now: u64) {
        // Repairs are asked for sooner: packets wait for them.
        self.unasked += match step {
            Step::Repair(_) => 4,
            _ => 1,
        };
        if ask {
            self.alone &= matches!(step, Step::Announce | Step::Poll);
            (self.asked_at, self.since, self.unasked) = (now, now, 0);
            self.asks += 1;
            // An answer to an earlier question will do as well.
            if !matches!(step, Step::Poll) {
                self.asked = self.stamp;
            }
        } else if self.asks == 0 {
            // Receivers with a timer are asked if it does not work.
            (self.asked_at, self.since, self.asks) = (now, now, 1);
        }
    }

    /// Nobody waits for those packets any more before a report says that the repair was lost.
    fn mark(&mut self, pick: &Pick, stamp: u32) {
        match pick.packets().len() {
            1 => self.counts.resent += 1,
            _ => self.counts.repairs += 1,
        }
        for packet in pick.packets() {
            self.stamps[(packet % WINDOW) as usize] = stamp;
            let seats = self.seats.as_mut().iter_mut();
            seats.for_each(|seat| seat.missing.clear(*packet));
        }
    }

    fn head(&self, stamp: u32, ask: bool) -> Head {
        let whole = if self.train { WHOLE } else { 0 };
        Head {
            kind: POLL,
            flags: whole | if ask { ASK } else { 0 },
            len: U16::ZERO,
            check: U32::ZERO,
            epoch: U32::new(self.name.epoch),
            group: U32::new(self.name.group),
            credit: U16::ZERO,
            message: U32::new(self.message),
            packet: U32::new(self.next),
            stamp: U32::new(stamp),
        }
    }

    fn send_step<N: Broadcast>(
        &mut self,
        step: &Step,
        mut head: Head,
        network: &mut N,
        message: &impl Bytes,
    ) -> Result<(), ChannelError> {
        match step {
            Step::Announce => {
                head.kind = ANNOUNCE;
                let announce = Announce {
                    len: U64::new(self.len as u64),
                    chunk: U16::new(self.chunk as u16),
                };
                let packets = self.packets;
                self.ask(network, head, announce.as_bytes(), |seat| {
                    seat.waits(packets)
                })
            }
            Step::Poll => {
                let (next, waits) = (self.next, self.end() < self.packets);
                // Who has all of a train may be without room for more of it.
                let full = |seat: &Seat| waits && seat.expected + seat.credit <= next;
                self.ask(network, head, &[], |seat| {
                    seat.expected < next || full(seat)
                })
            }
            Step::Packet(packet) => self.send_packet(*packet, head, network, message),
            Step::Repair(pick) => match pick.packets() {
                [packet] => self.send_packet(*packet, head, network, message),
                _ => self.send_repair(pick, head, network, message),
            },
        }
    }

    /// All, who keep the order of what goes to all; in the long run by turns those who are silent, one by one: if all
    /// answered all the time the source might never hear some.
    fn ask<N: Broadcast>(
        &self,
        network: &mut N,
        mut head: Head,
        rest: &[u8],
        silent: impl Fn(&Seat) -> bool,
    ) -> Result<(), ChannelError> {
        let rest = [Part::Bytes(rest), NOTHING];
        if !self.alone && !self.is_singly() {
            return out::broadcast(network, head, rest);
        }
        // Who gets all frames so keeps their order as well.
        if !self.is_singly() {
            head.flags |= ALONE;
        }
        let mut sent = Ok(());
        for seat in self.up().filter(|seat| silent(seat)) {
            sent = sent.and(out::transmit(network, seat.node, head, rest));
        }
        sent
    }

    fn send_packet<N: Broadcast>(
        &self,
        packet: u32,
        mut head: Head,
        network: &mut N,
        message: &impl Bytes,
    ) -> Result<(), ChannelError> {
        (head.kind, head.packet) = (PACKET, U32::new(packet));
        if self.train {
            let bytes = Part::Bytes(self.ring.get(packet));
            return self.to_all(network, head, [bytes, NOTHING]);
        }
        let (offset, len) = place_of(self.len, self.chunk, packet);
        let bytes = match message.bytes().and_then(|b| b.get(offset..offset + len)) {
            Some(bytes) => Part::Bytes(bytes),
            None => Part::Held {
                swapped: false,
                source: message,
                offset,
                len,
            },
        };
        self.to_all(network, head, [bytes, NOTHING])
    }

    /// Where one frame for all does not pass, one for each that may lack it.
    fn to_all<N: Broadcast>(
        &self,
        network: &mut N,
        head: Head,
        parts: [Part<'_>; 2],
    ) -> Result<(), ChannelError> {
        if !self.is_singly() {
            return out::broadcast(network, head, parts);
        }
        let mut lack = self.up().filter(|seat| seat.expected < self.packets);
        lack.try_for_each(|seat| out::transmit(network, seat.node, head, parts))
    }

    fn send_repair<N: Broadcast>(
        &mut self,
        pick: &Pick,
        mut head: Head,
        network: &mut N,
        message: &impl Bytes,
    ) -> Result<(), ChannelError> {
        let first = pick.packets()[0];
        (head.kind, head.packet) = (REPAIR, U32::new(first));
        let mut deltas: Deltas = [0; EXTRA];
        let sum = &mut self.scratch.as_mut()[..self.chunk];
        sum.fill(0);
        for (i, packet) in pick.packets().iter().enumerate() {
            if i > 0 {
                // Less than a window apart.
                deltas[i - 1] = (packet - first) as u8;
            }
            add_to(sum, message, place_of(self.len, self.chunk, *packet));
        }
        let sum = &self.scratch.as_ref()[..self.chunk];
        self.to_all(network, head, [Part::Bytes(&deltas), Part::Bytes(sum)])
    }
}
