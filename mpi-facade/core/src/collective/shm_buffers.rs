//! The buffers of an operation over shared memory, and how payloads cut them into blocks of bytes.

use super::Operation;
use crate::op::Reduction;
use crate::user_buffer::Region;
use core::ops::Range;
use pombo_collective::{Buffer, Piece};
use pombo_kernel::Source;
use pombo_netdrivers::shm::collective::MARK_LIMIT;
use pombo_netdrivers::tuning::LONG_PAYLOAD;

/// A buffer: `columns` columns of equal length, each cut into blocks of `grain` bytes; the last block may be shorter.
/// Blocks are numbered row by row.
pub(super) struct BlockedBuffer {
    pub(super) region: Region,
    columns: usize,
    column: usize,
    grain: usize,
}

/// The buffers and the reduction of one operation over shared memory.
pub(super) struct ShmBuffers {
    pub(super) input: BlockedBuffer,
    pub(super) output: BlockedBuffer,
    /// The buffer that receives blocks out of payloads with one block for every rank.
    pub(super) scattered: Option<Buffer>,
    /// The blocks of a row, where each rank publishes one for every other one and reads those of all.
    pub(super) exchanged: Option<usize>,
    pub(super) reduction: Option<Reduction>,
    /// The marks: what this rank's payloads say of the operation, and what those of the others must say.
    pub(super) gives: u64,
    pub(super) takes: u64,
}

/// The byte count in a mark is taken modulo this; the bits above it hold the number of the operation.
pub(super) const BYTES: u64 = MARK_LIMIT >> 4;

/// Returns the mark of an operation of `bytes` bytes: the operation's number and its length.
#[inline]
fn mark(operation: Operation, bytes: usize) -> u64 {
    operation as u64 * BYTES + bytes as u64 % BYTES
}

impl BlockedBuffer {
    /// Returns an empty buffer.
    pub(super) fn nothing() -> Self {
        BlockedBuffer::vector(Region::nothing(), 1)
    }

    /// Returns a vector in blocks of `grain` bytes.
    pub(super) fn vector(region: Region, grain: usize) -> Self {
        BlockedBuffer::matrix(region, 1, grain)
    }

    /// Returns `columns` contiguous columns, one for every rank.
    pub(super) fn matrix(region: Region, columns: usize, grain: usize) -> Self {
        let columns = columns.max(1);
        BlockedBuffer {
            column: Source::len(&region) / columns,
            region,
            columns,
            grain: grain.max(1),
        }
    }

    /// Returns the byte range of a block.
    #[inline]
    pub(super) fn block(&self, block: usize) -> Range<usize> {
        // Divisions dominate the cost of this function, so the common cases avoid them.
        let (row, column) = match self.columns {
            1 => (block, 0),
            columns if block < columns => (0, block),
            columns => (block / columns, block % columns),
        };
        let (start, end) = (row * self.grain, (row + 1) * self.grain);
        let base = column * self.column;
        base + start.min(self.column)..base + end.min(self.column)
    }

    /// Iterates over the blocks of a piece: the offset of each in the payload and its byte range in this buffer.
    #[inline]
    pub(super) fn blocks(&self, piece: Piece) -> impl Iterator<Item = (usize, Range<usize>)> {
        let place = move |part| (part * self.grain, self.block(piece.first + part));
        (0..piece.blocks).map(place)
    }

    /// Returns the bytes of a piece's payload.
    #[inline]
    pub(super) fn text(&self, piece: Piece) -> usize {
        let ends = self.blocks(piece).map(|(at, bytes)| match bytes.len() {
            0 => 0,
            len => at + len,
        });
        ends.max().unwrap_or(0)
    }

    /// Returns the bytes of a piece of at most one block.
    #[inline]
    pub(super) fn len(&self, piece: Piece) -> usize {
        match piece.blocks {
            0 => 0,
            _ => self.block(piece.first).len(),
        }
    }

    /// Returns the byte offset at which a block begins.
    #[inline]
    pub(super) fn start(&self, piece: Piece) -> usize {
        self.block(piece.first).start
    }

    /// Returns the byte offset of rank `part`'s block in a payload with one block for every rank.
    #[inline]
    pub(super) fn part(&self, part: usize) -> usize {
        part * self.grain
    }
}

impl ShmBuffers {
    /// Describes an operation without other buffers, of `bytes` bytes: each rank contributes as many, and expects as
    /// many from every other rank.
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
            exchanged: None,
            reduction: None,
            gives: mark,
            takes: mark,
        }
    }

    /// Replaces the bytes that this rank contributes, for calls whose own buffers may disagree in length.
    #[inline]
    pub(super) fn giving(self, operation: Operation, bytes: usize) -> Self {
        ShmBuffers {
            gives: mark(operation, bytes),
            ..self
        }
    }

    /// Returns the buffer whose blocks a piece names; incoming and scratch pieces are cut like the input.
    #[inline]
    pub(super) fn side(&self, piece: Piece) -> &BlockedBuffer {
        match piece.buffer {
            Buffer::Output => &self.output,
            _ => &self.input,
        }
    }

    /// Returns the bytes of the longest block of any rank in the round of a piece that is exchanged and long enough for
    /// cells. All ranks must get the same, as a cell goes on only if all publish in cells.
    #[inline]
    pub(super) fn exchanged(&self, piece: Piece, text: usize) -> Option<usize> {
        let (blocks, side) = (self.exchanged?, self.side(piece));
        // No block is longer than this. Short operations do without the division.
        if side.grain.max(text) < LONG_PAYLOAD {
            return None;
        }
        let longest = side.block(piece.first / blocks * blocks).len();
        (longest.max(text) >= LONG_PAYLOAD).then_some(longest)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Shape;
    use crate::user_buffer::UserAddress;

    #[test]
    fn all_ranks_publish_a_row_in_cells_or_none() {
        let (ranks, bytes) = (5, 100_000);
        let mut memory = [0; 100_000];
        let input = UserAddress::of(&mut memory).region(bytes, Shape::BYTE);
        let input = BlockedBuffer::vector(input, 13_056);
        let buffers = ShmBuffers {
            exchanged: Some(ranks),
            ..ShmBuffers::plain(Operation::Allreduce, 0, input, BlockedBuffer::nothing())
        };
        for (row, longest) in [(0, Some(13_056)), (1, Some(13_056)), (2, None)] {
            for rank in 0..ranks {
                let sum = Buffer::Input.block(row * ranks + rank);
                let len = buffers.side(sum).len(sum);
                assert_eq!(
                    buffers.exchanged(sum, len),
                    longest,
                    "rank {rank}: {len} bytes"
                );
            }
        }
    }
}
