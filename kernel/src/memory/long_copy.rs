//! Long copies, which go in pieces where one call would be slow.
//!
//! C libraries copy 2 KiB and more by the processor's instruction for that. On AMD's Zen 4 it is slow where the
//! destination lies less than 16 bytes behind the source, seen within their pages: 8 KiB then took 2.3 us in place of 0.08,
//! and 0.39 in pieces that are copied by other instructions. Elsewhere the instruction is the better way.

/// Size in bytes of such a piece: less than what the instruction is used for.
pub const COPY_PIECE: usize = 31 * 64;
/// Distance in bytes from which on the instruction is quick: who places buffers at multiples of it avoids the others.
pub const COPY_ALIGN: usize = 16;
const PAGE: usize = 4096;

/// Returns how many bytes of a copy from one address to another should go at once.
pub fn copy_piece(from: usize, to: usize, len: usize) -> usize {
    let collides = (1..COPY_ALIGN).contains(&(to.wrapping_sub(from) % PAGE));
    match len > COPY_PIECE && collides {
        true => COPY_PIECE,
        false => len,
    }
}

/// Copies between slices of one length.
#[inline]
pub(crate) fn copy(from: &[u8], into: &mut [u8]) {
    match from.len() > COPY_PIECE {
        true => copy_long(from, into),
        false => into.copy_from_slice(from),
    }
}

#[inline(never)]
fn copy_long(from: &[u8], into: &mut [u8]) {
    debug_assert_eq!(from.len(), into.len());
    let len = from.len();
    let piece = copy_piece(from.as_ptr().addr(), into.as_ptr().addr(), len);
    let mut at = 0;
    while at < len {
        let end = len.min(at + piece);
        // Written so that the compiler sees that nothing here panics.
        if let (Some(into), Some(from)) = (into.get_mut(at..end), from.get(at..end)) {
            into.copy_from_slice(from);
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_copied() {
        let bytes: [u8; 2 * PAGE] = core::array::from_fn(|at| (at + at / 251) as u8);
        for len in [
            0,
            1,
            COPY_PIECE,
            COPY_PIECE + 1,
            2 * COPY_PIECE,
            bytes.len(),
        ] {
            let mut room = [0; 4 * PAGE];
            // One of these places collides.
            for at in (0..PAGE).step_by(COPY_ALIGN / 2) {
                let place = &mut room[at..at + len];
                copy(&bytes[..len], place);
                assert_eq!(place, &bytes[..len]);
                place.fill(0);
            }
        }
    }

    #[test]
    fn pieces_are_short_where_places_collide() {
        let page = 7 * PAGE;
        assert_eq!(copy_piece(page, 2 * PAGE + 2, 8192), COPY_PIECE);
        assert_eq!(copy_piece(page + 4090, page + 4095, 8192), COPY_PIECE);
        assert_eq!(copy_piece(page + 4095, page + 1, 8192), COPY_PIECE);
        for to in [page, page + COPY_ALIGN, page - 1] {
            assert_eq!(copy_piece(page, to, 8192), 8192);
        }
        assert_eq!(copy_piece(page, page + 2, COPY_PIECE), COPY_PIECE);
        assert_eq!(copy_piece(page, page + 2, 0), 0);
    }
}
