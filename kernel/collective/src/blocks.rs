//! The memory of an operation over a communicator, and how it is cut.

use super::{Buffer, Piece, Segments, SharedBytes};

/// How a buffer is cut into blocks.
#[derive(Clone, Copy, Debug)]
pub enum Cut<'a> {
    /// Values of so many bytes in blocks of nearly equal size.
    Evenly(Segments, usize),
    /// Block i ends at byte i of these and begins where the one before ends.
    At(&'a [usize]),
}

impl Cut<'_> {
    /// All bytes as one block.
    pub const ONE: Cut<'static> = Cut::Evenly(Segments::into_blocks(usize::MAX, 1), 1);

    /// Blocks of so many bytes each.
    pub const fn every(bytes: usize, blocks: usize) -> Cut<'static> {
        Cut::Evenly(Segments::into_blocks(blocks, blocks), bytes)
    }

    fn start(&self, block: usize) -> usize {
        match self {
            Cut::Evenly(segments, width) => segments.start(block).saturating_mul(*width),
            Cut::At(ends) if block == 0 || ends.is_empty() => 0,
            Cut::At(ends) => ends[(block - 1).min(ends.len() - 1)],
        }
    }
}

/// Memory, and how it is cut. Pieces that do not lie inside are cut short.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    /// The bytes.
    pub cells: SharedBytes<'a>,
    /// The blocks.
    pub cut: Cut<'a>,
}

impl<'a> Blocks<'a> {
    /// No memory.
    pub const NONE: Blocks<'static> = Blocks {
        cells: SharedBytes::nothing(),
        cut: Cut::ONE,
    };

    /// One block.
    pub const fn one(cells: SharedBytes<'a>) -> Self {
        Blocks {
            cells,
            cut: Cut::ONE,
        }
    }

    pub(super) fn piece(&self, piece: Piece) -> SharedBytes<'a> {
        if piece.blocks == 0 {
            return SharedBytes::nothing();
        }
        let (start, end) = (piece.first, piece.first + piece.blocks);
        self.cells.part(self.cut.start(start), self.cut.start(end))
    }
}

/// The memory of one operation; see the [module](super) for which operation uses what.
#[derive(Clone, Copy, Debug)]
pub struct OperationBuffers<'a> {
    /// What this rank contributes.
    pub input: Blocks<'a>,
    /// What it gets.
    pub output: Blocks<'a>,
    /// Temporary.
    pub work: Blocks<'a>,
    /// Temporary.
    pub incoming: Blocks<'a>,
}

impl OperationBuffers<'static> {
    /// Nothing at all: for barriers, and to fill in.
    pub const NONE: Self = OperationBuffers {
        input: Blocks::NONE,
        output: Blocks::NONE,
        work: Blocks::NONE,
        incoming: Blocks::NONE,
    };
}

impl<'a> OperationBuffers<'a> {
    /// The memory of a piece.
    pub fn piece(&self, piece: Piece) -> SharedBytes<'a> {
        let blocks = match piece.buffer {
            Buffer::Input => &self.input,
            Buffer::Output => &self.output,
            Buffer::Work => &self.work,
            Buffer::Incoming => &self.incoming,
        };
        blocks.piece(piece)
    }
}
