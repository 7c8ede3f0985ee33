//! Where a receiver puts a message together: [`ReassemblyBuffer`], and the arithmetic of repairs. Users of groups implement it.

use pombo_kernel::memory::Source as Bytes;

/// Memory of a receiver's. Repairs read what is there already. Callers stay inside [`ReassemblyBuffer::len`].
pub trait ReassemblyBuffer {
    /// Bytes.
    fn len(&self) -> usize;

    /// No bytes at all?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies to `at`.
    fn write(&mut self, at: usize, bytes: &[u8]);

    /// Copies from `at`, where something was written before.
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

/// Where the bytes of a packet begin, and how many they are.
pub(super) fn place_of(len: usize, chunk: usize, packet: u32) -> (usize, usize) {
    let start = (packet as usize).saturating_mul(chunk).min(len);
    (start, chunk.min(len - start))
}

/// Bytes that are worked on at once.
const PIECE: usize = 256;

/// Adds bytes of a message, up to the sum's end.
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

/// Adds the bytes of one place to those of another, up to the shorter one's end.
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
