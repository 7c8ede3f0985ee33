//! C memory as the kernel borrows it: an address, a number of items and their shape. No Rust reference to it is ever
//! made, for it may hold padding and bytes that nobody has initialised. And what calls check of it first.

use crate::constants::MPI_IN_PLACE;
use crate::datatype::{LARGEST_EXTENT, Layout, Predefined};
use crate::error::{Class, Error};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::{ptr, slice};
use pombo_kernel::{Memory, Sink, Source};

/// The memory of C programs.
pub(crate) struct Foreign;

impl Memory for Foreign {
    type Out = Region;
    type In = Region;
}

/// So many items, unless there are fewer than none, or more bytes of them than any memory holds.
#[inline]
pub fn items(count: i64) -> Result<usize, Error> {
    #[cold]
    fn refused(count: i64) -> Error {
        match count {
            ..0 => Error::Count { got: count },
            _ => Error::Argument {
                class: Class::Count,
                name: "count",
                must: "so small that memory can hold all items",
            },
        }
    }
    match count as u64 {
        0..=MOST_ITEMS => Ok(count as usize),
        _ => Err(refused(count)),
    }
}

/// So many times as many items, in the same bounds.
#[inline]
pub(crate) fn times(each: usize, times: usize) -> Result<usize, Error> {
    items(i64::try_from(each.saturating_mul(times)).unwrap_or(i64::MAX))
}

/// So many items of any datatype have no more bytes than an `isize` counts.
const MOST_ITEMS: u64 = isize::MAX as u64 / LARGEST_EXTENT as u64;

/// Can items lie there?
#[inline]
pub fn present(address: *const c_void, items: usize) -> Result<(), Error> {
    #[cold]
    fn refused(address: *const c_void, items: usize) -> Error {
        let count = items as i64;
        match address.is_null() {
            true => Error::Buffer { count },
            false => Error::Argument {
                class: Class::Buffer,
                name: "buffer",
                must: "memory: MPI_IN_PLACE has no meaning here",
            },
        }
    }
    // Both are below all memory, so one comparison finds them.
    match address.addr() <= MPI_IN_PLACE.addr() && items > 0 {
        true => Err(refused(address, items)),
        false => Ok(()),
    }
}

/// Items in C memory, `extent` bytes apart, each of one or two runs of bytes.
///
/// Whoever makes one promises that the memory stays valid for as long as the kernel may use it: that is what MPI
/// asks of the caller of every communication function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    base: *mut u8,
    items: usize,
    shape: Shape,
}

/// How one item lies in memory. A reference to a table, for a region is copied often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape(&'static Layout);

impl Shape {
    /// Single bytes.
    pub(crate) const BYTE: Shape = Shape(&Layout::BYTE);

    /// Of a predefined datatype.
    #[inline]
    pub(crate) fn of(datatype: &'static Predefined) -> Self {
        Shape(&datatype.layout)
    }

    /// Bytes of data in one item.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.0.size
    }

    /// Bytes from one item to the next.
    #[inline]
    pub(crate) fn extent(&self) -> usize {
        self.0.extent
    }
}

impl Region {
    /// # Safety
    /// `items` items of that shape lie at `base` and stay there until the operation that this region is lent to is
    /// over; readable for a send, writable for a receive.
    pub(crate) unsafe fn new(base: *mut c_void, items: usize, shape: Shape) -> Self {
        Region {
            base: base.cast(),
            items,
            shape,
        }
    }

    /// No memory at all.
    pub(crate) fn nothing() -> Self {
        Region {
            base: ptr::null_mut(),
            items: 0,
            shape: Shape::BYTE,
        }
    }

    /// The address of the first item.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// How many items.
    pub(crate) fn items(&self) -> usize {
        self.items
    }

    /// Bytes from one item to the next.
    pub(crate) fn extent(&self) -> usize {
        self.shape.extent()
    }

    /// The same items elsewhere.
    ///
    /// # Safety
    /// As for [`Region::new`].
    pub(crate) unsafe fn at(&self, base: *mut c_void) -> Region {
        Region {
            base: base.cast(),
            ..*self
        }
    }

    /// Bytes of data: no more than an `isize` counts, by [`items`] or because that memory is there.
    #[inline]
    fn bytes(&self) -> usize {
        self.items * self.shape.size()
    }

    /// Where that data byte lies, if all data lies in one piece.
    #[inline(always)]
    fn in_one_piece(&self, offset: usize) -> Option<*mut u8> {
        let Layout { first, extent, .. } = *self.shape.0;
        (first == extent).then(|| self.base.wrapping_add(offset))
    }

    /// Where these bytes lie, if in one piece.
    fn piece(&self, offset: usize, len: usize) -> Option<*mut u8> {
        let inside = offset.checked_add(len)? <= self.bytes() && len > 0;
        self.in_one_piece(offset).filter(|_| inside)
    }

    /// Calls `f` with address and length of every run that holds the data bytes `offset..offset + len`.
    #[inline]
    fn runs(&self, offset: usize, len: usize, mut f: impl FnMut(*mut u8, usize)) {
        if len == 0 {
            return;
        }
        if let Some(start) = self.in_one_piece(offset) {
            return f(start, len);
        }
        let Layout {
            size,
            first,
            second_at,
            extent,
        } = *self.shape.0;
        let (mut at, end) = (offset, offset + len);
        while at < end {
            let (item, inside) = (at / size, at % size);
            let start = self.base.wrapping_add(item * extent);
            let (address, run) = if inside < first {
                (start.wrapping_add(inside), first - inside)
            } else {
                (
                    start.wrapping_add(second_at + inside - first),
                    size - inside,
                )
            };
            let run = run.min(end - at);
            f(address, run);
            at += run;
        }
    }

    /// Copies the data of `self` to `to`, as far as both reach.
    ///
    /// # Safety
    /// Both regions are valid now, and no run of `self` is written to before it is read: a region may be packed where
    /// it lies.
    pub(crate) unsafe fn copy_to(&self, to: &Region) {
        if self.base == to.base && self.shape == to.shape {
            return;
        }
        let mut at = 0;
        self.runs(0, self.bytes().min(to.bytes()), |from, len| {
            let mut inside = 0;
            to.runs(at, len, |into, run| {
                // SAFETY: both runs lie inside their regions, which the caller vouches for.
                unsafe { ptr::copy(from.wrapping_add(inside), into, run) };
                inside += run;
            });
            at += len;
        });
    }
}

/// Copies; short messages as two overlapping words.
///
/// # Safety
/// As for `copy_nonoverlapping`.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    type Word = MaybeUninit<u64>;
    const WORD: usize = size_of::<Word>();
    // SAFETY: the words lie inside the `len` bytes at both places, which the caller vouches for.
    unsafe {
        if (WORD..=2 * WORD).contains(&len) {
            let (first, last) = (from.cast::<Word>(), from.wrapping_add(len - WORD).cast());
            // A message may have bytes that nobody has initialised.
            let words: (Word, Word) = (first.read_unaligned(), ptr::read_unaligned(last));
            to.cast::<Word>().write_unaligned(words.0);
            to.wrapping_add(len - WORD)
                .cast::<Word>()
                .write_unaligned(words.1);
        } else {
            ptr::copy_nonoverlapping(from, to, len);
        }
    }
}

impl Source for Region {
    #[inline]
    fn len(&self) -> usize {
        self.bytes()
    }

    fn fixed(&self, offset: usize, len: usize) -> Option<*const u8> {
        self.piece(offset, len).map(<*mut u8>::cast_const)
    }

    #[inline(always)]
    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        let len = into.len().min(self.bytes().saturating_sub(offset));
        let to = into.as_mut_ptr();
        match self.in_one_piece(offset) {
            // SAFETY: the bytes lie inside the region, which is valid while it is lent (`Region::new`), and are no
            // more than `into`, which is the kernel's and does not overlap user memory.
            Some(from) => unsafe { copy(from, to, len) },
            None => self.gather(offset, to, len),
        }
    }
}

impl Sink for Region {
    #[inline]
    fn len(&self) -> usize {
        self.bytes()
    }

    fn space(&mut self, offset: usize, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        let start = self.piece(offset, len)?;
        // SAFETY: the bytes lie inside the region, which is valid while it is lent (`Region::new`) and whose receive
        // buffer MPI forbids the program to touch meanwhile; they need not be initialised.
        Some(unsafe { slice::from_raw_parts_mut(start.cast(), len) })
    }

    #[inline(always)]
    fn copy_in(&mut self, offset: usize, bytes: &[u8]) {
        let len = bytes.len().min(self.bytes().saturating_sub(offset));
        let from = bytes.as_ptr();
        match self.in_one_piece(offset) {
            // SAFETY: as in `copy_out`, with the directions exchanged.
            Some(to) => unsafe { copy(from, to, len) },
            None => self.scatter(offset, from, len),
        }
    }
}

impl Region {
    /// What `copy_out` does with items that have holes.
    #[inline(never)]
    fn gather(&self, offset: usize, mut to: *mut u8, len: usize) {
        self.runs(offset, len, |from, run| {
            // SAFETY: the run lies inside the region, as in `copy_out`; the runs together are `len` bytes.
            unsafe { ptr::copy_nonoverlapping(from, to, run) };
            to = to.wrapping_add(run);
        });
    }

    /// What `copy_in` does with items that have holes.
    #[inline(never)]
    fn scatter(&self, offset: usize, mut from: *const u8, len: usize) {
        self.runs(offset, len, |to, run| {
            // SAFETY: as in `gather`, with the directions exchanged.
            unsafe { ptr::copy_nonoverlapping(from, to, run) };
            from = from.wrapping_add(run);
        });
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::constants::{Datatype, MPI_BOTTOM, MPI_BYTE, MPI_DOUBLE_INT};
    use crate::datatype::predefined;
    use core::array::from_fn;

    fn shape(datatype: Datatype) -> Shape {
        Shape::of(predefined(datatype).unwrap())
    }

    #[test]
    fn counts_end_where_memory_does() {
        let most = MOST_ITEMS as i64;
        assert_eq!((items(0), items(most)), (Ok(0), Ok(most as usize)));
        for count in [-1, i64::MIN] {
            assert_eq!(items(count), Err(Error::Count { got: count }));
        }
        for count in [most + 1, 1 << 61, i64::MAX] {
            assert_eq!(items(count).unwrap_err().class(), Class::Count);
        }
        let many = items(most).unwrap();
        // SAFETY: the memory is never touched.
        let region = unsafe { Region::new(MPI_BOTTOM, many, shape(MPI_DOUBLE_INT)) };
        assert_eq!(Source::len(&region), many.checked_mul(12).unwrap());
        assert_eq!(times(many, 1), Ok(many));
        assert!(times(many, 2).is_err() && times(1 << 57, 1 << 16).is_err());
    }

    #[test]
    fn items_need_memory_and_none_need_none() {
        let here = 0_u8;
        for address in [MPI_BOTTOM, MPI_IN_PLACE] {
            assert_eq!(present(address, 0), Ok(()));
            assert_eq!(present(address, 1).unwrap_err().class(), Class::Buffer);
        }
        assert_eq!(present((&raw const here).cast(), 1), Ok(()));
    }

    /// Where two regions begin at the same place, but lie otherwise, there is something to copy.
    #[test]
    fn one_base_and_two_shapes() {
        let mut memory: [u8; 32] = from_fn(|i| i as u8);
        let base = memory.as_mut_ptr().cast();
        // SAFETY: 24 bytes, and two pairs of 16, in 32 bytes.
        unsafe {
            let dense = Region::new(base, 24, shape(MPI_BYTE));
            let pairs = Region::new(base, 2, shape(MPI_DOUBLE_INT));
            pairs.copy_to(&pairs);
            pairs.copy_to(&dense);
        }
        let wanted: [u8; 32] = from_fn(|i| match i {
            12..24 => i as u8 + 4,
            _ => i as u8,
        });
        assert_eq!(memory, wanted);
    }
}
