//! Builds and sends a sender's frames. Only `multicast` uses it.

use super::Sender;
use super::scheduler::NextFrame;
use crate::multicast::frame::{
    ANNOUNCE, ASK, Announce, Deltas, EXTRA, FrameHeader, PACKET, POLL, REPAIR, UNICAST, WHOLE,
};
use crate::multicast::index_coding::RepairSet;
use crate::multicast::known_receiver::ReceiverState;
use crate::multicast::packet_bitmap::WINDOW;
use crate::multicast::reassembly_buffer::{add_to, place_of};
use crate::multicast::tx::NOTHING;
use crate::multicast::{GroupSizes, tx};
use pombo_kernel::aspect::Storage;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::{Part, Source as Bytes};
use pombo_kernel::network::Broadcast;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

impl<Z: GroupSizes, S: Storage> Sender<Z, S> {
    pub(super) fn emit<N: Broadcast>(
        &mut self,
        next_frame: &NextFrame,
        network: &mut N,
        message: &impl Bytes,
        now: u64,
    ) -> Result<(), ChannelError> {
        let ask = self.asks_with(next_frame);
        let leap = match next_frame {
            NextFrame::Poll | NextFrame::Announce => self.timing.overtakers.max(1).into(),
            _ => 1,
        };
        let stamp = self.stamp.wrapping_add(leap);
        self.send_step(next_frame, self.head(stamp, ask), network, message)?;
        if !(self.unicast_only && matches!(next_frame, NextFrame::Poll | NextFrame::Announce)) {
            self.last_broadcast = stamp;
        }
        match next_frame {
            NextFrame::Packet(packet) => {
                self.next += 1;
                self.stamps[(packet % WINDOW) as usize] = stamp;
                self.counts.packets += 1;
            }
            NextFrame::Repair(repair) => self.mark(repair, stamp),
            NextFrame::Announce | NextFrame::Poll => {
                self.counts.polls += 1;
                self.unicast_tried |= self.unicast_only;
                self.unicast_only = !self.unicast_only && self.asks >= 2;
            }
        }
        self.stamp = stamp;
        self.note_asked(next_frame, ask, now);
        Ok(())
    }

    fn note_asked(&mut self, next_frame: &NextFrame, ask: bool, now: u64) {
        // Repairs bring the next poll forward, because packets wait for them.
        self.unasked += match next_frame {
            NextFrame::Repair(_) => 4,
            _ => 1,
        };
        if ask {
            self.unicast_only &= matches!(next_frame, NextFrame::Announce | NextFrame::Poll);
            (self.asked_at, self.since, self.unasked) = (now, now, 0);
            self.asks += 1;
            // For a poll frame the answer to an earlier poll is as good.
            if !matches!(next_frame, NextFrame::Poll) {
                self.asked = self.stamp;
            }
        } else if self.asks == 0 {
            // Receivers that report by timer are polled only if the timer does not work.
            (self.asked_at, self.since, self.asks) = (now, now, 1);
        }
    }

    /// Marks the packets of a repair as in flight until a report shows that the repair was lost.
    fn mark(&mut self, repair: &RepairSet, stamp: u32) {
        match repair.packets().len() {
            1 => self.counts.resent += 1,
            _ => self.counts.repairs += 1,
        }
        for packet in repair.packets() {
            self.stamps[(packet % WINDOW) as usize] = stamp;
            let receiver_states = self.receiver_states.as_mut().iter_mut();
            receiver_states.for_each(|state| state.missing.clear(*packet));
        }
    }

    fn head(&self, stamp: u32, ask: bool) -> FrameHeader {
        let whole = if self.train { WHOLE } else { 0 };
        FrameHeader {
            kind: POLL,
            flags: whole | if ask { ASK } else { 0 },
            len: U16::ZERO,
            check: U32::ZERO,
            epoch: U32::new(self.id.epoch),
            group: U32::new(self.id.group.0),
            credit: U16::ZERO,
            message: U32::new(self.message),
            packet: U32::new(self.next),
            stamp: U32::new(stamp),
        }
    }

    fn send_step<N: Broadcast>(
        &mut self,
        next_frame: &NextFrame,
        mut head: FrameHeader,
        network: &mut N,
        message: &impl Bytes,
    ) -> Result<(), ChannelError> {
        match next_frame {
            NextFrame::Announce => {
                head.kind = ANNOUNCE;
                let announce = Announce {
                    len: U64::new(self.len as u64),
                    chunk: U16::new(self.chunk as u16),
                };
                let packets = self.packets;
                self.ask(network, head, announce.as_bytes(), |state| {
                    state.waits(packets)
                })
            }
            NextFrame::Poll => {
                let (next, waits) = (self.next, self.end() < self.packets);
                // A receiver that has all packets of a train may have no room for more.
                let full = |state: &ReceiverState| waits && state.expected + state.credit <= next;
                self.ask(network, head, &[], |state| {
                    state.expected < next || full(state)
                })
            }
            NextFrame::Packet(packet) => self.send_packet(*packet, head, network, message),
            NextFrame::Repair(repair) => match repair.packets() {
                [packet] => self.send_packet(*packet, head, network, message),
                _ => self.send_repair(repair, head, network, message),
            },
        }
    }

    /// Polls all receivers by broadcast, which keeps the order of broadcast packets; after some unanswered polls every
    /// second one goes by unicast to the silent receivers: if all always answered at once, the sender might never hear
    /// some of them.
    fn ask<N: Broadcast>(
        &self,
        network: &mut N,
        mut head: FrameHeader,
        rest: &[u8],
        silent: impl Fn(&ReceiverState) -> bool,
    ) -> Result<(), ChannelError> {
        let rest = [Part::Bytes(rest), NOTHING];
        if !self.unicast_only && !self.is_unicast_only() {
            return tx::broadcast(network, head, rest);
        }
        // If all frames go by unicast, the poll keeps their order as well.
        if !self.is_unicast_only() {
            head.flags |= UNICAST;
        }
        let mut sent = Ok(());
        for state in self.up().filter(|state| silent(state)) {
            sent = sent.and(tx::transmit(network, state.peer, head, rest));
        }
        sent
    }

    fn send_packet<N: Broadcast>(
        &self,
        packet: u32,
        mut head: FrameHeader,
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

    /// Broadcasts a frame; in unicast mode it sends one copy to each receiver that may lack it.
    fn to_all<N: Broadcast>(
        &self,
        network: &mut N,
        head: FrameHeader,
        parts: [Part<'_>; 2],
    ) -> Result<(), ChannelError> {
        if !self.is_unicast_only() {
            return tx::broadcast(network, head, parts);
        }
        let mut lack = self.up().filter(|state| state.expected < self.packets);
        lack.try_for_each(|state| tx::transmit(network, state.peer, head, parts))
    }

    fn send_repair<N: Broadcast>(
        &mut self,
        repair: &RepairSet,
        mut head: FrameHeader,
        network: &mut N,
        message: &impl Bytes,
    ) -> Result<(), ChannelError> {
        let first = repair.packets()[0];
        (head.kind, head.packet) = (REPAIR, U32::new(first));
        let mut deltas: Deltas = [0; EXTRA];
        let sum = &mut self.scratch.as_mut()[..self.chunk];
        sum.fill(0);
        for (i, packet) in repair.packets().iter().enumerate() {
            if i > 0 {
                // The packets are less than a window apart.
                deltas[i - 1] = (packet - first) as u8;
            }
            add_to(sum, message, place_of(self.len, self.chunk, *packet));
        }
        let sum = &self.scratch.as_ref()[..self.chunk];
        self.to_all(network, head, [Part::Bytes(&deltas), Part::Bytes(sum)])
    }
}
