//! The sending side of a group: [`Source`].

use super::bits::{Bits, WINDOW};
use super::frame::{
    ANNOUNCE, ASK, Announce, Deltas, EXTRA, HEAD, Head, PACKET, POLL, REPAIR, REPORT, WHOLE,
};
use super::pick::{Pick, pick};
use super::seat::Seat;
use super::{Counts, Groups, Habits, Name, Repair, out};
use crate::aspect::{Capacity, Slice, Storage};
use crate::channel::reliable::Timing;
use crate::channel::reliable::timing::RoundTrip;
use crate::channel::{Arrival, ChannelError};
use crate::error::Error;
use crate::header::Node;
use crate::network::Broadcast;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

/// Sends messages to all nodes of a group, one after the other.
pub struct Source<Z: Groups, S: Storage> {
    name: Name,
    habits: Habits,
    timing: Timing,
    seats: S::Slice<Seat, Z::Members>,
    /// Where repairs are put together.
    scratch: S::Slice<u8, Z::Mtu>,
    /// Bytes of every packet but the last.
    chunk: usize,
    message: u32,
    len: usize,
    packets: u32,
    /// Everything before it has arrived everywhere.
    base: u32,
    /// One past the last packet sent.
    next: u32,
    stamp: u32,
    /// Of the latest transmission of the packets under way.
    stamps: [u32; WINDOW as usize],
    trip: RoundTrip,
    /// When and with which stamp it asked last, and how often without an answer.
    asked_at: u64,
    asked: u32,
    asks: u32,
    /// Frames since then.
    unasked: u16,
    /// The device had no room.
    blocked: bool,
    counts: Counts,
}

/// The next frame.
enum Step {
    Announce,
    Packet(u32),
    Repair(Pick),
    Poll,
}

impl<Z: Groups, S: Storage> Source<Z, S> {
    /// For those receivers, over frames of `mtu` bytes. The first message is number 1.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`].
    pub fn new(
        name: Name,
        receivers: impl IntoIterator<Item = Node>,
        mtu: usize,
        habits: Habits,
        timing: Timing,
    ) -> Result<Self, Error> {
        const { assert!(Z::Members::N <= 64 && Z::Mtu::N <= u16::MAX as usize) };
        let mut seats: S::Slice<Seat, Z::Members> = S::Slice::new();
        for (before, node) in receivers.into_iter().enumerate() {
            let (nodes, bound) = (before + 1, Z::Members::N);
            let refused = Error::TooManyNodes { nodes, bound };
            seats.push(Seat::new(node)).map_err(|_| refused)?;
        }
        let chunk = mtu.min(Z::Mtu::N) - HEAD - EXTRA;
        let mut scratch: S::Slice<u8, Z::Mtu> = S::Slice::new();
        while scratch.as_ref().len() < chunk {
            scratch.push(0).map_err(|_| Error::Full)?;
        }
        Ok(Source {
            name,
            habits,
            timing,
            seats,
            scratch,
            chunk,
            message: 0,
            len: 0,
            packets: 0,
            base: 0,
            next: 0,
            stamp: 0,
            stamps: [0; WINDOW as usize],
            trip: RoundTrip::default(),
            asked_at: 0,
            asked: 0,
            asks: 0,
            unasked: 0,
            blocked: false,
            counts: Counts::default(),
        })
    }

    /// What has happened to frames so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes of a message that goes at once.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Begins with the next message of `len` bytes. From now on every call shows the same bytes.
    ///
    /// # Errors
    /// [`ChannelError::Full`]: the last message is under way. [`ChannelError::TooLong`]: for the numbers of packets.
    pub fn begin(&mut self, len: usize) -> Result<(), ChannelError> {
        if !self.is_done() {
            return Err(ChannelError::Full);
        }
        let packets = len.div_ceil(self.chunk).max(1);
        let limit = (1 << 31) * self.chunk;
        if packets > 1 << 31 {
            return Err(ChannelError::TooLong { limit });
        }
        self.message = self.message.wrapping_add(1);
        (self.len, self.packets) = (len, packets as u32);
        (self.base, self.next) = (0, 0);
        (self.asked_at, self.asks, self.unasked) = (0, 0, 0);
        let credit = if packets == 1 { 1 } else { 0 };
        let seats = self.seats.as_mut().iter_mut();
        seats.for_each(|seat| seat.begin(credit));
        Ok(())
    }

    /// Has every receiver that is not lost got all of the message?
    pub fn is_done(&self) -> bool {
        self.up().all(|seat| seat.expected == self.packets)
    }

    /// Whoever knows it says that a node is dead. Nothing waits for it any more.
    pub fn declare_lost(&mut self, node: Node) {
        for seat in self.seats.as_mut() {
            if seat.node == node {
                (seat.lost, seat.missing) = (true, Bits::default());
            }
        }
        self.advance();
    }

    fn up(&self) -> impl Iterator<Item = &Seat> {
        self.seats.as_ref().iter().filter(|seat| !seat.lost)
    }

    /// Takes a frame that came from the network; others than reports to this source are counted and dropped.
    /// `sums`: frames carry a checksum, as they do where [`Network::CHECKED`](crate::Network::CHECKED) is false.
    pub fn hear<A: Arrival>(&mut self, frame: &A, now: u64, sums: bool) {
        let Name { group, epoch } = self.name;
        let head = match Head::read(frame, group, epoch, sums) {
            Ok(head) => head,
            Err(refusal) => return self.counts.refuse(refusal),
        };
        let from = frame.from();
        let seat = self.seats.as_ref().iter().position(|s| s.node == from);
        let (Some(seat), Some(bits)) = (seat, head.reported(frame)) else {
            self.counts.foreign += 1;
            return;
        };
        if head.kind != REPORT || head.message.get() != self.message {
            self.counts.stale += 1;
            return;
        }
        if !self.is_possible(&head, &bits) {
            self.counts.impossible += 1;
            return;
        }
        self.note(seat, &head, bits, now);
    }

    fn is_possible(&self, head: &Head, bits: &Bits) -> bool {
        let (expected, echo) = (head.packet.get(), head.stamp.get());
        let sent = self.next.saturating_sub(expected);
        // Only packets between the first missing one and the last sent can have arrived.
        let above = expected.wrapping_add(1)..self.next;
        let known = above.filter(|packet| bits.has(*packet)).count();
        expected <= self.next
            && (sent <= WINDOW || bits.is_empty())
            && known as u32 == bits.count()
            && self.stamp.wrapping_sub(echo) < 1 << 31
    }

    /// What that receiver has, and lacks.
    fn note(&mut self, seat: usize, head: &Head, bits: Bits, now: u64) {
        let (expected, echo) = (head.packet.get(), head.stamp.get());
        let seat = &mut self.seats.as_mut()[seat];
        if seat.lost || echo.wrapping_sub(seat.echo) >= 1 << 31 || expected < seat.expected {
            return;
        }
        (seat.echo, seat.expected) = (echo, expected);
        if self.packets > 1 {
            seat.credit = head.credit.get().into();
        }
        (seat.has, seat.missing) = (bits, Bits::default());
        let overtakers = u32::from(self.timing.overtakers.max(1));
        for packet in expected..self.next {
            let later = echo.wrapping_sub(self.stamps[(packet % WINDOW) as usize]);
            if !bits.has(packet) && later >= overtakers && later < 1 << 31 {
                seat.missing.set(packet);
            }
        }
        if echo == self.asked && self.asks <= 1 {
            self.trip.note(now.saturating_sub(self.asked_at));
        }
        self.asks = self.asks.min(1);
        self.advance();
    }

    fn advance(&mut self) {
        let least = self.up().map(|seat| seat.expected).min();
        self.base = least.unwrap_or(self.packets);
    }

    /// Sends what may be sent now, until the device has no room. `message` is what was begun. Returns whether all have
    /// all of it.
    ///
    /// # Errors
    /// What the network says, except that it has no room.
    pub fn turn<N: Broadcast>(
        &mut self,
        network: &mut N,
        message: &[u8],
    ) -> Result<bool, ChannelError> {
        let now = network.now();
        self.blocked = false;
        while !self.is_done() && message.len() == self.len {
            let Some(step) = self.step(now) else {
                return Ok(false);
            };
            match self.emit(&step, network, message, now) {
                Ok(()) => {}
                Err(ChannelError::Full) => {
                    self.blocked = true;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(self.is_done())
    }

    /// When [`Source::turn`] has something to do by itself; a device that gets room again tells it on its own.
    pub fn deadline(&self) -> u64 {
        match self.blocked || self.is_done() {
            true => u64::MAX,
            false => self.patient_until(),
        }
    }

    /// A lost question is put again soon, once; then the others may be busy.
    fn patient_until(&self) -> u64 {
        let patience = match self.trip.usual() {
            Some(usual) if self.asks <= 1 => usual,
            _ => self.trip.patience(&self.timing, self.asks),
        };
        self.asked_at.saturating_add(patience)
    }

    fn step(&self, now: u64) -> Option<Step> {
        let over = self.patient_until() <= now;
        if self.up().any(|seat| seat.credit == 0) {
            return (over || self.asks == 0).then_some(Step::Announce);
        }
        if let Some(pick) = self.repair() {
            return Some(Step::Repair(pick));
        }
        if self.next < self.end() {
            return Some(Step::Packet(self.next));
        }
        over.then_some(Step::Poll)
    }

    /// How far packets may be sent.
    fn end(&self) -> u32 {
        let credit = self.up().map(|seat| seat.credit).min().unwrap_or(1);
        let window = u32::from(self.habits.window).clamp(1, WINDOW).min(credit);
        let end = self.base.saturating_add(window).min(self.packets);
        match self.habits.repair {
            Repair::Bursts { packets, .. } => {
                let burst = u32::from(packets).clamp(1, window);
                end.min((self.base / burst + 1).saturating_mul(burst))
            }
            _ => end,
        }
    }

    fn repair(&self) -> Option<Pick> {
        let missing = self.missing();
        let first = missing.from(self.base).next()?;
        match self.habits.repair {
            Repair::Plain => Some(Pick::one(first)),
            Repair::Bursts { .. } => {
                let answered = |seat: &Seat| {
                    let told = seat.echo.wrapping_sub(self.asked) < 1 << 31;
                    told || seat.expected == self.next
                };
                let told = self.next == self.end() && self.up().all(answered);
                told.then(|| Pick::one(first))
            }
            Repair::Coded => {
                // The longer it waits the more packets it finds to combine.
                let age = self.next - first;
                let late = age >= u32::from(self.habits.window) * 7 / 8;
                let due = late || self.next == self.end();
                due.then(|| pick(self.seats.as_ref(), self.base)).flatten()
            }
        }
    }

    fn missing(&self) -> Bits {
        self.up()
            .fold(Bits::default(), |bits, seat| bits.or(&seat.missing))
    }

    fn emit<N: Broadcast>(
        &mut self,
        step: &Step,
        network: &mut N,
        message: &[u8],
        now: u64,
    ) -> Result<(), ChannelError> {
        let ask = self.asks_with(step);
        let leap = match step {
            Step::Poll | Step::Announce => self.timing.overtakers.max(1).into(),
            _ => 1,
        };
        let stamp = self.stamp.wrapping_add(leap);
        let mut head = self.head(stamp, ask);
        match step {
            Step::Announce => {
                head.kind = ANNOUNCE;
                let announce = Announce {
                    len: U64::new(self.len as u64),
                    chunk: U16::new(self.chunk as u16),
                };
                self.to_silent(network, head, announce.as_bytes(), |seat| seat.credit == 0)?;
            }
            Step::Poll => {
                let next = self.next;
                self.to_silent(network, head, &[], |seat| seat.expected < next)?;
            }
            Step::Packet(packet) => {
                self.send_packet(*packet, head, network, message)?;
                self.next += 1;
                self.counts.packets += 1;
            }
            Step::Repair(pick) if pick.packets().len() == 1 => {
                self.send_packet(pick.packets()[0], head, network, message)?;
                self.counts.resent += 1;
            }
            Step::Repair(pick) => {
                self.send_repair(pick, head, network, message)?;
                self.counts.repairs += 1;
            }
        }
        match step {
            Step::Packet(packet) => self.stamps[(packet % WINDOW) as usize] = stamp,
            Step::Repair(pick) => self.mark(pick, stamp),
            Step::Announce | Step::Poll => self.counts.polls += 1,
        }
        self.stamp = stamp;
        // Repairs are asked for sooner: packets wait for them.
        self.unasked += if matches!(step, Step::Repair(_)) {
            4
        } else {
            1
        };
        if ask {
            (self.asked_at, self.unasked) = (now, 0);
            self.asks += 1;
            // An answer to an earlier question will do as well.
            if !matches!(step, Step::Poll) {
                self.asked = stamp;
            }
        } else if self.asks == 0 {
            // Receivers with a timer are asked if it does not work.
            (self.asked_at, self.asks) = (now, 1);
        }
        Ok(())
    }

    /// Nobody waits for those packets any more before a report says that the repair was lost.
    fn mark(&mut self, pick: &Pick, stamp: u32) {
        for packet in pick.packets() {
            self.stamps[(packet % WINDOW) as usize] = stamp;
            let seats = self.seats.as_mut().iter_mut();
            seats.for_each(|seat| seat.missing.clear(*packet));
        }
    }

    /// Does this frame ask? Often enough, and when nothing can follow it without a report.
    fn asks_with(&self, step: &Step) -> bool {
        if let Repair::Bursts { asked: false, .. } = self.habits.repair {
            return matches!(step, Step::Announce | Step::Poll) || self.packets == 1;
        }
        let often = !matches!(self.habits.repair, Repair::Bursts { .. })
            && self.unasked + 1 >= self.habits.ask_after;
        let last = match step {
            Step::Announce | Step::Poll => true,
            Step::Packet(packet) => packet + 1 == self.end(),
            // A closed window waits for nothing but reports, and one of them may be lost.
            Step::Repair(_) => self.next == self.end(),
        };
        often || last
    }

    fn head(&self, stamp: u32, ask: bool) -> Head {
        let whole = if self.packets == 1 { WHOLE } else { 0 };
        Head {
            kind: POLL,
            flags: whole | if ask { ASK } else { 0 },
            len: U16::ZERO,
            check: U32::ZERO,
            epoch: U32::new(self.name.epoch),
            group: U16::new(self.name.group),
            credit: U16::ZERO,
            message: U32::new(self.message),
            packet: U32::new(self.next),
            stamp: U32::new(stamp),
        }
    }

    /// To all if all are silent, else one by one.
    fn to_silent<N: Broadcast>(
        &self,
        network: &mut N,
        head: Head,
        rest: &[u8],
        silent: impl Fn(&Seat) -> bool,
    ) -> Result<(), ChannelError> {
        if self.up().all(&silent) {
            return out::broadcast(network, head, [rest, &[]]);
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
        message: &[u8],
    ) -> Result<(), ChannelError> {
        (head.kind, head.packet) = (PACKET, U32::new(packet));
        let bytes = bytes_of(message, self.chunk, packet);
        out::broadcast(network, head, [bytes, &[]])
    }

    fn send_repair<N: Broadcast>(
        &mut self,
        pick: &Pick,
        mut head: Head,
        network: &mut N,
        message: &[u8],
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
            xor(sum, bytes_of(message, self.chunk, *packet));
        }
        out::broadcast(network, head, [&deltas, sum])
    }
}

/// The bytes of a packet.
pub(super) fn bytes_of(message: &[u8], chunk: usize, packet: u32) -> &[u8] {
    let start = (packet as usize * chunk).min(message.len());
    let end = (start + chunk).min(message.len());
    &message[start..end]
}

/// Adds up to the shorter one's end.
pub(super) fn xor(sum: &mut [u8], bytes: &[u8]) {
    for (sum, byte) in sum.iter_mut().zip(bytes) {
        *sum ^= byte;
    }
}
