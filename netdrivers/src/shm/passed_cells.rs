//! Cells that change hands: ranks that answer each other write a long frame where they have read one. Only `Connection`
//! and the sides of `long_frames` use it.
//!
//! A processor that reads a line which another one has just written owns it from then on, so it writes there without
//! asking anybody. Any other cell is one that its reader had last, and every store fetches or takes a line from there.
//! So a rank *gives* as many cells of its own as it has received long frames: the reader has such a cell once it has read
//! the frame, and its next long frame to the giver goes *back* in the cell that it was given last. What is not answered
//! is returned by a bit of the cell, the oldest first, one for each frame that is only lent.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | cells that a rank has given to another | half of those for unread frames to it | further ones are lent |
//! | cells that can be given | [`GIVEN_CELLS`], as they have bits | the others are lent |
//!
//! A rank keeps count of what it has given, so what the memory contains makes it neither lose cells nor use one twice.

use alloc::vec::Vec;

use super::layout::GIVEN_CELLS;
#[cfg(test)]
use super::long_frames::FreeCells;
use super::sync::{AtomicU64, Ordering};
use crate::tuning::LONG_FRAME;

/// Who has the cell of a frame once the frame is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hands {
    /// The sender, whose cell it is: the reader counts the frame as read.
    Lent,
    /// The reader, until its own frame or bit returns it.
    Given,
    /// The reader, whose own cell it is.
    Back,
}

/// The cells that have changed hands between this rank and a peer.
#[derive(Default)]
pub(super) struct PassedCells {
    /// The cells of this rank that the peer has.
    given: Vec<u16>,
    /// The cells of this rank that came back with frames, the last one last.
    back: Vec<u16>,
    /// The peer's cells that this rank has, the one of the last frame last.
    kept: Vec<u16>,
    /// Number of frames received for which no cell was given yet.
    owed: usize,
}

impl PassedCells {
    /// Returns the cell in which the next frame of `len` bytes lies because this processor owns its lines, if there is one.
    #[inline]
    pub(super) fn owned(&self, len: usize, most: usize) -> Option<(u16, Hands)> {
        if len < LONG_FRAME {
            return None;
        }
        let kept = self.kept.last().map(|cell| (*cell, Hands::Back));
        let back = || self.back.last().filter(|_| self.has_to_give(most));
        kept.or_else(|| back().map(|cell| (*cell, Hands::Given)))
    }

    /// Returns whether the next frame of `len` bytes, in that free cell, takes the cell with it.
    #[inline]
    pub(super) fn gives(&self, cell: u16, len: usize, most: usize) -> bool {
        len >= LONG_FRAME && usize::from(cell) < GIVEN_CELLS && self.has_to_give(most)
    }

    fn has_to_give(&self, most: usize) -> bool {
        self.owed > 0 && self.given.len() < most / 2
    }

    /// Notes that a frame has left in a cell that changes hands. Returns whether the cell was a free one.
    #[inline]
    pub(super) fn sent(&mut self, cell: u16, hands: Hands) -> bool {
        if hands == Hands::Back {
            self.kept.pop();
            return false;
        }
        self.given.push(cell);
        self.owed -= 1;
        self.back.pop_if(|last| *last == cell).is_none()
    }

    /// Returns whether the peer has that cell of this rank, and so may have written a frame there.
    #[inline]
    pub(super) fn has_given(&self, cell: u16) -> bool {
        self.place_of(cell).is_some()
    }

    /// The peer answers in the cell given last.
    fn place_of(&self, cell: u16) -> Option<usize> {
        self.given.iter().rposition(|given| *given == cell)
    }

    /// Notes that a frame of `len` bytes was read. What is kept for answers is returned one by one if frames are only lent.
    #[inline]
    pub(super) fn received(&mut self, cell: u16, hands: Hands, len: usize, returned: &Returned) {
        match hands {
            Hands::Lent if len < LONG_FRAME => return,
            Hands::Lent if self.kept.is_empty() => {}
            Hands::Lent => returned.put(self.kept.remove(0)),
            Hands::Given if self.kept.len() < GIVEN_CELLS => self.kept.push(cell),
            Hands::Given => {}
            Hands::Back => {
                let place = self.place_of(cell);
                self.back
                    .extend(place.map(|place| self.given.remove(place)));
            }
        }
        self.owed = (self.owed + 1).min(GIVEN_CELLS);
    }

    /// Returns whether cells of this rank are in hands, or have come back.
    pub(super) fn has_own(&self) -> bool {
        !self.given.is_empty() || !self.back.is_empty()
    }

    /// Passes a cell that has come back, if there is one, to `free`: it is not given again.
    pub(super) fn put_back(&mut self, free: &mut impl Extend<u16>) {
        free.extend(self.back.pop());
    }

    /// Passes the cells whose bits the peer has set to `free`.
    pub(super) fn collect(&mut self, returned: &Returned, free: &mut impl Extend<u16>) {
        if self.given.is_empty() {
            return;
        }
        let bits = returned.take();
        let is_set = |cell: u16| bits[usize::from(cell) / 64] >> (cell % 64) & 1 != 0;
        free.extend(self.given.extract_if(.., |cell| is_set(*cell)));
    }

    /// Passes all cells of this rank to `free`: the peer has gone, and all its frames are read.
    pub(super) fn collect_all(&mut self, free: &mut impl Extend<u16>) {
        free.extend(self.given.drain(..).chain(self.back.drain(..)));
    }
}

#[cfg(test)]
impl PassedCells {
    pub(super) fn given(&self) -> &[u16] {
        &self.given
    }

    pub(super) fn kept(&self) -> &[u16] {
        &self.kept
    }

    /// Returns the cells of this rank, all of whose frames are read, wherever they are.
    pub(super) fn own(&self, free: &FreeCells) -> Vec<u16> {
        let own = self.given.iter().chain(&self.back).copied();
        own.chain(free.all()).collect()
    }
}

/// A bit for each cell that its reader has returned without a frame. The reader sets them, the owner clears them.
#[repr(C)]
#[derive(Default)]
pub(super) struct Returned([AtomicU64; GIVEN_CELLS / 64]);

impl Returned {
    fn put(&self, cell: u16) {
        if let Some(word) = self.0.get(usize::from(cell) / 64) {
            word.fetch_or(1 << (cell % 64), Ordering::Release);
        }
    }

    fn take(&self) -> [u64; GIVEN_CELLS / 64] {
        self.0
            .each_ref()
            .map(|word| match word.load(Ordering::Relaxed) {
                0 => 0,
                _ => word.swap(0, Ordering::Acquire),
            })
    }
}
