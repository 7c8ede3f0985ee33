//! Copies of small messages: message n is in slot n modulo the capacity. Only `multicast` uses it.

use super::GroupSizes;
use pombo_kernel::aspect::{Capacity, Cell, Slice, Storage};

pub(super) struct MessageRing<Z: GroupSizes, S: Storage> {
    cells: S::Slice<S::Cell<Z::Small>, Z::Kept>,
}

impl<Z: GroupSizes, S: Storage> MessageRing<Z, S> {
    /// Number of slots.
    pub(super) const PLACES: u32 = Z::Kept::N as u32;

    pub(super) fn new() -> Self {
        MessageRing {
            cells: S::Slice::new(),
        }
    }

    /// Stores a message chunk by chunk; returns false and leaves the slot empty if there is no memory.
    pub(super) fn put(&mut self, number: u32, fill: impl FnOnce(&mut dyn FnMut(&[u8]))) -> bool {
        let place = (number % Self::PLACES) as usize;
        while self.cells.as_ref().len() <= place {
            if self.cells.push(S::Cell::empty()).is_err() {
                return false;
            }
        }
        let (mut cell, mut fits) = (S::Cell::<Z::Small>::empty(), true);
        fill(&mut |piece| fits &= cell.append(piece));
        if fits {
            self.cells.as_mut()[place] = cell;
        }
        fits
    }

    /// Returns a stored message.
    pub(super) fn get(&self, number: u32) -> &[u8] {
        let place = (number % Self::PLACES) as usize;
        self.cells.as_ref()[place].bytes()
    }

    /// Frees a message.
    pub(super) fn forget(&mut self, number: u32) {
        let place = (number % Self::PLACES) as usize;
        self.cells.as_mut()[place] = S::Cell::empty();
    }
}
