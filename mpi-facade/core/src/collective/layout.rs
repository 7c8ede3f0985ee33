//! Where the blocks of an operation's buffers lie.

use crate::user_buffer::{Region, Shape};
use alloc::vec::Vec;
use core::ffi::c_void;
use core::ptr::null_mut;
use pombo_collective::{Piece, Segments};

/// One buffer of an operation. The memory stays valid until the operation is over: its user promised that, or it is
/// the operation's own.
pub(super) struct Layout {
    base: *mut c_void,
    shape: Shape,
    cut: Cut,
}

/// How it is cut into blocks.
pub(super) enum Cut {
    /// Blocks of nearly equal size, back to back.
    Evenly(Segments),
    /// Back to back; each ends at so many items.
    At(Vec<usize>),
    /// Anywhere.
    Apart(Vec<Region>),
}

impl Layout {
    /// Blocks back to back.
    pub(super) fn new(base: *mut c_void, shape: Shape, cut: Cut) -> Self {
        Layout { base, shape, cut }
    }

    /// Blocks anywhere.
    pub(super) fn apart(regions: Vec<Region>) -> Self {
        Layout::new(null_mut(), Shape::BYTE, Cut::Apart(regions))
    }

    /// No memory.
    pub(super) fn nothing() -> Self {
        Layout::new(
            null_mut(),
            Shape::BYTE,
            Cut::Evenly(Segments::into_blocks(0, 1)),
        )
    }

    /// The same memory in other blocks.
    pub(super) fn cut(self, cut: Cut) -> Self {
        Layout { cut, ..self }
    }

    /// The same memory as so many nearly equal blocks.
    pub(super) fn evenly(self, blocks: usize) -> Self {
        let items = self.items();
        self.cut(Cut::Evenly(Segments::into_blocks(items, blocks)))
    }

    /// Items of all blocks that lie back to back.
    pub(super) fn items(&self) -> usize {
        match &self.cut {
            Cut::Evenly(segments) => segments.start(segments.blocks()),
            Cut::At(ends) => ends.last().copied().unwrap_or(0),
            Cut::Apart(regions) => regions.iter().map(Region::items).sum(),
        }
    }

    /// Bytes of data of all blocks.
    pub(super) fn bytes(&self) -> usize {
        match &self.cut {
            Cut::Apart(regions) => regions.iter().map(pombo_kernel::Source::len).sum(),
            _ => self.items() * self.shape.size(),
        }
    }

    /// How one item lies in memory.
    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// The same blocks at another address.
    pub(super) fn at(&self, base: *mut c_void) -> Layout {
        let cut = match &self.cut {
            Cut::Evenly(segments) => Cut::Evenly(*segments),
            Cut::At(ends) => Cut::At(ends.clone()),
            Cut::Apart(regions) => Cut::Apart(regions.clone()),
        };
        Layout::new(base, self.shape, cut)
    }

    /// Do several blocks need several messages?
    pub(super) fn is_apart(&self) -> bool {
        matches!(self.cut, Cut::Apart(_))
    }

    /// A piece; of blocks that lie anywhere only the first.
    pub(super) fn region(&self, piece: Piece) -> Region {
        if piece.blocks == 0 {
            return Region::nothing();
        }
        let (first, end) = match &self.cut {
            Cut::Apart(regions) => {
                return regions
                    .get(piece.first)
                    .copied()
                    .unwrap_or(Region::nothing());
            }
            Cut::Evenly(segments) => (
                segments.start(piece.first),
                segments.start(piece.first + piece.blocks),
            ),
            Cut::At(ends) => (
                end_of(ends, piece.first),
                end_of(ends, piece.first + piece.blocks),
            ),
        };
        let base = self.base.wrapping_byte_add(first * self.shape.extent());
        // SAFETY: part of memory that is valid until the operation is over; see `Layout`.
        unsafe { Region::new(base, end - first, self.shape) }
    }

    /// Block `index` as the only one.
    pub(super) fn block(&self, index: usize) -> Layout {
        let block = pombo_collective::Buffer::Input.block(index);
        Layout::apart(alloc::vec![self.region(block)])
    }
}

/// Where so many blocks end.
fn end_of(ends: &[usize], blocks: usize) -> usize {
    match blocks.checked_sub(1) {
        None => 0,
        Some(last) => ends.get(last).or(ends.last()).copied().unwrap_or(0),
    }
}
