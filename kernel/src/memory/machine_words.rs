//! Words of 32 bits in memory that travel as words of 64 bits, byte by byte, for a message may be cut anywhere.

use crate::aspect::Element;

/// Bytes of a word in memory, and on its way.
const NARROW: usize = 4;
const WIDE: usize = 8;

/// Where a byte at `inside` of a value of `width` bytes stands, counted from the least significant one.
const fn significance(inside: usize, width: usize, swapped: bool) -> usize {
    if cfg!(target_endian = "little") != swapped {
        inside
    } else {
        width - 1 - inside
    }
}

/// The bytes from `offset` on of these words as they travel: 64 bits wide, with their sign if they have one.
pub(super) fn widen(words: &[u8], element: Element, offset: usize, into: &mut [u8], swapped: bool) {
    for (at, byte) in (offset..).zip(into) {
        let word = at / WIDE * NARROW;
        let place = significance(at % WIDE, WIDE, swapped);
        *byte = if place < NARROW {
            words[word + significance(place, NARROW, false)]
        } else {
            let top = words[word + significance(NARROW - 1, NARROW, false)];
            if element == Element::NarrowInt && top >= 0x80 {
                0xff
            } else {
                0
            }
        };
    }
}

/// Puts the bytes from `offset` on of words of 64 bits into these. What does not fit loses its upper half.
pub(super) fn narrow(words: &mut [u8], offset: usize, from: &[u8], swapped: bool) {
    for (at, byte) in (offset..).zip(from) {
        let place = significance(at % WIDE, WIDE, swapped);
        if place < NARROW {
            words[at / WIDE * NARROW + significance(place, NARROW, false)] = *byte;
        }
    }
}
