//! Words of 32 bits in memory that travel as words of 64 bits. Conversion works byte by byte, because a message may be
//! split at any byte.

use crate::aspect::Element;

/// Bytes of a word in memory (`NARROW`) and on the wire (`WIDE`).
const NARROW: usize = 4;
const WIDE: usize = 8;

/// Returns the significance of byte `inside` of a value of `width` bytes, counted from the least significant byte.
const fn significance(inside: usize, width: usize, swapped: bool) -> usize {
    if cfg!(target_endian = "little") != swapped {
        inside
    } else {
        width - 1 - inside
    }
}

/// Writes the wire form of `words` from byte `offset` on: 64 bits per word, sign-extended if `element` is signed.
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

/// Stores wire bytes, from byte `offset` of the wire form on, into `words`. The upper half of a word that does not fit
/// is lost.
pub(super) fn narrow(words: &mut [u8], offset: usize, from: &[u8], swapped: bool) {
    for (at, byte) in (offset..).zip(from) {
        let place = significance(at % WIDE, WIDE, swapped);
        if place < NARROW {
            words[at / WIDE * NARROW + significance(place, NARROW, false)] = *byte;
        }
    }
}
