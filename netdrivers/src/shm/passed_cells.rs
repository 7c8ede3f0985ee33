//! Cells that change hands: ranks that answer each other write a long frame where they have read one. Only `Connection`
//! and the two sides of `long_frames` use it.
//!
//! A processor that reads a line which another one has just written owns it from then on, so it writes there without asking
//! anybody. Any other cell is one that its reader had last: a store fetches its line from there, or takes it away. So a rank
//! *gives* as many cells of its own as it has received long frames. The receiver has such a cell once it has read the frame,
//! and its next long frame to the giver goes *back* in the cell that it was given last. If frames come that are only lent,
//! each returns a cell by a bit.
//!
//! Where both give at once, and more than their caches hold, lines are written long after they were read, and owned by
//! nobody any more: then frames are lent for a while. So they are where cells come back by bits, unused: the peer lends. Who
//! gives again first has the other one do so too.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | cells given to a rank | half of those that may hold unread frames to it | further frames are lent |
//! | cells given to all ranks, and not back again | those that leave half of a rank's cells free; who has got some and no longer communicates keeps them | as above |
//! | cells that can be given | [`GIVEN_CELLS`], as they have a bit each | the others are lent |
//!
//! A rank knows what it has given, so whatever the memory contains, it neither loses cells nor uses one twice.

use alloc::vec::Vec;

#[cfg(test)]
use super::long_frames::FreeCells;
use super::long_frames::Place;
use super::returned_cells::{ALL, Bits, GIVEN_CELLS, Returned};
use crate::tuning::{FRAMES_PER_LOOK, LENT_FRAMES, LONG_FRAME, MOST_LENT_FRAMES};

/// Number of long frames that are under way before a rank that lends is known to lend, with those that tell it.
const FRAMES_UNTIL_HEARD: u32 = 2 * GIVEN_CELLS as u32;

/// Number of caches full of answers that make giving cells worth another early try.
const ANSWERS: usize = 4;

/// Who has the cell of a frame once the frame is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hands {
    /// The sender, whose cell it is: the reader counts the frame as read.
    Lent,
    /// The reader, until a frame or a bit of its own returns it.
    Given,
    /// The reader, whose own cell it is.
    Back,
}

/// The cells that have changed hands between this rank and a peer.
#[derive(Default)]
pub(super) struct PassedCells {
    /// The cells of this rank that the peer has.
    given: CellSet,
    /// The cells of this rank that came back with frames, the last one last.
    back: Vec<u16>,
    /// The peer's cells that this rank has, that of the last frame last.
    kept: Vec<u16>,
    /// Number of long frames received for which no cell was given yet.
    owed: usize,
    /// Number of given cells whose frames fill a cache.
    much: usize,
    /// Number of cells that came back by a bit, less those that came back with a frame.
    unused: usize,
    /// Number of long frames to be received before cells are given again, and what it was at first.
    lent: u32,
    lend_for: u32,
    /// Number of frames in cells that came back since then.
    answers: usize,
    /// Number of frames sent in cells that changed hands, since the last look that tells the distance.
    unlooked: u32,
}

impl PassedCells {
    /// Returns the cell in which the next frame of `len` bytes lies because this processor owns its lines, if there is one. Up to
    /// `most` cells are given.
    #[inline]
    pub(super) fn owned(&self, len: usize, most: usize) -> Option<(u16, Hands)> {
        if len < LONG_FRAME {
            return None;
        }
        let kept = self.kept.last().map(|cell| (*cell, Hands::Back));
        let back = || self.back.last().filter(|_| self.has_to_give(most));
        kept.or_else(|| back().map(|cell| (*cell, Hands::Given)))
    }

    /// Returns whether the next frame of `len` bytes, in that free cell, takes the cell along.
    #[inline]
    pub(super) fn gives(&self, cell: u16, len: usize, most: usize) -> bool {
        len >= LONG_FRAME && usize::from(cell) < GIVEN_CELLS && self.has_to_give(most)
    }

    fn has_to_give(&self, most: usize) -> bool {
        self.owed > 0 && self.lent == 0 && self.given.len() < most
    }

    /// Notes that a frame has left in a cell that changes hands, where a cache holds so many bytes. Returns whether the cell was
    /// a free one.
    #[inline]
    pub(super) fn sent(&mut self, place: &Place, cache: usize) -> bool {
        let Place {
            cell, hands, len, ..
        } = *place;
        self.unlooked = self.unlooked.saturating_add(1);
        if hands == Hands::Back {
            self.kept.pop();
            return false;
        }
        self.given.insert(cell);
        self.much = (cache / len.max(1)).max(1);
        self.owed = self.owed.saturating_sub(1);
        self.back.pop_if(|last| *last == cell).is_none()
    }

    /// Returns whether the peer may have returned cells that are awaited: all, or where it has many.
    #[inline]
    pub(super) fn awaits_cells(&self) -> bool {
        self.has_given_much() || self.lent > 0 && self.given.len() > 0
    }

    fn has_given_much(&self) -> bool {
        self.given.len() >= self.much.max(1)
    }

    /// Returns whether it is time for a look that tells the distance, once: only frames that are lent tell it otherwise.
    #[inline]
    pub(super) fn is_look_due(&mut self) -> bool {
        let is_due = self.unlooked >= FRAMES_PER_LOOK;
        if is_due {
            self.unlooked = 0;
        }
        is_due
    }

    /// Returns whether the peer has that cell of this rank, and so may have written a frame there.
    #[inline]
    pub(super) fn has_given(&self, cell: u16) -> bool {
        self.given.contains(cell)
    }

    /// Notes that a frame was read.
    #[inline]
    pub(super) fn received(&mut self, place: &Place, returned: &Returned) {
        let Place {
            cell, hands, len, ..
        } = *place;
        self.lent = self.lent.saturating_sub(1);
        match hands {
            Hands::Lent if len < LONG_FRAME => return,
            Hands::Lent => self.kept.pop().into_iter().for_each(|it| returned.put(it)),
            Hands::Given => {
                if self.has_given_much() {
                    self.lend();
                } else if self.lend_for - self.lent >= FRAMES_UNTIL_HEARD {
                    self.lent = 0;
                }
                match self.lent == 0 && self.kept.len() < GIVEN_CELLS {
                    true => self.kept.push(cell),
                    false => returned.put(cell),
                }
            }
            Hands::Back => {
                self.given.remove(cell);
                self.back.push(cell);
                self.unused = self.unused.saturating_sub(1);
                self.answers += 1;
            }
        }
        self.owed = (self.owed + 1).min(GIVEN_CELLS);
    }

    /// Lends frames for a while, and for longer each time unless cells have come back with frames for long.
    fn lend(&mut self) {
        let is_new = self.answers > ANSWERS * self.much;
        let longer = (2 * self.lend_for).clamp(LENT_FRAMES, MOST_LENT_FRAMES);
        self.lend_for = if is_new { LENT_FRAMES } else { longer };
        self.lent = self.lend_for;
        self.unused = 0;
        self.answers = 0;
    }

    /// Returns whether the peer has cells of this rank, or some have come back.
    pub(super) fn has_own(&self) -> bool {
        self.given.len() > 0 || !self.back.is_empty()
    }

    /// Passes a cell that has come back, if there is one, to `free`, where it waits for its turn.
    pub(super) fn put_back(&mut self, free: &mut impl Extend<u16>) {
        free.extend(self.back.pop());
    }

    /// Passes the cells whose bits the peer has set to `free`.
    pub(super) fn collect(&mut self, returned: &Returned, free: &mut impl Extend<u16>) {
        let given = self.given.len();
        if given > 0 {
            free.extend(self.given.take(returned.take()));
            self.unused += given - self.given.len();
            if self.unused >= self.much.max(1) {
                self.lend();
            }
        }
    }

    /// Passes all cells of this rank to `free`: the peer has gone, and all its frames are read.
    pub(super) fn collect_all(&mut self, free: &mut impl Extend<u16>) {
        free.extend(self.given.take(ALL));
        free.extend(self.back.drain(..));
    }
}

#[cfg(test)]
impl PassedCells {
    pub(super) fn given(&self) -> Vec<u16> {
        CellSet(self.given.0).take(ALL).collect()
    }

    pub(super) fn kept(&self) -> &[u16] {
        &self.kept
    }

    /// Returns the cells of this rank, wherever they are, of a rank with one peer that has read all frames.
    pub(super) fn own(&self, free: &FreeCells) -> Vec<u16> {
        let back = self.back.iter().copied();
        self.given()
            .into_iter()
            .chain(back)
            .chain(free.all())
            .collect()
    }
}

/// A set of cells.
#[derive(Default)]
struct CellSet(Bits);

impl CellSet {
    #[inline]
    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    #[inline]
    fn contains(&self, cell: u16) -> bool {
        let word = self.0.get(usize::from(cell) / 64);
        word.is_some_and(|word| word >> (cell % 64) & 1 != 0)
    }

    #[inline]
    fn insert(&mut self, cell: u16) {
        if let Some(word) = self.0.get_mut(usize::from(cell) / 64) {
            *word |= 1 << (cell % 64);
        }
    }

    #[inline]
    fn remove(&mut self, cell: u16) {
        if let Some(word) = self.0.get_mut(usize::from(cell) / 64) {
            *word &= !(1 << (cell % 64));
        }
    }

    /// Removes the cells of these bits, and returns those that were in the set.
    fn take(&mut self, bits: Bits) -> impl Iterator<Item = u16> + use<> {
        let mut taken = bits;
        for (word, bits) in self.0.iter_mut().zip(&mut taken) {
            *bits &= *word;
            *word &= !*bits;
        }
        let taken = CellSet(taken);
        (0..GIVEN_CELLS as u16).filter(move |cell| taken.contains(*cell))
    }
}
