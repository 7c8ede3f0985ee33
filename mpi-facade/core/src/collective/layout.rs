//! The layout of the blocks of an operation's buffers.

use crate::user_buffer::{Region, Shape};
use alloc::boxed::Box;
use alloc::vec::Vec;
use pombo_collective::{Buffer, Piece, Segments};

/// The layout of one buffer of an operation.
pub(super) enum Layout {
    /// The blocks are contiguous.
    Contiguous(Region, Cut),
    /// The blocks are at arbitrary addresses.
    Apart(Vec<Region>),
}

/// How contiguous memory is cut into blocks.
#[derive(Clone)]
pub(super) enum Cut {
    /// The memory is cut into this many blocks of nearly equal size.
    Evenly(usize),
    /// Each block ends at this item.
    At(Box<[usize]>),
}

impl Layout {
    /// Returns the layout of an empty buffer.
    pub(super) fn nothing() -> Self {
        Layout::Contiguous(Region::nothing(), Cut::Evenly(1))
    }

    /// Cuts the same memory into other blocks if it is contiguous.
    pub(super) fn cut(self, cut: Cut) -> Self {
        match self {
            Layout::Contiguous(region, _) => Layout::Contiguous(region, cut),
            apart => apart,
        }
    }

    /// Cuts the same memory into `blocks` nearly equal blocks.
    pub(super) fn evenly(self, blocks: usize) -> Self {
        self.cut(Cut::Evenly(blocks))
    }

    /// Returns the number of items of all blocks.
    pub(super) fn items(&self) -> usize {
        match self {
            Layout::Contiguous(region, _) => region.items(),
            Layout::Apart(regions) => regions.iter().map(Region::items).sum(),
        }
    }

    /// Returns the bytes of data of all blocks.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Layout::Contiguous(region, _) => pombo_kernel::Source::len(region),
            Layout::Apart(regions) => regions.iter().map(pombo_kernel::Source::len).sum(),
        }
    }

    /// Returns the shape of an item in contiguous memory.
    pub(super) fn shape(&self) -> Shape {
        match self {
            Layout::Contiguous(region, _) => region.shape(),
            Layout::Apart(_) => Shape::BYTE,
        }
    }

    /// Cuts other memory into the same blocks, if this memory is contiguous.
    pub(super) fn at(&self, region: Region) -> Layout {
        match self {
            Layout::Contiguous(_, cut) => Layout::Contiguous(region, cut.clone()),
            Layout::Apart(regions) => Layout::Apart(regions.clone()),
        }
    }

    /// Returns whether several blocks need several messages.
    pub(super) fn is_apart(&self) -> bool {
        matches!(self, Layout::Apart(_))
    }

    /// Returns the region of a piece; of blocks that are not contiguous, only that of the first.
    pub(super) fn region(&self, piece: Piece) -> Region {
        let (first, behind) = (piece.first, piece.first + piece.blocks);
        match self {
            _ if piece.blocks == 0 => Region::nothing(),
            Layout::Apart(regions) => regions.get(first).copied().unwrap_or(Region::nothing()),
            Layout::Contiguous(region, Cut::Evenly(blocks)) => {
                let segments = Segments::into_blocks(region.items(), *blocks);
                region.part(segments.start(first)..segments.start(behind))
            }
            Layout::Contiguous(region, Cut::At(ends)) => {
                region.part(end_of(ends, first)..end_of(ends, behind))
            }
        }
    }

    /// Returns the layout of block `index` alone.
    pub(super) fn block(&self, index: usize) -> Layout {
        Layout::Apart(alloc::vec![self.region(Buffer::Input.block(index))])
    }
}

/// Returns the item at which the first `blocks` blocks end.
fn end_of(ends: &[usize], blocks: usize) -> usize {
    match blocks.checked_sub(1) {
        None => 0,
        Some(last) => ends.get(last).or(ends.last()).copied().unwrap_or(0),
    }
}
