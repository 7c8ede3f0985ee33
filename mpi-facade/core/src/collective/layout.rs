//! The layout of the blocks of an operation's buffers.

use crate::datatype::Shape;
use crate::user_buffer::Region;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pombo_collective::{Buffer, Piece, Segments};

/// The layout of one buffer of an operation.
pub(super) enum Layout {
    /// The blocks are contiguous items of that shape.
    Contiguous(Region, Shape, Cut),
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
        Layout::vector(Region::nothing())
    }

    /// Returns the layout of one block.
    pub(super) fn vector(region: Region) -> Self {
        let shape = region.shape();
        Layout::Contiguous(region, shape, Cut::Evenly(1))
    }

    /// Cuts the same memory into other blocks if it is contiguous.
    pub(super) fn cut(self, cut: Cut) -> Self {
        match self {
            Layout::Contiguous(region, shape, _) => Layout::Contiguous(region, shape, cut),
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
            Layout::Contiguous(region, shape, _) => region.items(shape),
            Layout::Apart(regions) => regions.iter().map(pombo_kernel::Source::len).sum(),
        }
    }

    /// Returns the bytes of data of all blocks.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Layout::Contiguous(region, ..) => pombo_kernel::Source::len(region),
            Layout::Apart(regions) => regions.iter().map(pombo_kernel::Source::len).sum(),
        }
    }

    /// Returns the shape of an item in contiguous memory.
    pub(super) fn shape(&self) -> Shape {
        match self {
            Layout::Contiguous(_, shape, _) => shape.clone(),
            Layout::Apart(_) => Shape::BYTE,
        }
    }

    /// Cuts other memory, of items of that shape, into the same blocks, if this memory is contiguous.
    pub(super) fn at(&self, region: Region, shape: Shape) -> Layout {
        match self {
            Layout::Contiguous(_, _, cut) => Layout::Contiguous(region, shape, cut.clone()),
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
            Layout::Apart(regions) => regions.get(first).cloned().unwrap_or(Region::nothing()),
            Layout::Contiguous(region, shape, Cut::Evenly(blocks)) => {
                let segments = Segments::into_blocks(region.items(shape), *blocks);
                region.part(segments.start(first)..segments.start(behind), shape)
            }
            Layout::Contiguous(region, shape, Cut::At(ends)) => {
                region.part(end_of(ends, first)..end_of(ends, behind), shape)
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
