//! Executes schedules over boards in shared memory.

use super::shm_buffers::{BYTES, ShmBuffers};
use crate::datatype::Shape;
use crate::user_buffer::{Region, UserAddress};
use core::ops::Range;
use pombo_collective::{Buffer, Executor, Piece};
use pombo_kernel::memory::Part;
use pombo_kernel::{Peer, Sink, Source};
use pombo_netdrivers::shm::collective::{BoardGroup, Unavailable};
use pombo_netdrivers::tuning::LONG_PAYLOAD;

/// One operation's state, borrowed while it is polled.
pub(super) struct ShmExecutor<'a> {
    pub(super) group: BoardGroup<'a>,
    pub(super) rank: usize,
    pub(super) buffers: &'a ShmBuffers,
    pub(super) received: &'a mut Received,
}

/// What an operation has received.
pub(super) struct Received {
    /// The region of the payload received last.
    incoming: Region,
    /// The first operand of a sum, until the second one is there: then both are combined in one pass.
    first: Option<Region>,
}

impl Received {
    pub(super) fn nothing() -> Self {
        Received {
            incoming: Region::nothing(),
            first: None,
        }
    }
}

/// Why an operation over shared memory ends early.
pub(super) enum End {
    /// A member has ended: its peer in the segment.
    Lost(Peer),
    /// Another rank has called another operation, or with another length: the bytes that it sends, and those that this
    /// rank expects.
    Unequal { sent: u64, room: u64 },
}

impl ShmExecutor<'_> {
    #[cold]
    fn end(&self, missing: Unavailable) -> End {
        match missing {
            Unavailable::PeerLost(peer) => End::Lost(peer),
            _ => self.unequal(0),
        }
    }

    #[cold]
    fn unequal(&self, mark: u64) -> End {
        let (sent, room) = (mark % BYTES, self.buffers.takes % BYTES);
        End::Unequal { sent, room }
    }
}

impl ShmExecutor<'_> {
    /// Returns the byte range of a piece in the payload that carries it.
    #[inline]
    fn part(&self, piece: Piece) -> Range<usize> {
        let side = self.buffers.side(piece);
        let start = match self.buffers.scattered == Some(piece.buffer) {
            true => side.part(self.rank),
            false => 0,
        };
        start..start + side.len(piece)
    }

    /// Returns a piece of the payload that `rank` has published. It is valid until the round is released.
    #[inline]
    fn find(&mut self, from: usize, piece: Piece) -> Result<Option<Region>, End> {
        let (part, takes) = (self.part(piece), self.buffers.takes);
        let found = self.group.read(from, part.start, |text, mark| {
            if mark != takes {
                return Err(mark);
            }
            // Ranks with equal marks agree on every payload; only a payload in shares is shorter, where this rank's
            // share is empty, and a block in a cell is as long as the longest one.
            let text = text.get(..part.len()).ok_or(mark)?;
            let base = text.as_ptr().cast_mut().cast();
            // SAFETY: the sender does not change its payload before this rank has released the round
            // (`BoardGroup::release`); the region is only read, and only in this round.
            Ok(unsafe { Region::new(base, text.len(), Shape::BYTE) })
        });
        let found = found.map_err(|missing| self.end(missing))?;
        found.transpose().map_err(|mark| self.unequal(mark))
    }

    /// Copies the received payload to a piece of the output of equal length.
    #[inline]
    fn take(&mut self, piece: Piece) {
        let side = &self.buffers.output;
        let (start, len) = (side.start(piece), side.len(piece));
        // Boards have what the memory of this machine has.
        let into = &side.region;
        self.received
            .incoming
            .copy_range_unconverted(0, into, start, len);
    }

    /// Returns the region of an operand, or of a result outside this rank's board.
    #[inline]
    fn operand(&self, piece: Piece) -> Region {
        if piece.buffer == Buffer::Incoming {
            return self.received.incoming.clone();
        }
        let side = self.buffers.side(piece);
        side.region.bytes_at(side.start(piece), side.len(piece))
    }

    /// Writes the next payload.
    #[inline]
    fn build(&mut self, piece: Piece, f: impl FnOnce(&mut [u8])) {
        let len = self.buffers.side(piece).len(piece);
        // The schedule has waited for the room, so this cannot fail.
        let _ = self.group.fill(len, f);
    }
}

impl ShmExecutor<'_> {
    /// Writes a long payload, whose parts lie on the board one after the other.
    #[inline(never)]
    fn write(&mut self, piece: Piece, len: usize) -> Result<bool, End> {
        let side = self.buffers.side(piece);
        let own = (piece.blocks > 1).then_some(self.rank);
        let written = self.group.write(len, |room| {
            for (part, (at, bytes)) in side.blocks(piece).enumerate() {
                if own != Some(part) && !bytes.is_empty() {
                    room.put(
                        at,
                        Part::Held {
                            swapped: false,
                            source: &side.region,
                            offset: bytes.start,
                            len: bytes.len(),
                        },
                    );
                }
            }
        });
        written.map_err(|missing| self.end(missing))
    }
}

impl ShmExecutor<'_> {
    /// Publishes a long piece: a block for each other rank, of `len` bytes at most.
    #[inline(never)]
    fn publish_blocks(&mut self, piece: Piece, len: usize) -> Result<bool, End> {
        let side = self.buffers.side(piece);
        let published = self.group.publish_blocks(len, |rank, room| {
            // A single block is for whoever reads it.
            let part = rank.min(piece.blocks.saturating_sub(1));
            let bytes = side.block(piece.first + part);
            let room = &mut room[..bytes.len()];
            side.region.copy_out(bytes.start, room);
        });
        published.map_err(|missing| self.end(missing))
    }
}

impl Executor for ShmExecutor<'_> {
    type Error = End;

    #[inline]
    fn send(&mut self, _to: usize, piece: Piece) -> Result<bool, End> {
        let side = self.buffers.side(piece);
        let len = side.text(piece);
        // No rank reads its own share of its payload.
        let own = (piece.blocks > 1).then_some(self.rank);
        let write = |text: &mut [u8]| {
            for (part, (at, bytes)) in side.blocks(piece).enumerate() {
                if own != Some(part) && !bytes.is_empty() {
                    side.region
                        .copy_out(bytes.start, &mut text[at..at + bytes.len()]);
                }
            }
        };
        if piece.buffer != Buffer::Work {
            let longest = self.buffers.exchanged(piece, len);
            if let Some(longest) = longest.filter(|len| self.group.has_cells(*len)) {
                return self.publish_blocks(piece, longest);
            }
            if len >= LONG_PAYLOAD {
                if !self.write(piece, len)? {
                    return Ok(false);
                }
                return Ok(self.group.publish(len));
            }
            let filled = self.group.fill(len, write);
            if filled.map_err(|missing| self.end(missing))?.is_none() {
                return Ok(false);
            }
        }
        Ok(self.group.publish(len))
    }

    #[inline]
    fn receive(&mut self, from: usize, piece: Piece) -> Result<bool, End> {
        let side = self.buffers.side(piece);
        let len = side.len(piece);
        if piece.buffer == Buffer::Work && from == self.rank {
            let filled = self.group.fill(len, |_| ());
            return Ok(filled.map_err(|missing| self.end(missing))?.is_some());
        }
        let Some(text) = self.find(from, piece)? else {
            return Ok(false);
        };
        self.received.incoming = text;
        if piece.buffer == Buffer::Output {
            self.take(piece);
        }
        Ok(true)
    }

    #[inline]
    fn are_complete(&mut self, _open: usize) -> Result<bool, End> {
        self.group.release();
        Ok(true)
    }

    #[inline]
    fn over(&mut self) -> Result<bool, End> {
        self.group.end();
        Ok(true)
    }

    #[inline]
    fn combine(&mut self, left: Piece, right: Piece) {
        let buffers = self.buffers;
        let Some(reduction) = &buffers.reduction else {
            return;
        };
        let from = self.operand(left);
        let first = self.received.first.take();
        match right.buffer {
            Buffer::Work => self.build(right, |room| {
                let len = room.len();
                let room = UserAddress::of(room).region(len, Shape::BYTE);
                reduction.apply_predefined(&from, first.as_ref().unwrap_or(&room), &room);
            }),
            _ => {
                let into = self.operand(right);
                reduction.apply_predefined(&from, first.as_ref().unwrap_or(&into), &into);
            }
        }
    }

    #[inline]
    fn copy(&mut self, from: Piece, into: Piece) {
        match (from.buffer, into.buffer) {
            (Buffer::Work, Buffer::Output) => {
                let output = &self.buffers.output;
                self.build(from, |room| {
                    output.region.clone().copy_in(output.start(into), room);
                });
            }
            // Any other copy of a reduction begins a sum: the next step but receives combines the operand. The schedules
            // require that its place keeps until then what it has.
            _ if self.buffers.reduction.is_some() => {
                self.received.first = Some(self.operand(from));
            }
            _ => self.buffers.keep(from, into),
        }
    }
}
