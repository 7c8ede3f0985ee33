//! One direction from one peer: what was handed on, and what came too early. `reliable` only.

use super::capacities::{Frame, Windows, slot_of};
use super::sender::grow;
use pombo_kernel::aspect::{Slice, Storage};
use pombo_kernel::channel::Arrival;

/// Everything before `expected` was handed on; bit i of `seen` is number `expected` + 1 + i, kept at its place.
pub(super) struct Receiver<Z: Windows, S: Storage> {
    expected: u32,
    /// Places: a power of two.
    frames: u32,
    seen: u64,
    /// The highest stamp heard.
    echo: u32,
    /// When the peer must be told; `u64::MAX`: it knows all.
    due: u64,
    /// A number on some frame of ours does not tell it enough.
    full: bool,
    slots: S::Slice<OutOfOrder<Frame<Z, S>>, Z::Frames>,
}

struct OutOfOrder<B> {
    bytes: B,
    len: usize,
}

/// What a frame with payload is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ArrivalOrder {
    /// The one that was waited for.
    Next,
    /// Too early, and kept.
    Buffered,
    /// Had arrived before.
    Duplicate,
    /// Outside the window, or memory ran out.
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

    /// How many frames from the expected one on it has places for.
    pub(super) fn credit(&self) -> u16 {
        self.frames as u16
    }

    pub(super) fn echo(&self) -> u32 {
        self.echo
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// When a report has to go out.
    pub(super) fn deadline(&self) -> u64 {
        self.due
    }

    /// A report has left.
    pub(super) fn reported(&mut self) {
        (self.due, self.full) = (u64::MAX, false);
    }

    /// A frame with payload has left: it said what is expected.
    pub(super) fn acked_by_data(&mut self) {
        if !self.full {
            self.due = u64::MAX;
        }
    }

    /// Sorts a frame in. Its payload stands from `offset`.
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
        // No longer than a frame can be.
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

    /// The expected frame was handed on. Returns whether the next one lies here already.
    pub(super) fn advance(&mut self) -> bool {
        let here = self.seen & 1 != 0;
        self.seen >>= 1;
        self.expected = self.expected.wrapping_add(1);
        here
    }

    /// The expected frame, if [`Receiver::advance`] said that it is here.
    pub(super) fn out_of_order(&self) -> &[u8] {
        let out_of_order = &self.slots.as_ref()[slot_of(self.expected, self.frames)];
        &out_of_order.bytes.as_ref()[..out_of_order.len]
    }

    /// The peer will be told by then.
    pub(super) fn report_by(&mut self, by: u64) {
        self.due = self.due.min(by);
    }

    /// The peer will be told at once, of gaps too.
    pub(super) fn report_now(&mut self) {
        (self.due, self.full) = (0, true);
    }

    /// Frames have come too early.
    pub(super) fn has_gaps(&self) -> bool {
        self.seen != 0
    }
}
