//! The sending side of a group: [`Sender`].

mod on_report;
mod packets;
mod scheduler;
mod send_due;

use super::frame::{EXTRA, HEADER_LEN};
use super::known_receiver::ReceiverState;
use super::message_ring::MessageRing;
use super::packet_bitmap::{PacketBitmap, WINDOW};
use super::{GroupSizes, MulticastStats, SendStatus, SenderConfig, WireGroup};
use crate::reliable::Timing;
use crate::reliable::timing::RoundTrip;
use pombo_kernel::Error;
use pombo_kernel::aspect::{Capacity, Slice, Storage};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Source as Bytes;

/// Sends messages to all peers of a group, in order.
pub struct Sender<Z: GroupSizes, S: Storage> {
    id: WireGroup,
    config: SenderConfig,
    timing: Timing,
    receiver_states: S::Slice<ReceiverState, Z::Members>,
    /// Scratch memory in which repairs are computed.
    scratch: S::Slice<u8, Z::Mtu>,
    /// Size in bytes of every packet but the last.
    chunk: usize,
    message: u32,
    /// Whether the message is a train of small messages, whose copies are in the ring.
    train: bool,
    ring: MessageRing<Z, S>,
    len: usize,
    packets: u32,
    /// Every packet before this one has arrived everywhere.
    base: u32,
    /// The number after that of the last packet sent.
    next: u32,
    stamp: u32,
    /// The stamp of the latest transmission of each packet in flight.
    stamps: [u32; WINDOW as usize],
    trip: RoundTrip,
    /// The time and the stamp of the last poll, and the number of polls without an answer that brought news.
    asked_at: u64,
    asked: u32,
    asks: u32,
    /// The time since which the receivers could have reported.
    since: u64,
    /// Number of frames since the last poll.
    unasked: u16,
    /// The next poll goes only to receivers that have not answered the last one.
    unicast_only: bool,
    /// The user waits for reports.
    reports_wanted: bool,
    /// The device had no room.
    blocked: bool,
    /// The stamp of the latest broadcast.
    last_broadcast: u32,
    /// A receiver was polled by unicast; the number of its successive answers that report no broadcast.
    unicast_tried: bool,
    unheard_broadcasts: u8,
    counts: MulticastStats,
}

/// The number of successive broadcast polls that a receiver missed, while it answered unicast polls, after which the
/// sender gives up broadcast: from then on each receiver gets its own copy.
const MAX_UNHEARD: u8 = 12;

/// Largest number of packets in a message.
const MOST: u32 = 1 << 31;

impl<Z: GroupSizes, S: Storage> Sender<Z, S> {
    /// Creates the sender to those receivers, over frames of `mtu` bytes. The first message is number 1.
    ///
    /// # Errors
    /// [`Error::TooManyPeers`].
    pub fn new(
        id: WireGroup,
        receivers: impl IntoIterator<Item = Peer>,
        mtu: usize,
        config: SenderConfig,
        timing: Timing,
    ) -> Result<Self, Error> {
        const {
            assert!(Z::Members::N <= 64 && Z::Mtu::N <= u16::MAX as usize);
            assert!(Z::Kept::N.is_power_of_two() && Z::Kept::N <= WINDOW as usize);
        };
        let mut receiver_states: S::Slice<ReceiverState, Z::Members> = S::Slice::new();
        for (before, peer) in receivers.into_iter().enumerate() {
            let (peers, bound) = (before + 1, Z::Members::N);
            let refused = Error::TooManyPeers { peers, bound };
            receiver_states
                .push(ReceiverState::new(peer))
                .map_err(|_| refused)?;
        }
        let chunk = mtu.min(Z::Mtu::N) - HEADER_LEN - EXTRA;
        let mut scratch: S::Slice<u8, Z::Mtu> = S::Slice::new();
        while scratch.as_ref().len() < chunk {
            scratch.push(0).map_err(|_| Error::Full)?;
        }
        Ok(Sender {
            id,
            config,
            timing,
            receiver_states,
            scratch,
            chunk,
            message: 0,
            train: false,
            ring: MessageRing::new(),
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
            since: 0,
            unasked: 0,
            unicast_only: false,
            reports_wanted: false,
            blocked: false,
            last_broadcast: 0,
            unicast_tried: false,
            unheard_broadcasts: 0,
            counts: MulticastStats::default(),
        })
    }

    /// Returns the counters of frames.
    pub fn counts(&self) -> MulticastStats {
        self.counts
    }

    /// Returns the size in bytes of a packet of a long message.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Returns the size in bytes of the longest message that is copied.
    pub fn small(&self) -> usize {
        self.chunk.min(Z::Small::N)
    }

    /// Begins the next message. [`SendStatus::Copied`]: the message was copied and will be sent.
    /// [`SendStatus::Borrowed`]: every call must pass the same bytes until the message is complete.
    ///
    /// # Errors
    /// [`ChannelError::Full`]: too many messages are in flight. [`ChannelError::TooLong`]: the message needs too many
    /// packets.
    pub fn send(&mut self, message: &impl Bytes) -> Result<SendStatus, ChannelError> {
        let full = match message.len() <= self.small() {
            true if self.keep(message) => return Ok(SendStatus::Copied),
            true => true,
            false => !self.is_done(),
        };
        // Early reports free room early.
        self.reports_wanted = full;
        if full {
            return Err(ChannelError::Full);
        }
        let packets = message.len().div_ceil(self.chunk);
        if packets > MOST as usize {
            let limit = MOST as usize * self.chunk;
            return Err(ChannelError::TooLong { limit });
        }
        self.begin(false);
        (self.len, self.packets) = (message.len(), packets as u32);
        self.advance();
        Ok(SendStatus::Borrowed)
    }

    /// Returns whether every live receiver has room for another small message: one that is sent leaves at once.
    pub fn has_credit(&self) -> bool {
        !self.train
            || self
                .up()
                .all(|state| state.expected + state.credit > self.packets)
    }

    /// Appends a small message to the train.
    fn keep(&mut self, message: &impl Bytes) -> bool {
        let done = self.is_done();
        if !self.train || (self.packets == MOST && done) {
            if !done {
                return false;
            }
            self.begin(true);
        }
        if self.packets - self.base >= MessageRing::<Z, S>::PLACES || self.packets == MOST {
            return false;
        }
        if done {
            (self.asks, self.unasked) = (0, 0);
        }
        let copy = &mut self.scratch.as_mut()[..message.len()];
        message.copy_out(0, copy);
        if !self.ring.put(self.packets, |append| append(copy)) {
            return false;
        }
        self.packets += 1;
        self.advance();
        true
    }

    fn begin(&mut self, train: bool) {
        self.message = self.message.wrapping_add(1);
        (self.train, self.len, self.packets) = (train, 0, 0);
        (self.base, self.next) = (0, 0);
        (self.asks, self.unasked, self.reports_wanted) = (0, 0, false);
        self.unicast_only = false;
        let credit = if train {
            MessageRing::<Z, S>::PLACES
        } else {
            0
        };
        let receiver_states = self.receiver_states.as_mut().iter_mut();
        receiver_states.for_each(|state| state.begin(credit));
    }

    /// Returns whether every live receiver has everything.
    pub fn is_done(&self) -> bool {
        self.up().all(|state| state.expected == self.packets)
    }

    /// Returns whether a message is in flight whose bytes every call must pass.
    pub fn is_lent(&self) -> bool {
        !self.train && !self.is_done()
    }

    /// Reports a lost receiver: the sender does not wait for it any more.
    pub fn declare_lost(&mut self, peer: Peer) {
        for state in self.receiver_states.as_mut() {
            if state.peer == peer {
                (state.lost, state.missing) = (true, PacketBitmap::default());
            }
        }
        self.advance();
    }

    /// Returns whether the sender has given up broadcast.
    pub fn is_unicast_only(&self) -> bool {
        self.unheard_broadcasts >= MAX_UNHEARD
    }

    fn up(&self) -> impl Iterator<Item = &ReceiverState> {
        self.receiver_states
            .as_ref()
            .iter()
            .filter(|state| !state.lost)
    }

    /// Frees the packets before the first one that any receiver lacks.
    fn advance(&mut self) {
        let least = self.up().map(|state| state.expected).min();
        let base = least.unwrap_or(self.packets);
        if self.train {
            (self.base..base).for_each(|packet| self.ring.forget(packet));
        }
        (self.base, self.next) = (base, self.next.max(base));
    }

    /// Returns whether the device had no room for a due frame.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }
}
