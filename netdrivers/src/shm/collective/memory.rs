//! Boards in a segment. Used by `collective` only.

use alloc::boxed::Box;
use core::mem::{offset_of, size_of};
use core::ptr::NonNull;

use super::board::Places;
use super::layout::{self, CHUNK, CHUNKS, Lines, PLACES, Place};
use super::segment::Segment;
use super::sync::AtomicU64;

/// Where one rank's board lies.
struct Site {
    lines: NonNull<u8>,
    chunks: NonNull<u8>,
}

/// The boards of a group.
pub(super) struct Memory(Box<[Site]>);

// SAFETY: these are addresses of memory that all processes share; what may be done there is the matter of `Places`.
unsafe impl Send for Memory {}

impl Memory {
    /// The boards of these ranks of the segment in an area.
    ///
    /// # Safety
    /// It must not outlive the segment.
    pub(super) unsafe fn new(
        segment: &Segment,
        area: usize,
        ranks: impl Iterator<Item = usize>,
    ) -> Self {
        let site = |rank| {
            let [lines, chunks] = segment.board(area, rank);
            Site { lines, chunks }
        };
        Self(ranks.map(site).collect())
    }

    /// The words of a place.
    #[inline]
    fn place(&self, rank: usize, place: u64) -> NonNull<[AtomicU64; 2]> {
        let place = place as usize % PLACES;
        let offset = offset_of!(Lines, places) + place * size_of::<Place>();
        // SAFETY: the place lies inside the board.
        unsafe { self.0[rank].lines.add(offset) }.cast()
    }

    /// Where a text of so many bytes lies.
    #[inline]
    fn text(&self, rank: usize, place: u64, len: usize) -> NonNull<u8> {
        if len <= Self::SHORT {
            // SAFETY: a short text ends with its place at the latest.
            return unsafe { self.place(rank, place).add(1) }.cast();
        }
        assert!(len <= CHUNK);
        let chunk = place as usize % CHUNKS;
        // SAFETY: the chunk lies inside the board's.
        unsafe { self.0[rank].chunks.add(chunk * CHUNK) }
    }
}

impl Places for Memory {
    const PLACES: u64 = PLACES as u64;
    const CHUNKS: u64 = CHUNKS as u64;
    const SHORT: usize = layout::SHORT;
    const LONG: usize = CHUNK;

    #[inline]
    fn ranks(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn head(&self, rank: usize, place: u64) -> &[AtomicU64; 2] {
        // SAFETY: inside the segment, aligned by the layout; atomics, for which every value is valid. Texts lie
        // behind them.
        unsafe { self.place(rank, place).as_ref() }
    }

    #[inline]
    fn passed(&self, rank: usize) -> &AtomicU64 {
        const { assert!(offset_of!(Lines, passed) == 0) };
        // SAFETY: as above; it is the board's first word.
        unsafe { self.0[rank].lines.cast().as_ref() }
    }

    #[inline]
    unsafe fn fill<R>(
        &self,
        rank: usize,
        place: u64,
        len: usize,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> R {
        let text = self.text(rank, place, len).as_ptr();
        // SAFETY: the bytes lie inside the segment and are initialised, as its file starts with zeros; the caller sees
        // to it that nobody else uses them.
        f(unsafe { core::slice::from_raw_parts_mut(text, len) })
    }

    #[inline]
    unsafe fn read<R>(&self, rank: usize, place: u64, len: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        let text = self.text(rank, place, len).as_ptr();
        // SAFETY: as in `fill`; the caller sees to it that nobody writes them.
        f(unsafe { core::slice::from_raw_parts(text, len) })
    }
}
