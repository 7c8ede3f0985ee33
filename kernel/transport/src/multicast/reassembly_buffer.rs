//! The memory in which a receiver reassembles a message, [`ReassemblyBuffer`], and the arithmetic of repairs. Users of
//! groups implement it.

use pombo_kernel::memory::Source as Bytes;

/// A receiver's memory. Repairs read bytes that have been written. Callers stay inside [`ReassemblyBuffer::len`].
pub trait ReassemblyBuffer {
    /// Returns the length in bytes.
    fn len(&self) -> usize;

    /// Returns whether the length is zero.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies `bytes` to offset `at`.
    fn write(&mut self, at: usize, bytes: &[u8]);

    /// Copies bytes from offset `at`, which have been written before.
    fn read(&self, at: usize, into: &mut [u8]);
}

impl ReassemblyBuffer for [u8] {
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        self[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        into.copy_from_slice(&self[at..at + into.len()]);
    }
}

/// Returns the offset and the length of a packet in bytes.
pub(super) fn place_of(len: usize, chunk: usize, packet: u32) -> (usize, usize) {
    let start = (packet as usize).saturating_mul(chunk).min(len);
    (start, chunk.min(len - start))
}

/// Number of bytes that are processed at a time.
const PIECE: usize = 256;

/// XORs bytes of a message into the sum, up to the sum's end.
pub(super) fn add_to(sum: &mut [u8], message: &impl Bytes, (start, len): (usize, usize)) {
    let mut piece = [0; PIECE];
    let mut at = start;
    for sum in sum[..len].chunks_mut(PIECE) {
        let piece = &mut piece[..sum.len()];
        message.copy_out(at, piece);
        xor(sum, piece);
        at += piece.len();
    }
}

/// XORs a range of the buffer into another, up to the end of the shorter one.
pub(super) fn add<R: ReassemblyBuffer + ?Sized>(
    room: &mut R,
    into: (usize, usize),
    from: (usize, usize),
) {
    let (mut sum, mut piece) = ([0; PIECE], [0; PIECE]);
    let len = into.1.min(from.1);
    for at in (0..len).step_by(PIECE) {
        let some = (len - at).min(PIECE);
        let (sum, piece) = (&mut sum[..some], &mut piece[..some]);
        room.read(into.0 + at, sum);
        room.read(from.0 + at, piece);
        xor(sum, piece);
        room.write(into.0 + at, sum);
    }
}

fn xor(sum: &mut [u8], bytes: &[u8]) {
    for (sum, byte) in sum.iter_mut().zip(bytes) {
        *sum ^= byte;
    }
}
