//! The parts of a frame as an I/O vector of the system. `udp` and `ethernet` use it.

use core::marker::PhantomData;
use pombo_kernel::memory::Part;

/// Largest number of parts that one call gathers; frames of more parts are copied first.
const MAX_PARTS: usize = 8;

/// The addresses of a frame's parts, which stay borrowed.
pub(crate) struct IoVecs<'a> {
    /// One more entry for a driver's header.
    list: [libc::iovec; MAX_PARTS + 1],
    count: usize,
    bytes: PhantomData<&'a [u8]>,
}

impl<'a> IoVecs<'a> {
    /// Creates the vector of these parts. Parts that are not contiguous in the form in which they are sent are copied
    /// to `scratch`, which must be long enough for the frame; the memory of foreign programs is passed by address, and
    /// only the system reads it.
    #[inline]
    pub(crate) fn of(parts: &[Part<'a>], scratch: &'a mut [u8]) -> Self {
        Self::with_header(&[], parts, scratch)
    }

    /// Creates the vector of these parts behind a driver's header.
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

    /// Returns the entries, for a system call that only reads.
    #[inline]
    pub(crate) fn list(&self) -> &[libc::iovec] {
        &self.list[..self.count]
    }
}

/// Returns the address of a part if it is contiguous in the form in which it is sent.
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

    /// A source that is not contiguous.
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

    /// A source that is known by its address only.
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
            // SAFETY: an entry names bytes that are borrowed as long as `iovecs` lives.
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
