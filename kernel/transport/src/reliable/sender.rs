//! One direction to a peer: which frames are unacknowledged, and when to send them again. Only `reliable` uses it.

use super::capacities::{Frame, Windows, slot_of};
use super::congestion_window::SendWindow;
use super::timing::{RoundTrip, Timing};
use pombo_kernel::aspect::{Slice, Storage};
use pombo_kernel::memory::Part;

/// Numbers `first..next` are under way; bit i of a bitmap is number `first` + i.
pub(super) struct Sender<Z: Windows, S: Storage> {
    first: u32,
    next: u32,
    /// Largest number of frames under way: a power of two.
    frames: u32,
    seen: u64,
    lost: u64,
    /// The stamp of the latest transmission; 0 before the first.
    stamp: u32,
    credit: u32,
    window: SendWindow,
    trip: RoundTrip,
    /// The time since which the peer owes an answer, and how often it was probed since.
    since: u64,
    asked: u32,
    slots: S::Slice<Unacked<Frame<Z, S>>, Z::Frames>,
}

/// The copy of a frame, in the slot of its number.
struct Unacked<B> {
    bytes: B,
    len: usize,
    stamp: u32,
    at: u64,
    /// Whether its acknowledgement measures the round trip, because the peer sends it without delay.
    prompt: bool,
}

/// The acknowledgement of a peer.
pub(super) struct AckInfo {
    pub(super) expected: u32,
    pub(super) echo: u32,
    pub(super) credit: u16,
    /// The bitmap above the expected number, in a report.
    pub(super) seen: Option<u64>,
}

/// The stamp and the flag of a transmission.
pub(super) struct ProbeMarks {
    pub(super) stamp: u32,
    pub(super) ask: bool,
}

impl<Z: Windows, S: Storage> Sender<Z, S> {
    pub(super) fn new(frames: u32) -> Self {
        Sender {
            first: 0,
            next: 0,
            frames,
            seen: 0,
            lost: 0,
            stamp: 0,
            credit: frames,
            window: SendWindow::new(frames),
            trip: RoundTrip::default(),
            since: 0,
            asked: 0,
            slots: S::Slice::new(),
        }
    }

    /// Returns whether every frame is acknowledged.
    pub(super) fn is_empty(&self) -> bool {
        self.first == self.next
    }

    pub(super) fn first(&self) -> u32 {
        self.first
    }

    pub(super) fn next(&self) -> u32 {
        self.next
    }

    fn slot_of(&self, number: u32) -> usize {
        slot_of(number, self.frames)
    }

    fn outstanding(&self) -> u32 {
        self.next.wrapping_sub(self.first)
    }

    fn under_way(&self) -> u32 {
        self.outstanding() - (self.seen | self.lost).count_ones()
    }

    pub(super) fn has_room(&self) -> bool {
        self.outstanding() < self.credit && self.under_way() < self.window.frames()
    }

    /// Stores a copy as the next frame, which is not under way before [`Sender::sent`]. Returns false without memory.
    pub(super) fn keep(&mut self, parts: &[Part<'_>], total: usize) -> bool {
        let slot_of = self.slot_of(self.next);
        while self.slots.as_ref().len() <= slot_of {
            let unacked = Unacked {
                bytes: Frame::<Z, S>::new(),
                len: 0,
                stamp: 0,
                at: 0,
                prompt: false,
            };
            if self.slots.push(unacked).is_err() {
                return false;
            }
        }
        let unacked = &mut self.slots.as_mut()[slot_of];
        if !grow(&mut unacked.bytes, total) {
            return false;
        }
        let mut at = 0;
        for part in parts {
            part.copy_to(0, &mut unacked.bytes.as_mut()[at..at + part.len()]);
            at += part.len();
        }
        unacked.len = total;
        true
    }

    /// Returns the copy of a frame that is under way, or the one that was stored last.
    pub(super) fn bytes(&self, number: u32) -> &[u8] {
        let unacked = &self.slots.as_ref()[self.slot_of(number)];
        &unacked.bytes.as_ref()[..unacked.len]
    }

    /// Returns the marks of the next transmission of this number.
    pub(super) fn marks(&self, number: u32, timing: &Timing) -> ProbeMarks {
        if number != self.next {
            // The stamp of a probe is so high that its answer decides over all earlier frames.
            let leap = u32::from(timing.overtakers.max(1));
            return ProbeMarks {
                stamp: self.stamp.wrapping_add(leap),
                ask: true,
            };
        }
        // Reports are requested often enough that the window never closes for lack of one. If the peer's own frames
        // carry acknowledgements, nothing need be requested once the round trip is known.
        let quarter = (self.frames / 4).max(1);
        let open = self.outstanding() + 1;
        let closes = open == self.credit || self.under_way() + 1 == self.window.frames();
        let curious = open == 1 && self.trip.typical().is_none();
        ProbeMarks {
            stamp: self.stamp.wrapping_add(1),
            ask: open.is_multiple_of(quarter) || closes || curious,
        }
    }

    /// Notes that a frame has left.
    pub(super) fn sent(&mut self, number: u32, marks: &ProbeMarks, now: u64) {
        let slot_of = self.slot_of(number);
        let unacked = &mut self.slots.as_mut()[slot_of];
        (unacked.stamp, unacked.at, unacked.prompt) = (marks.stamp, now, marks.ask);
        self.stamp = marks.stamp;
        if self.is_empty() {
            (self.since, self.asked) = (now, 0);
        }
        if number == self.next {
            self.next = number.wrapping_add(1);
        } else {
            self.lost &= !bit(number.wrapping_sub(self.first));
        }
    }

    /// Releases all frames before `until`.
    pub(super) fn forget(&mut self, until: u32) {
        let passed = until.wrapping_sub(self.first);
        self.seen = self.seen.checked_shr(passed).unwrap_or(0);
        self.lost = self.lost.checked_shr(passed).unwrap_or(0);
        self.first = until;
    }

    /// Handles an acknowledgement; returns false if it is impossible.
    pub(super) fn on_ack(&mut self, ack: &AckInfo, now: u64, timing: &Timing) -> bool {
        let passed = ack.expected.wrapping_sub(self.first);
        let behind = self.first.wrapping_sub(ack.expected);
        let outstanding = self.outstanding();
        let unknown = self.stamp.wrapping_sub(ack.echo) >= 1 << 31;
        if unknown || (passed > outstanding && behind >= 1 << 31) {
            return false;
        }
        if passed > outstanding {
            return true;
        }
        // Bit i of a report is the number expected + 1 + i.
        let above = ack.seen.unwrap_or(0);
        let sent_above = outstanding - passed;
        if above.checked_shr(sent_above.saturating_sub(1)).unwrap_or(0) != 0 {
            return false;
        }
        self.credit = u32::from(ack.credit).clamp(1, self.frames);
        let reported = above.checked_shl(passed + 1).unwrap_or(0);
        let before = bit(passed).wrapping_sub(1);
        let arrived = (reported | before) & !self.seen & mask(outstanding);
        self.measure(arrived, ack.echo, now);
        self.seen |= arrived;
        self.lost &= !arrived;
        self.window.note(arrived.count_ones(), 0);
        if arrived != 0 || ack.seen.is_some() {
            (self.since, self.asked) = (now, 0);
        }
        self.forget(ack.expected);
        if ack.seen.is_some() {
            self.find_lost(ack.echo, timing);
        }
        true
    }

    /// Measures the round trip by frames that requested a report at once.
    fn measure(&mut self, arrived: u64, echo: u32, now: u64) {
        for i in bits(arrived) {
            let unacked = &self.slots.as_ref()[self.slot_of(self.first.wrapping_add(i))];
            if unacked.stamp == echo && unacked.prompt {
                self.trip.note(now.saturating_sub(unacked.at));
            }
        }
    }

    /// Marks frames as lost if enough that left later have arrived.
    fn find_lost(&mut self, echo: u32, timing: &Timing) {
        let open = mask(self.outstanding()) & !(self.seen | self.lost);
        let mut lost = 0;
        for i in bits(open) {
            let unacked = &self.slots.as_ref()[self.slot_of(self.first.wrapping_add(i))];
            let overtaken = echo.wrapping_sub(unacked.stamp);
            if overtaken >= u32::from(timing.overtakers.max(1)) && overtaken < 1 << 31 {
                lost |= bit(i);
            }
        }
        self.window.note(0, lost.count_ones());
        self.lost |= lost;
    }

    /// Returns the next frame to send again.
    pub(super) fn next_lost(&self) -> Option<u32> {
        let next = bits(self.lost).next()?;
        // A probe is always permitted.
        let asks = self.asked > 0 && next == 0;
        let may = asks || self.under_way() < self.window.frames();
        may.then(|| self.first.wrapping_add(next))
    }

    /// Probes a peer that has been silent for too long with its first unacknowledged frame.
    pub(super) fn expire(&mut self, now: u64, timing: &Timing) {
        if self.deadline(timing) <= now {
            self.lost |= 1;
            self.since = now;
            self.asked += 1;
        }
    }

    /// Returns when [`Sender::expire`] has to act.
    pub(super) fn deadline(&self, timing: &Timing) -> u64 {
        match self.is_empty() {
            true => u64::MAX,
            false => {
                let retry_timeout = self.trip.retry_timeout(timing, self.asked);
                self.since.saturating_add(retry_timeout)
            }
        }
    }
}

/// Grows a buffer to `len` bytes; returns false without memory.
pub(super) fn grow(bytes: &mut impl Slice<u8>, len: usize) -> bool {
    while let Some(missing) = len.checked_sub(bytes.as_ref().len()).filter(|n| *n > 0) {
        if !bytes.extend(&ZEROS[..missing.min(ZEROS.len())]) {
            return false;
        }
    }
    true
}

static ZEROS: [u8; 256] = [0; 256];

/// Returns bit i, or 0 beyond the bitmap.
fn bit(i: u32) -> u64 {
    1_u64.checked_shl(i).unwrap_or(0)
}

/// Returns the lowest n bits.
fn mask(n: u32) -> u64 {
    bit(n).wrapping_sub(1)
}

fn bits(mut set: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let lowest = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (lowest < u64::BITS).then_some(lowest)
    })
}
