//! The memory of an operation over boards, and how it is cut: by bytes of data, as texts are.

use super::Operation;
use crate::op::Reduction;
use crate::user_buffer::Region;
use core::ops::Range;
use pombo_collective::{Buffer, Piece};
use pombo_kernel::Source;
use pombo_netdrivers::shm::collective::MARK_LIMIT;

/// One buffer: so many columns of equal length, each cut into blocks of `grain` bytes, the last one shorter. Blocks are
/// counted row by row.
#[derive(Clone, Copy)]
pub(super) struct BlockedBuffer {
    pub(super) region: Region,
    columns: usize,
    column: usize,
    grain: usize,
}

/// Everything that an operation over boards works on.
pub(super) struct ShmBuffers {
    pub(super) input: BlockedBuffer,
    pub(super) output: BlockedBuffer,
    /// Into this buffer come blocks of texts that have one for every rank.
    pub(super) scattered: Option<Buffer>,
    pub(super) reduction: Option<Reduction>,
    /// What this rank's texts say of the operation, and what those of the others must say.
    pub(super) gives: u64,
    pub(super) takes: u64,
}

/// The bytes of an operation, in what texts say of it, are below this; in front is which operation it is.
pub(super) const BYTES: u64 = MARK_LIMIT >> 4;

/// What texts say of an operation of so many bytes.
#[inline]
fn mark(operation: Operation, bytes: usize) -> u64 {
    operation as u64 * BYTES + bytes as u64 % BYTES
}

impl BlockedBuffer {
    /// No memory.
    pub(super) fn nothing() -> Self {
        BlockedBuffer::vector(Region::nothing(), 1)
    }

    /// A vector in blocks of so many bytes.
    pub(super) fn vector(region: Region, grain: usize) -> Self {
        BlockedBuffer::matrix(region, 1, grain)
    }

    /// Columns back to back, one for every rank.
    pub(super) fn matrix(region: Region, columns: usize, grain: usize) -> Self {
        let columns = columns.max(1);
        BlockedBuffer {
            region,
            columns,
            column: Source::len(&region) / columns,
            grain: grain.max(1),
        }
    }

    /// Bytes of an item, if the items lie back to back without gaps.
    #[inline]
    pub(super) fn item(region: &Region) -> Option<usize> {
        let item = region.extent();
        (item > 0 && Source::len(region) == region.items() * item).then_some(item)
    }

    /// The bytes of a block.
    #[inline]
    pub(super) fn block(&self, block: usize) -> Range<usize> {
        // Divisions take longer than everything else here.
        let (row, column) = match self.columns {
            1 => (block, 0),
            columns if block < columns => (0, block),
            columns => (block / columns, block % columns),
        };
        let (start, end) = (row * self.grain, (row + 1) * self.grain);
        let base = column * self.column;
        base + start.min(self.column)..base + end.min(self.column)
    }

    /// Where the blocks of a piece lie in a text, and which bytes they are.
    #[inline]
    pub(super) fn blocks(&self, piece: Piece) -> impl Iterator<Item = (usize, Range<usize>)> {
        let place = move |part| (part * self.grain, self.block(piece.first + part));
        (0..piece.blocks).map(place)
    }

    /// How long the text of a piece is.
    #[inline]
    pub(super) fn text(&self, piece: Piece) -> usize {
        let ends = self.blocks(piece).map(|(at, bytes)| match bytes.len() {
            0 => 0,
            len => at + len,
        });
        ends.max().unwrap_or(0)
    }

    /// Bytes of a piece of one block, or of none.
    #[inline]
    pub(super) fn len(&self, piece: Piece) -> usize {
        match piece.blocks {
            0 => 0,
            _ => self.block(piece.first).len(),
        }
    }

    /// Where a block begins.
    #[inline]
    pub(super) fn start(&self, piece: Piece) -> usize {
        self.block(piece.first).start
    }

    /// Where rank `part` finds its block in a text that has one for every rank.
    #[inline]
    pub(super) fn part(&self, part: usize) -> usize {
        part * self.grain
    }
}

impl ShmBuffers {
    /// Of buffers that are read and written alone, for an operation of so many bytes: each rank gives as many, and takes
    /// as many from each.
    #[inline]
    pub(super) fn plain(
        operation: Operation,
        bytes: usize,
        input: BlockedBuffer,
        output: BlockedBuffer,
    ) -> Self {
        let mark = mark(operation, bytes);
        ShmBuffers {
            input,
            output,
            scattered: None,
            reduction: None,
            gives: mark,
            takes: mark,
        }
    }

    /// The same, but this rank's own buffers may disagree: it gives so many bytes.
    #[inline]
    pub(super) fn giving(self, operation: Operation, bytes: usize) -> Self {
        ShmBuffers {
            gives: mark(operation, bytes),
            ..self
        }
    }

    /// The side whose blocks a piece names; what is incoming or under way is cut like the input.
    #[inline]
    pub(super) fn side(&self, piece: Piece) -> &BlockedBuffer {
        match piece.buffer {
            Buffer::Output => &self.output,
            _ => &self.input,
        }
    }

    /// Copies a block of the input to the output.
    #[inline]
    pub(super) fn keep(&self, from: Piece, into: Piece) {
        let (from, into) = (self.input.block(from.first), self.output.block(into.first));
        let len = from.len().min(into.len());
        let (input, output) = (&self.input.region, &self.output.region);
        input.copy_range(from.start, output, into.start, len);
    }
}
