//! The memory of an operation over a communicator, and its division into blocks.

use super::{Buffer, Piece, Segments, SharedBytes};

/// How a buffer is divided into blocks.
#[derive(Clone, Copy, Debug)]
pub enum Cut<'a> {
    /// Values of this many bytes each, in blocks of nearly equal size.
    Evenly(Segments, usize),
    /// Block i ends at the byte offset in entry i of this table, and begins where block i - 1 ends.
    At(&'a [usize]),
}

impl Cut<'_> {
    /// The whole buffer as one block.
    pub const ONE: Cut<'static> = Cut::Evenly(Segments::into_blocks(usize::MAX, 1), 1);

    /// Returns a division into `blocks` blocks of `bytes` bytes each.
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

/// Memory and its division into blocks. A piece that reaches beyond the memory is cut short.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    /// The bytes that are divided.
    pub cells: SharedBytes<'a>,
    /// Where each block starts and ends, in bytes.
    pub cut: Cut<'a>,
}

impl<'a> Blocks<'a> {
    /// No memory.
    pub const NONE: Blocks<'static> = Blocks {
        cells: SharedBytes::nothing(),
        cut: Cut::ONE,
    };

    /// Returns memory of one block.
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
    /// The contribution of this rank.
    pub input: Blocks<'a>,
    /// The result of this rank.
    pub output: Blocks<'a>,
    /// Temporary memory for what this rank has so far.
    pub work: Blocks<'a>,
    /// Temporary memory for what is to be combined.
    pub incoming: Blocks<'a>,
}

impl OperationBuffers<'static> {
    /// No memory: for barriers, and as the base of a struct update.
    pub const NONE: Self = OperationBuffers {
        input: Blocks::NONE,
        output: Blocks::NONE,
        work: Blocks::NONE,
        incoming: Blocks::NONE,
    };
}

impl<'a> OperationBuffers<'a> {
    /// Returns the memory of a piece.
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
