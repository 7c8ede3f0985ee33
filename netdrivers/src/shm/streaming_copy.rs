//! Writes long frames past the caches. `LongProducer` and `PayloadWriter` use it.
//!
//! The lines that a reader has read lie in its caches, and each ordinary store fetches its line from there: between
//! processors far from each other, that takes several times as long as the copy itself. Non-temporal stores of whole
//! lines fetch nothing.

use core::arch::x86_64::{__m128i, _mm_load_si128, _mm_sfence, _mm_stream_si128};

use pombo_kernel::memory::Part;

use super::layout::LINE;
use crate::tuning::STREAMED_BLOCK;

/// Gathered bytes on their way to their place.
#[repr(align(64))]
struct Block([u8; STREAMED_BLOCK]);

/// Copies the parts one after the other into `room`, which has their total length.
#[inline(never)]
pub(super) fn stream_parts(parts: &[Part<'_>], room: &mut [u8]) {
    let to_line = room.as_ptr().align_offset(LINE).min(room.len());
    let (front, room) = room.split_at_mut(to_line);
    let (lines, back) = room.split_at_mut(room.len() / LINE * LINE);
    let mut rest = Rest { parts, at: 0 };
    rest.copy_to(front);
    let mut block = Block([0; STREAMED_BLOCK]);
    for lines in lines.chunks_mut(STREAMED_BLOCK) {
        rest.copy_to(&mut block.0[..lines.len()]);
        for (line, from) in lines.chunks_exact_mut(LINE).zip(block.0.chunks_exact(LINE)) {
            let line: *mut __m128i = line.as_mut_ptr().cast();
            let from: *const __m128i = from.as_ptr().cast();
            for quarter in 0..LINE / size_of::<__m128i>() {
                // SAFETY: both lines have four quarters, and are aligned: `lines` begins at a line, as `block` does.
                unsafe { _mm_stream_si128(line.add(quarter), _mm_load_si128(from.add(quarter))) };
            }
        }
    }
    rest.copy_to(back);
    // SAFETY: every processor of this architecture has it. It orders the stores above before all later ones.
    unsafe { _mm_sfence() };
}

/// What is left of the parts of a frame.
struct Rest<'a> {
    parts: &'a [Part<'a>],
    /// Bytes of the first part that are copied already.
    at: usize,
}

impl Rest<'_> {
    /// Fills `into` with the next bytes.
    fn copy_to(&mut self, mut into: &mut [u8]) {
        while let [first, others @ ..] = self.parts
            && !into.is_empty()
        {
            let len = into.len().min(first.len() - self.at);
            let (now, later) = into.split_at_mut(len);
            first.copy_to(self.at, now);
            (into, self.at) = (later, self.at + len);
            if self.at == first.len() {
                (self.parts, self.at) = (others, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn every_byte_arrives_at_its_place_and_none_beside_it() {
        let bytes: Vec<u8> = (0..3 * STREAMED_BLOCK)
            .map(|at| (at * 7 + at / 251) as u8)
            .collect();
        for len in [
            0,
            1,
            63,
            64,
            65,
            STREAMED_BLOCK - 1,
            STREAMED_BLOCK,
            2 * STREAMED_BLOCK + 100,
        ] {
            for begin in [0, 8, 56, 63] {
                for first in [0, 1, 24, len / 2, len].map(|first| first.min(len)) {
                    let (head, payload) = bytes[..len].split_at(first);
                    let payload = Part::Held {
                        swapped: false,
                        source: &payload,
                        offset: 0,
                        len: payload.len(),
                    };
                    let mut ring = vec![0xee; 4 * STREAMED_BLOCK];
                    let line = ring.as_ptr().align_offset(LINE) + begin;
                    stream_parts(&[Part::Bytes(head), payload], &mut ring[line..line + len]);
                    assert_eq!(ring[line..line + len], bytes[..len]);
                    let beside = ring[..line].iter().chain(&ring[line + len..]);
                    assert!(beside.into_iter().all(|byte| *byte == 0xee));
                }
            }
        }
    }
}
