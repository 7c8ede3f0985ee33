//! A checksum for networks that have none. Against damage, not against malice. Also for the groups.

/// Bytes in, 32 bits out. Eight bytes a step, by steps that are one-to-one: damage within one word always shows,
/// any other with all but one in 2^32.
#[derive(Clone, Copy)]
pub(crate) struct Check {
    state: u64,
    /// Bytes that do not fill a word yet, and how many.
    word: u64,
    filled: u32,
    len: u64,
}

const WORD: usize = size_of::<u64>();

impl Check {
    pub(crate) fn new(seed: u64) -> Self {
        Check {
            state: mix(0x6a09_e667_f3bc_c908, seed),
            word: 0,
            filled: 0,
            len: 0,
        }
    }

    /// In any pieces: only the bytes count.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        let gap = (WORD - self.filled as usize) % WORD;
        let (first, rest) = bytes.split_at(gap.min(bytes.len()));
        first.iter().for_each(|byte| self.add_byte(*byte));
        let (words, last) = rest.as_chunks::<WORD>();
        for word in words {
            self.state = mix(self.state, u64::from_le_bytes(*word));
        }
        last.iter().for_each(|byte| self.add_byte(*byte));
    }

    fn add_byte(&mut self, byte: u8) {
        self.word |= u64::from(byte) << (self.filled * 8);
        self.filled += 1;
        if self.filled as usize == WORD {
            self.state = mix(self.state, self.word);
            (self.word, self.filled) = (0, 0);
        }
    }

    pub(crate) fn end(&self) -> u32 {
        let state = mix(mix(self.state, self.word), self.len);
        (state ^ state >> 32) as u32
    }
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
        let mut check = Check::new(1);
        check.add(bytes);
        check.end()
    }

    #[test]
    fn pieces_do_not_count() {
        let bytes: Vec<u8> = (0..100_u8).map(|i| i.wrapping_mul(7)).collect();
        for a in 0..40 {
            for b in a..100 {
                let mut check = Check::new(1);
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
