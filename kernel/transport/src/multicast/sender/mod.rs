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
    /// Where repairs are put together.
    scratch: S::Slice<u8, Z::Mtu>,
    /// Bytes of every packet but the last.
    chunk: usize,
    message: u32,
    /// Is it a train of small messages? Their copies lie in the ring.
    train: bool,
    ring: MessageRing<Z, S>,
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
    /// When and with which stamp it asked last, and how often without an answer that brought news.
    asked_at: u64,
    asked: u32,
    asks: u32,
    /// Since when the receivers could have said something.
    since: u64,
    /// Frames since it asked.
    unasked: u16,
    /// Its next question goes only to who has not answered the last one.
    unicast_only: bool,
    /// The user waits for reports.
    reports_wanted: bool,
    /// The device had no room.
    blocked: bool,
    /// Of the latest frame for all.
    last_broadcast: u32,
    /// Somebody was asked alone; and how often in a row it said that it had heard of no such frame.
    unicast_tried: bool,
    unheard_broadcasts: u8,
    counts: MulticastStats,
}

/// After so many questions for all that somebody did not hear, one after the other, though it answered those for itself,
/// frames for all are taken not to pass: from then on each receiver gets its own.
const MAX_UNHEARD: u8 = 12;

/// The most packets of a message.
const MOST: u32 = 1 << 31;

impl<Z: GroupSizes, S: Storage> Sender<Z, S> {
    /// For those receivers, over frames of `mtu` bytes. The first message is number 1.
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

    /// What has happened to frames so far.
    pub fn counts(&self) -> MulticastStats {
        self.counts
    }

    /// Bytes of a packet of a long message.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Bytes of the longest message that is copied.
    pub fn small(&self) -> usize {
        self.chunk.min(Z::Small::N)
    }

    /// Begins with the next message. [`SendStatus::Copied`]: it was copied, and is sent by and by. [`SendStatus::Borrowed`]: from now
    /// on every call shows the same bytes, until it is done.
    ///
    /// # Errors
    /// [`ChannelError::Full`]: too many are under way. [`ChannelError::TooLong`]: for the numbers of packets.
    pub fn send(&mut self, message: &impl Bytes) -> Result<SendStatus, ChannelError> {
        let full = match message.len() <= self.small() {
            true if self.keep(message) => return Ok(SendStatus::Copied),
            true => true,
            false => !self.is_done(),
        };
        // The sooner they report the sooner there is room.
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

    /// Adds a small message to the train.
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

    /// Has every receiver that is not lost got all of everything?
    pub fn is_done(&self) -> bool {
        self.up().all(|state| state.expected == self.packets)
    }

    /// Is a message under way whose bytes are shown at every call?
    pub fn is_lent(&self) -> bool {
        !self.train && !self.is_done()
    }

    /// Whoever knows it says that a peer is dead. Nothing waits for it any more.
    pub fn declare_lost(&mut self, peer: Peer) {
        for state in self.receiver_states.as_mut() {
            if state.peer == peer {
                (state.lost, state.missing) = (true, PacketBitmap::default());
            }
        }
        self.advance();
    }

    /// Does the network not carry frames for all?
    pub fn is_unicast_only(&self) -> bool {
        self.unheard_broadcasts >= MAX_UNHEARD
    }

    fn up(&self) -> impl Iterator<Item = &ReceiverState> {
        self.receiver_states
            .as_ref()
            .iter()
            .filter(|state| !state.lost)
    }

    /// Everything before the first packet that anyone lacks needs no memory any more.
    fn advance(&mut self) {
        let least = self.up().map(|state| state.expected).min();
        let base = least.unwrap_or(self.packets);
        if self.train {
            (self.base..base).for_each(|packet| self.ring.forget(packet));
        }
        (self.base, self.next) = (base, self.next.max(base));
    }

    /// The device had no room for something that is due.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }
}
