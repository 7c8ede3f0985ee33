//! Cells of boards that change hands: two ranks that publish a block for each other write it where they have read one. Only
//! `board` uses it.
//!
//! A processor that reads a line which another one has just written owns it from then on: see `passed_cells`. So two ranks
//! have [`AHEAD`] cells on the board of each. For a round a rank takes the lowest number of which it holds a cell with every
//! other rank: it writes these, reads the others' blocks, and holds the cells that it has read when it has released the round.
//! So few cells are used where few rounds are under way, and they stay in the caches. Nobody waits for room in a cell, as whoever
//! writes it is the one who read it last.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | ranks of a group | [`MOST_RANKS`], as each has a bit | blocks lie in payloads for all, as those of other operations |
//! | rounds under way | [`AHEAD`] | as above |
//! | cells of a round that not all ranks have published for and read, as they run another operation or leave it early | the group does not use them again, nor those that its ranks take for one round when they disagree on the lowest ones | as above, when none are left |
//!
//! A later group in a region begins anew: all members of the earlier ones have left these.

/// Number of rounds of which blocks can be unread.
pub(super) const AHEAD: usize = 8;
/// Most ranks of a group that has cells.
pub(super) const MOST_RANKS: usize = u64::BITS as usize;

/// The boards on which the cells lie that a rank writes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// Its own, as at first.
    Own,
    /// Those of its readers.
    Readers,
}

/// A cell for each other rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cells {
    /// This rank alone uses those of that side.
    Held(Side),
    /// It has published blocks there for the round, and read those of the ranks whose bits are set.
    Published { side: Side, round: u64, read: u64 },
    /// Some have another holder than the others.
    Lost,
}

/// The cells that a rank shares with the others of its group.
pub(super) struct PassedBlocks {
    cells: [Cells; AHEAD],
    /// Number of rounds for which blocks were published and that are not over.
    open: u32,
    /// The bits of all ranks but this one.
    others: u64,
}

impl PassedBlocks {
    /// Creates the state of rank `me` of so many, which uses cells if it is to.
    pub(super) fn new(me: usize, ranks: usize, is_to: bool) -> Self {
        let has_cells = is_to && (2..=MOST_RANKS).contains(&ranks);
        let others = match has_cells {
            true => (u64::MAX >> (MOST_RANKS - ranks)) & !(1 << me),
            false => 0,
        };
        let first = match has_cells {
            true => Cells::Held(Side::Own),
            false => Cells::Lost,
        };
        Self {
            cells: [first; AHEAD],
            open: 0,
            others,
        }
    }

    /// Returns where this rank writes its next blocks, if it may: the number of the cells, and their side.
    #[inline]
    pub(super) fn free(&self) -> Option<(usize, Side)> {
        let mut cells = self.cells.iter().enumerate();
        cells.find_map(|(number, cells)| match cells {
            Cells::Held(side) => Some((number, *side)),
            Cells::Published { .. } | Cells::Lost => None,
        })
    }

    /// Notes that this rank has published its blocks for that round in the free cells: they are its readers'.
    pub(super) fn published(&mut self, round: u64) {
        if let Some((number, side)) = self.free() {
            let read = 0;
            self.cells[number] = Cells::Published { side, round, read };
            self.open += 1;
        }
    }

    /// Notes that this rank reads the block of that one for that round, which has written it in that cell on that side of its
    /// own: the cell is this rank's when the round is over.
    #[inline]
    pub(super) fn reads(&mut self, from: usize, (number, at): (usize, Side), of: u64) {
        let Some(cells) = self.cells.get_mut(number) else {
            return;
        };
        match cells {
            Cells::Published { side, round, read } if (*side, *round) == (at, of) => {
                *read |= 1 << (from % MOST_RANKS);
            }
            // That rank has lost cells which this one still holds. Without these both take the same ones again.
            Cells::Held(_) => *cells = Cells::Lost,
            Cells::Published { .. } | Cells::Lost => {}
        }
    }

    /// Notes that this rank reads nothing more of all rounds below that one.
    #[inline]
    pub(super) fn released(&mut self, below: u64) {
        if self.open > 0 {
            self.take(below);
        }
    }

    /// Takes the cells of the blocks that were read.
    fn take(&mut self, below: u64) {
        for cells in &mut self.cells {
            let Cells::Published { side, round, read } = *cells else {
                continue;
            };
            if round < below {
                self.open -= 1;
                *cells = match (read == self.others, side) {
                    (true, Side::Own) => Cells::Held(Side::Readers),
                    (true, Side::Readers) => Cells::Held(Side::Own),
                    (false, _) => Cells::Lost,
                };
            }
        }
    }
}
