//! A checksum for networks whose bytes are not to be taken on trust. Against damage, not against malice: whoever knows
//! the bytes can find others with the same sum. Channels put it into their frames, authentication under a tag.

/// Bytes in, 64 or 32 bits out. Four words of eight bytes a step, each by a way of its own, so that a processor does them
/// beside each other; every step is one-to-one, so damage within one word always changes the state.
#[derive(Clone, Copy)]
pub(crate) struct Checksum {
    lanes: [u64; LANES],
    /// Bytes that do not fill a block yet, and zeros.
    block: [u8; BLOCK],
    len: u64,
}

const LANES: usize = 4;
const WORD: usize = size_of::<u64>();
const BLOCK: usize = LANES * WORD;
/// Where the lanes begin: digits of square roots.
const BEGIN: [u64; LANES] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
];

impl Checksum {
    /// Of no bytes yet. Sums of different seeds differ.
    pub(crate) fn new(seed: u64) -> Self {
        Checksum {
            lanes: BEGIN.map(|begin| mix(begin, seed)),
            block: [0; BLOCK],
            len: 0,
        }
    }

    /// In any pieces: only the bytes count.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let filled = self.len as usize % BLOCK;
        self.len += bytes.len() as u64;
        let mut rest = bytes;
        if filled > 0 {
            let (first, behind) = bytes.split_at(bytes.len().min(BLOCK - filled));
            self.block[filled..filled + first.len()].copy_from_slice(first);
            if filled + first.len() < BLOCK {
                return;
            }
            self.lanes = step(self.lanes, &self.block);
            self.block = [0; BLOCK];
            rest = behind;
        }
        let (blocks, last) = rest.as_chunks::<BLOCK>();
        let mut lanes = self.lanes;
        for block in blocks {
            lanes = step(lanes, block);
        }
        self.lanes = lanes;
        self.block[..last.len()].copy_from_slice(last);
    }

    /// Of all bytes so far: any damage that is not meant shows, with all but one in 2^64.
    pub(crate) fn wide(&self) -> u64 {
        let lanes = match self.len as usize % BLOCK {
            0 => self.lanes,
            _ => step(self.lanes, &self.block),
        };
        lanes.into_iter().fold(self.len, mix)
    }

    /// In half the space, with all but one in 2^32.
    pub(crate) fn end(&self) -> u32 {
        let wide = self.wide();
        (wide ^ wide >> 32) as u32
    }
}

#[inline]
fn step(lanes: [u64; LANES], block: &[u8; BLOCK]) -> [u64; LANES] {
    let (words, _) = block.as_chunks::<WORD>();
    core::array::from_fn(|lane| mix(lanes[lane], u64::from_le_bytes(words[lane])))
}

/// One-to-one in the state and in the word: an exclusive or, an odd factor, a shifted exclusive or.
#[inline]
fn mix(state: u64, word: u64) -> u64 {
    let product = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 29
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    fn sum(bytes: &[u8]) -> u32 {
        let mut check = Checksum::new(1);
        check.add(bytes);
        check.end()
    }

    #[test]
    fn pieces_do_not_count() {
        let bytes: Vec<u8> = (0..100_u8).map(|i| i.wrapping_mul(7)).collect();
        for a in 0..40 {
            for b in a..100 {
                let mut check = Checksum::new(1);
                check.add(&bytes[..a]);
                check.add(&bytes[a..b]);
                check.add(&bytes[b..]);
                assert_eq!(check.end(), sum(&bytes));
            }
        }
    }

    /// One bit, two bits, a cut end, zeros that fill up, two words that change places.
    #[test]
    fn damage_shows() {
        let bytes: Vec<u8> = (0..64_u8).map(|i| i.wrapping_mul(11)).collect();
        let right = sum(&bytes);
        for a in 0..512 {
            for b in a..512 {
                let mut wrong = bytes.clone();
                wrong[a / 8] ^= 1 << (a % 8);
                if a != b {
                    wrong[b / 8] ^= 1 << (b % 8);
                }
                assert_ne!(sum(&wrong), right, "bits {a} and {b}");
            }
        }
        for len in 0..64 {
            assert_ne!(sum(&bytes[..len]), right);
            let mut filled = bytes.clone();
            filled.resize(65 + len, 0);
            assert_ne!(sum(&filled), right);
        }
        let mut swapped = bytes.clone();
        swapped.rotate_left(8);
        assert_ne!(sum(&swapped), right);
    }
}
