//! The parts of a frame as the system takes them. Used by `udp` and `ethernet`.

use core::marker::PhantomData;
use pombo_kernel::memory::Part;

/// Pieces that a call gathers; frames of more are put together before.
const MAX_PARTS: usize = 8;

/// Where the bytes of a frame lie, while they are borrowed.
pub(crate) struct IoVecs<'a> {
    /// One more for a driver's header.
    list: [libc::iovec; MAX_PARTS + 1],
    count: usize,
    bytes: PhantomData<&'a [u8]>,
}

impl<'a> IoVecs<'a> {
    /// Of these parts. What does not lie in one piece as it is to be sent is copied to `scratch`, which is long enough for
    /// the frame; the memory of foreign programs is named where it lies, and only the system looks at it.
    #[inline]
    pub(crate) fn of(parts: &[Part<'a>], scratch: &'a mut [u8]) -> Self {
        Self::with_header(&[], parts, scratch)
    }

    /// The same, behind a driver's header.
    #[inline]
    pub(crate) fn with_header(
        head: &'a [u8],
        parts: &[Part<'a>],
        mut scratch: &'a mut [u8],
    ) -> Self {
        let mut iovecs = IoVecs {
            list: [libc::iovec {
                iov_base: core::ptr::null_mut(),
                iov_len: 0,
            }; MAX_PARTS + 1],
            count: 0,
            bytes: PhantomData,
        };
        iovecs.push(head.as_ptr(), head.len());
        let whole = parts.len() > MAX_PARTS;
        let all: &'a mut [u8] = match whole {
            true => core::mem::take(&mut scratch),
            false => &mut [],
        };
        let mut end = 0;
        for part in parts {
            let len = part.len();
            if whole {
                part.copy_to(0, &mut all[end..end + len]);
                end += len;
                continue;
            }
            match fixed_address(part) {
                Some(start) => iovecs.push(start, len),
                None => {
                    let (copy, rest) = core::mem::take(&mut scratch).split_at_mut(len);
                    part.copy_to(0, copy);
                    iovecs.push(copy.as_ptr(), len);
                    scratch = rest;
                }
            }
        }
        iovecs.push(all.as_ptr(), end);
        iovecs
    }

    #[inline]
    fn push(&mut self, start: *const u8, len: usize) {
        if len > 0 {
            self.list[self.count] = libc::iovec {
                iov_base: start.cast_mut().cast(),
                iov_len: len,
            };
            self.count += 1;
        }
    }

    /// For a call that only reads.
    #[inline]
    pub(crate) fn list(&self) -> &[libc::iovec] {
        &self.list[..self.count]
    }
}

/// Where a part lies in one piece as it is to be sent.
#[inline]
fn fixed_address(part: &Part<'_>) -> Option<*const u8> {
    match *part {
        Part::Bytes(bytes) => Some(bytes.as_ptr()),
        Part::Held {
            source,
            offset,
            len,
            swapped: false,
        } => {
            let slice = source.bytes().and_then(|all| all.get(offset..offset + len));
            slice.map(<[u8]>::as_ptr).or_else(|| part.fixed())
        }
        Part::Held { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::std::{vec, vec::Vec};
    use pombo_kernel::memory::Source;

    /// Bytes that are not in one piece.
    struct Spread(Vec<u8>);

    impl Source for Spread {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn copy_out(&self, offset: usize, into: &mut [u8]) {
            into.copy_from_slice(&self.0[offset..][..into.len()]);
        }

        fn copy_out_swapped(&self, offset: usize, into: &mut [u8]) {
            self.copy_out(offset, into);
            into.reverse();
        }
    }

    /// Bytes that are only named by their address.
    struct Fixed(Vec<u8>);

    impl Source for Fixed {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn fixed(&self, offset: usize, len: usize) -> Option<*const u8> {
            self.0.get(offset..offset + len).map(<[u8]>::as_ptr)
        }

        fn copy_out(&self, _: usize, _: &mut [u8]) {
            panic!("it lies in one piece");
        }
    }

    #[test]
    fn fixed_memory_is_not_copied() {
        let fixed = Fixed(vec![1, 2, 3, 4, 5]);
        let part = Part::Held {
            source: &fixed,
            offset: 1,
            len: 3,
            swapped: false,
        };
        assert_eq!(read(&[Part::Bytes(&[7]), part]), (2, vec![7, 2, 3, 4]));
    }

    fn read(parts: &[Part<'_>]) -> (usize, Vec<u8>) {
        let mut scratch = vec![0; Part::total(parts)];
        let iovecs = IoVecs::of(parts, &mut scratch);
        let mut bytes = Vec::new();
        for vector in iovecs.list() {
            // SAFETY: a vector names bytes that are borrowed as long as `iovecs` lives.
            let piece =
                unsafe { core::slice::from_raw_parts(vector.iov_base.cast(), vector.iov_len) };
            bytes.extend_from_slice(piece);
        }
        (iovecs.list().len(), bytes)
    }

    #[test]
    fn what_lies_in_place_stays_there_and_the_rest_is_copied_in_order() {
        let spread = Spread(vec![3, 4, 5, 6]);
        let whole: &[u8] = &[9, 7, 8, 9];
        let held = |source, offset, len, swapped| Part::Held {
            source,
            offset,
            len,
            swapped,
        };
        let parts = [
            Part::Bytes(&[1, 2]),
            Part::Bytes(&[]),
            held(&spread, 0, 2, false),
            held(&spread, 2, 2, true),
            held(&whole, 1, 2, false),
        ];
        assert_eq!(read(&parts), (4, vec![1, 2, 3, 4, 6, 5, 7, 8]));
        assert_eq!(read(&[]), (0, vec![]));
    }

    #[test]
    fn many_pieces_are_put_together() {
        let bytes: Vec<u8> = (0..100).collect();
        for pieces in [1, 2, 8, 9, 50, 100] {
            let parts: Vec<Part<'_>> = bytes.chunks(100 / pieces).map(Part::Bytes).collect();
            let (iovecs, read) = read(&parts);
            assert_eq!(read, bytes);
            assert!(iovecs == parts.len() || iovecs == 1);
        }
    }
}
