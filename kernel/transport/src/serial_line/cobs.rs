//! Consistent overhead byte stuffing (Cheshire and Baker, 1999): no byte of what a frame becomes is 0, so a 0 ends it.
//! `serial_line` only.
//!
//! Blocks follow each other: a length and one more, then so many bytes that are not 0. Behind a block of fewer than 254
//! a zero stood; behind the last one it only ends the frame. Written here because crates encode into a second buffer:
//! this takes a byte at a time from where the frame lies.

use heapless::Vec;

/// Ends a frame.
pub(super) const END: u8 = 0;
/// Bytes of a block at most.
const LONGEST: usize = 254;

/// How far a frame has been encoded that lies elsewhere and stays as it is.
#[derive(Default)]
pub(super) struct Encoder {
    /// The next byte of the block.
    at: usize,
    /// Behind its last.
    end: usize,
    /// Where the next block begins; none: the frame has ended.
    next: Option<usize>,
}

impl Encoder {
    /// At the beginning of a frame.
    pub(super) fn begin() -> Self {
        Encoder {
            next: Some(0),
            ..Self::default()
        }
    }

    /// The next byte for the line, with [`END`] for the last.
    pub(super) fn next(&mut self, frame: &[u8]) -> Option<u8> {
        if let Some(byte) = frame.get(self.at..self.end).and_then(<[u8]>::first) {
            self.at += 1;
            return Some(*byte);
        }
        let begin = self.next.take()?;
        let Some(rest) = frame.get(begin..) else {
            return Some(END);
        };
        let zero = rest.iter().take(LONGEST).position(|byte| *byte == 0);
        let len = zero.unwrap_or(rest.len().min(LONGEST));
        (self.at, self.end) = (begin, begin + len);
        self.next = Some(self.end + usize::from(len < LONGEST));
        Some(len as u8 + 1)
    }
}

/// A frame that comes byte by byte, of at most `N` bytes.
#[derive(Default)]
pub(super) struct Decoder<const N: usize> {
    frame: Vec<u8, N>,
    /// Bytes of the block that have not come.
    left: u8,
    /// Behind the block a zero stood, or the frame ends.
    zero: bool,
    /// More than `N` have come.
    too_long: bool,
}

impl<const N: usize> Decoder<N> {
    /// A byte of the line that is not [`END`].
    pub(super) fn take(&mut self, byte: u8) {
        let byte = match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Some(byte)
            }
            None => {
                self.left = byte.saturating_sub(1);
                let zero = usize::from(self.left) < LONGEST;
                core::mem::replace(&mut self.zero, zero).then_some(0)
            }
        };
        self.too_long |= byte.is_some_and(|byte| self.frame.push(byte).is_err());
    }

    /// Nothing has come since the last [`END`].
    pub(super) fn is_empty(&self) -> bool {
        self.frame.is_empty() && self.left == 0 && !self.zero
    }

    /// The frame, if it ends here.
    pub(super) fn frame(&self) -> Option<&[u8]> {
        (self.left == 0 && self.zero && !self.too_long).then_some(&self.frame)
    }

    /// For the next frame.
    pub(super) fn clear(&mut self) {
        self.frame.clear();
        (self.left, self.zero, self.too_long) = (0, false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec;

    fn encoded(frame: &[u8]) -> std::vec::Vec<u8> {
        let mut encoder = Encoder::begin();
        core::iter::from_fn(|| encoder.next(frame)).collect()
    }

    /// As the paper has it, and as its readers agree: blocks that are full have no zero behind them.
    #[test]
    fn frames_are_stuffed_as_others_do() {
        assert_eq!(encoded(&[]), [1, 0]);
        assert_eq!(encoded(&[0]), [1, 1, 0]);
        assert_eq!(encoded(&[0x11, 0x22, 0, 0x33]), [3, 0x11, 0x22, 2, 0x33, 0]);
        let full = vec![7; 254];
        let expected = [&[255][..], &full, &[1, 0]].concat();
        assert_eq!(encoded(&full), expected);
        let longer = [&full[..], &[0, 8]].concat();
        assert_eq!(
            encoded(&longer),
            [&[255][..], &full, &[1, 2, 8, 0]].concat()
        );
    }

    #[test]
    fn every_length_comes_back() {
        for len in 0..600 {
            for modulus in [2, 7, 255, 600] {
                let frame: std::vec::Vec<u8> = (0..len).map(|i| (i % modulus) as u8).collect();
                let mut decoder = Decoder::<600>::default();
                let line = encoded(&frame);
                let (end, stuffed) = line.split_last().expect("it ends");
                assert!(*end == END && !stuffed.contains(&END));
                assert!(stuffed.len() <= len + 1 + len / LONGEST);
                stuffed.iter().for_each(|byte| decoder.take(*byte));
                assert_eq!(decoder.frame(), Some(&frame[..]));
            }
        }
    }
}
