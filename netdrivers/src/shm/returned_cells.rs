//! The cells that their reader has returned without a frame, in the line of the consumer's cursor. `passed_cells` uses it.

use super::sync::{AtomicU64, Ordering};

/// Number of cells of a rank that can be given to others: what fits into that line.
pub(super) const GIVEN_CELLS: usize = 192;
/// A bit for each of these cells.
pub(super) type Bits = [u64; GIVEN_CELLS / 64];
pub(super) const ALL: Bits = [u64::MAX; GIVEN_CELLS / 64];

/// The bits of returned cells. The reader sets them, the owner of the cells clears them.
#[repr(C)]
#[derive(Default)]
pub(super) struct Returned([AtomicU64; GIVEN_CELLS / 64]);

impl Returned {
    pub(super) fn put(&self, cell: u16) {
        if let Some(word) = self.0.get(usize::from(cell) / 64) {
            word.fetch_or(1 << (cell % 64), Ordering::Release);
        }
    }

    pub(super) fn take(&self) -> Bits {
        let take = |word: &AtomicU64| match word.load(Ordering::Relaxed) {
            0 => 0,
            _ => word.swap(0, Ordering::Acquire),
        };
        self.0.each_ref().map(take)
    }
}
