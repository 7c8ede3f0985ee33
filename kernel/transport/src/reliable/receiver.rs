//! One direction from one peer: what was handed on, and what came too early. `reliable` only.

use super::sender::widen;
use super::windows::{Frame, Windows, place};
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
    kept: S::Slice<Early<Frame<Z, S>>, Z::Frames>,
}

struct Early<B> {
    bytes: B,
    len: usize,
}

/// What a frame with payload is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// The one that was waited for.
    Next,
    /// Too early, and kept.
    Kept,
    /// Had arrived before.
    Again,
    /// Outside the window, or memory ran out.
    Beyond,
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
            kept: S::Slice::new(),
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
    pub(super) fn mentioned(&mut self) {
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
    ) -> Place {
        if stamp.wrapping_sub(self.echo) < 1 << 31 {
            self.echo = stamp;
        }
        let ahead = number.wrapping_sub(self.expected);
        if ahead == 0 {
            return Place::Next;
        }
        if ahead >= 1 << 31 {
            return Place::Again;
        }
        if ahead >= self.frames {
            return Place::Beyond;
        }
        if self.seen & (1 << (ahead - 1)) != 0 {
            return Place::Again;
        }
        match self.keep(place(number, self.frames), frame, offset, len) {
            true => {
                self.seen |= 1 << (ahead - 1);
                Place::Kept
            }
            false => Place::Beyond,
        }
    }

    fn keep<A: Arrival>(&mut self, place: usize, frame: &A, offset: usize, len: usize) -> bool {
        while self.kept.as_ref().len() <= place {
            let bytes = Frame::<Z, S>::new();
            let early = Early { bytes, len: 0 };
            if self.kept.push(early).is_err() {
                return false;
            }
        }
        let early = &mut self.kept.as_mut()[place];
        // No longer than a frame can be.
        if !widen(&mut early.bytes, len) {
            return false;
        }
        let Some(into) = early.bytes.as_mut().get_mut(..len) else {
            return false;
        };
        let mut at = 0;
        frame.pieces(offset, len, |piece| {
            into[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        });
        early.len = len;
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
    pub(super) fn early(&self) -> &[u8] {
        let early = &self.kept.as_ref()[place(self.expected, self.frames)];
        &early.bytes.as_ref()[..early.len]
    }

    /// The peer will be told by then.
    pub(super) fn owe(&mut self, by: u64) {
        self.due = self.due.min(by);
    }

    /// The peer will be told at once, of gaps too.
    pub(super) fn owe_all(&mut self) {
        (self.due, self.full) = (0, true);
    }

    /// Frames have come too early.
    pub(super) fn has_gaps(&self) -> bool {
        self.seen != 0
    }
}
