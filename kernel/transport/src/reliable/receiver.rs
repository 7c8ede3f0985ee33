//! One direction from a peer: which frames were delivered, and which arrived too early. Only `reliable` uses it.

use super::capacities::{Frame, Windows, slot_of};
use super::sender::grow;
use pombo_kernel::aspect::{Slice, Storage};
use pombo_kernel::channel::Arrival;

/// All numbers before `expected` were delivered; bit i of `seen` is number `expected` + 1 + i, stored in its slot.
pub(super) struct Receiver<Z: Windows, S: Storage> {
    expected: u32,
    /// Number of slots: a power of two.
    frames: u32,
    seen: u64,
    /// The highest stamp received.
    echo: u32,
    /// The time when a report is due; `u64::MAX` if the peer knows everything.
    due: u64,
    /// Whether a report is needed even if a data frame carries the expected number.
    full: bool,
    slots: S::Slice<OutOfOrder<Frame<Z, S>>, Z::Frames>,
}

struct OutOfOrder<B> {
    bytes: B,
    len: usize,
}

/// The order of a data frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ArrivalOrder {
    /// The expected frame.
    Next,
    /// A frame that is too early, and stored.
    Buffered,
    /// A frame that had arrived before.
    Duplicate,
    /// A frame outside the window, or one for which there is no memory.
    OutOfWindow,
}

impl<Z: Windows, S: Storage> Receiver<Z, S> {
    pub(super) fn new(frames: u32) -> Self {
        Receiver {
            expected: 0,
            frames,
            seen: 0,
            echo: 0,
            due: u64::MAX,
            full: false,
            slots: S::Slice::new(),
        }
    }

    pub(super) fn expected(&self) -> u32 {
        self.expected
    }

    /// Returns how many frames from the expected one on there are slots for.
    pub(super) fn credit(&self) -> u16 {
        self.frames as u16
    }

    pub(super) fn echo(&self) -> u32 {
        self.echo
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns when a report is due.
    pub(super) fn deadline(&self) -> u64 {
        self.due
    }

    /// Notes that a report has left.
    pub(super) fn reported(&mut self) {
        (self.due, self.full) = (u64::MAX, false);
    }

    /// Notes that a data frame has left, which carries the expected number.
    pub(super) fn acked_by_data(&mut self) {
        if !self.full {
            self.due = u64::MAX;
        }
    }

    /// Classifies a frame, and stores one that is too early. Its payload begins at `offset`.
    pub(super) fn take<A: Arrival>(
        &mut self,
        number: u32,
        stamp: u32,
        frame: &A,
        offset: usize,
        len: usize,
    ) -> ArrivalOrder {
        if stamp.wrapping_sub(self.echo) < 1 << 31 {
            self.echo = stamp;
        }
        let ahead = number.wrapping_sub(self.expected);
        if ahead == 0 {
            return ArrivalOrder::Next;
        }
        if ahead >= 1 << 31 {
            return ArrivalOrder::Duplicate;
        }
        if ahead >= self.frames {
            return ArrivalOrder::OutOfWindow;
        }
        if self.seen & (1 << (ahead - 1)) != 0 {
            return ArrivalOrder::Duplicate;
        }
        match self.keep(slot_of(number, self.frames), frame, offset, len) {
            true => {
                self.seen |= 1 << (ahead - 1);
                ArrivalOrder::Buffered
            }
            false => ArrivalOrder::OutOfWindow,
        }
    }

    fn keep<A: Arrival>(&mut self, slot_of: usize, frame: &A, offset: usize, len: usize) -> bool {
        while self.slots.as_ref().len() <= slot_of {
            let bytes = Frame::<Z, S>::new();
            let out_of_order = OutOfOrder { bytes, len: 0 };
            if self.slots.push(out_of_order).is_err() {
                return false;
            }
        }
        let out_of_order = &mut self.slots.as_mut()[slot_of];
        // The length is at most that of a frame.
        if !grow(&mut out_of_order.bytes, len) {
            return false;
        }
        let Some(into) = out_of_order.bytes.as_mut().get_mut(..len) else {
            return false;
        };
        let mut at = 0;
        frame.for_each_chunk(offset, len, |piece| {
            into[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        });
        out_of_order.len = len;
        true
    }

    /// Advances past the expected frame, which was delivered. Returns whether the next one is already stored.
    pub(super) fn advance(&mut self) -> bool {
        let here = self.seen & 1 != 0;
        self.seen >>= 1;
        self.expected = self.expected.wrapping_add(1);
        here
    }

    /// Returns the expected frame, if [`Receiver::advance`] has returned that it is stored.
    pub(super) fn out_of_order(&self) -> &[u8] {
        let out_of_order = &self.slots.as_ref()[slot_of(self.expected, self.frames)];
        &out_of_order.bytes.as_ref()[..out_of_order.len]
    }

    /// Schedules a report by that time.
    pub(super) fn report_by(&mut self, by: u64) {
        self.due = self.due.min(by);
    }

    /// Schedules a report at once, with the bitmap.
    pub(super) fn report_now(&mut self) {
        (self.due, self.full) = (0, true);
    }

    /// Returns whether frames have arrived too early.
    pub(super) fn has_gaps(&self) -> bool {
        self.seen != 0
    }
}
