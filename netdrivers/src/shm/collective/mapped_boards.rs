//! Boards in a segment. Only `collective` uses them.

use alloc::boxed::Box;
use core::mem::{offset_of, size_of};
use core::ptr::NonNull;
use static_assertions::{const_assert, const_assert_eq};

use super::board::BoardMemory;
use super::layout::{self, BOARD_CELLS, BoardSlot, BoardSlots, LINE, MAX_PAYLOAD, PAGE, SLOTS};
use super::passed_blocks::{AHEAD, MOST_RANKS};
use super::segment::Segment;
use super::sync::AtomicU64;

/// The address of one rank's board.
struct BoardAddress {
    lines: NonNull<u8>,
    behind: NonNull<u8>,
}

const_assert_eq!(AHEAD, layout::LONGEST_AHEAD);
const_assert!(MAX_PAYLOAD / (MOST_RANKS - 1) / LINE * LINE > layout::INLINE);

/// The boards of a group.
pub(super) struct MappedBoards {
    boards: Box<[BoardAddress]>,
    bytes: usize,
    /// The bytes of a cell.
    cell: usize,
}

// SAFETY: these are addresses of memory that all processes share; the contract of `BoardMemory` governs the accesses.
unsafe impl Send for MappedBoards {}

impl MappedBoards {
    /// Creates the boards of these ranks of the segment in a region.
    ///
    /// # Safety
    /// The result must not outlive the segment.
    pub(super) unsafe fn new(
        segment: &Segment,
        region: usize,
        ranks: impl Iterator<Item = usize>,
    ) -> Self {
        let site = |rank| {
            let [lines, behind] = segment.board(region, rank);
            BoardAddress { lines, behind }
        };
        let boards: Box<[_]> = ranks.map(site).collect();
        let others = boards.len().saturating_sub(1).max(1);
        Self {
            boards,
            bytes: segment.board_bytes(),
            cell: MAX_PAYLOAD / others / LINE * LINE,
        }
    }

    /// Returns the words of a slot.
    #[inline]
    fn slot(&self, rank: usize, slot: u64) -> NonNull<[AtomicU64; 3]> {
        let slot = slot as usize % SLOTS;
        let offset = offset_of!(BoardSlots, slots) + slot * size_of::<BoardSlot>();
        // SAFETY: the slot lies inside the board.
        unsafe { self.boards[rank].lines.add(offset) }.cast()
    }

    /// Returns the words that short operations do not touch: those of `left` and `spent`.
    fn rare_words(&self, rank: usize) -> &[AtomicU64; 2] {
        // SAFETY: the words lie inside the board, aligned by their type; they are atomics, for which every value is valid.
        unsafe {
            self.boards[rank]
                .lines
                .add(offset_of!(BoardSlots, rare))
                .cast()
                .as_ref()
        }
    }

    /// Returns the address of a payload of `len` bytes.
    #[inline]
    fn payload(&self, rank: usize, (slot, at): (u64, usize), len: usize) -> NonNull<u8> {
        if len <= Self::INLINE {
            // SAFETY: a short payload ends with its slot at the latest.
            return unsafe { self.slot(rank, slot).add(1) }.cast();
        }
        assert!(len <= MAX_PAYLOAD);
        let end = self.bytes + BOARD_CELLS;
        // SAFETY: whatever the slot says, the payload lies inside the board, which is longer than the longest one.
        unsafe { self.boards[rank].behind.add(at.min(end - len)) }
    }
}

impl BoardMemory for MappedBoards {
    const SLOTS: u64 = SLOTS as u64;
    const INLINE: usize = layout::INLINE;
    const PAGE: usize = PAGE;
    const MAX_PAYLOAD: usize = MAX_PAYLOAD;

    #[inline]
    fn ranks(&self) -> usize {
        self.boards.len()
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    fn cell(&self) -> usize {
        self.cell
    }

    #[inline]
    fn slot_words(&self, rank: usize, slot: u64) -> &[AtomicU64; 3] {
        // SAFETY: the words are inside the segment, aligned by the layout; they are atomics, for which every value is
        // valid. Payloads lie behind them.
        unsafe { self.slot(rank, slot).as_ref() }
    }

    #[inline]
    fn released(&self, rank: usize) -> &AtomicU64 {
        const { assert!(offset_of!(BoardSlots, released) == 0) };
        // SAFETY: as above; the word is the board's first.
        unsafe { self.boards[rank].lines.cast().as_ref() }
    }

    fn left(&self, rank: usize) -> &AtomicU64 {
        let [left, _] = self.rare_words(rank);
        left
    }

    fn spent(&self, rank: usize) -> &AtomicU64 {
        let [_, spent] = self.rare_words(rank);
        spent
    }

    #[inline]
    unsafe fn fill<R>(
        &self,
        rank: usize,
        place: (u64, usize),
        len: usize,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> R {
        let payload = self.payload(rank, place, len).as_ptr();
        // SAFETY: the bytes lie inside the segment and are initialised, as its file starts with zeros; the caller
        // guarantees that nobody else uses them.
        f(unsafe { core::slice::from_raw_parts_mut(payload, len) })
    }

    #[inline]
    unsafe fn read<R>(
        &self,
        rank: usize,
        place: (u64, usize),
        len: usize,
        f: impl FnOnce(&[u8]) -> R,
    ) -> R {
        let payload = self.payload(rank, place, len).as_ptr();
        // SAFETY: as in `fill`; the caller guarantees that nobody writes them.
        f(unsafe { core::slice::from_raw_parts(payload, len) })
    }
}
