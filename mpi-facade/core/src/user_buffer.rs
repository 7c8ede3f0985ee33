//! Message buffers: as C passes them, what calls check of them first, and as the kernel borrows them: an address, a
//! number of items and their shape. No Rust reference to them is ever made, for they may hold padding and bytes that
//! nobody has initialised. Whatever copies or reduces user memory does so here.
//!
//! The functions of `mpi-facade/abi` take a [`UserAddress`] where C passes a buffer, and nothing else makes one, but
//! for memory that Rust lends. So the value itself carries the promise of its C caller, and every function that takes
//! one is safe.

use crate::constants::{Datatype, MPI_IN_PLACE};
use crate::datatype::{self, LARGEST_EXTENT, Layout, Predefined};
use crate::error::{Class, Error, Kind};
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::{ptr, slice};
use pombo_kernel::{Memory, Sink, Source};
use zerocopy::FromBytes;

/// The address of a message buffer, or `MPI_IN_PLACE`.
///
/// The C caller promises (MPI 5.0, sections 3.2.2, 3.2.4, 3.7.2 and 6.12): where the standard has the call use this
/// buffer, as many items lie there as the count and the datatype beside it say, and what is sent or reduced is
/// initialised. They stay until the call, or its request, is over, and so long nobody writes to what is sent, nor
/// touches what is received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct UserAddress<'m>(*mut c_void, PhantomData<&'m mut [u8]>);

impl<'m> UserAddress<'m> {
    /// `MPI_IN_PLACE`.
    pub const IN_PLACE: Self = UserAddress(MPI_IN_PLACE, PhantomData);

    /// Of memory of the library's own, which count and datatype beside it fit.
    pub(crate) fn of<T: FromBytes>(memory: &'m mut [T]) -> Self {
        UserAddress(memory.as_mut_ptr().cast(), PhantomData)
    }

    /// As C passed it.
    #[inline(always)]
    pub(crate) fn pointer(self) -> *mut c_void {
        self.0
    }

    /// So many bytes further on, in a buffer of several blocks.
    pub(crate) fn offset(self, bytes: isize) -> Self {
        UserAddress(self.0.wrapping_byte_offset(bytes), PhantomData)
    }

    /// The items of a point-to-point call, checked.
    #[inline(always)]
    pub(crate) fn checked(self, count: i64, datatype: Datatype) -> Result<Region, Error> {
        let items = items(count)?;
        let known = datatype::predefined(datatype).ok_or(Error::Handle {
            kind: Kind::Datatype,
            got: datatype.0,
        })?;
        present(self.0, items)?;
        Ok(self.region(items, Shape::of(known)))
    }

    /// So many items, of those that the call's count and datatype name. The operation that borrows memory of the
    /// library's own keeps it as long as the region is lent.
    #[inline(always)]
    pub(crate) fn region(self, items: usize, shape: Shape) -> Region {
        // SAFETY: the C caller has promised items there until the operation is over (see the type), and its calls ask
        // for those that count and datatype name; memory of the library's own belongs to the operation itself.
        unsafe { Region::new(self.0, items, shape) }
    }
}

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
/// Whoever makes one promises that the memory stays valid for as long as anybody may use the region: that is what MPI
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
    /// over; readable and initialised for a send, writable for a receive, and nobody else writes there meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn new(base: *mut c_void, items: usize, shape: Shape) -> Self {
        Region {
            base: base.cast(),
            items,
            shape,
        }
    }

    /// No memory at all.
    pub(crate) fn nothing() -> Self {
        Region::dense(ptr::null_mut(), 0)
    }

    /// Do both begin at the same address?
    pub(crate) fn begins_as(&self, other: &Region) -> bool {
        self.base == other.base
    }

    /// How many items.
    pub(crate) fn items(&self) -> usize {
        self.items
    }

    /// Bytes from one item to the next.
    pub(crate) fn extent(&self) -> usize {
        self.shape.extent()
    }

    /// How one item lies in memory.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// Those items, as far as there are any.
    pub(crate) fn part(&self, items: Range<usize>) -> Region {
        let end = items.end.min(self.items);
        let first = items.start.min(end);
        Region {
            base: self.base.wrapping_add(first * self.extent()),
            items: end - first,
            ..*self
        }
    }

    /// These bytes of data as single bytes; none unless they lie there in one piece.
    #[inline]
    pub(crate) fn bytes_at(&self, offset: usize, len: usize) -> Region {
        self.piece(offset, len)
            .map_or(Region::nothing(), |base| Region::dense(base, len))
    }

    fn dense(base: *mut u8, items: usize) -> Region {
        let shape = Shape::BYTE;
        Region { base, items, shape }
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

    /// Copies the data of `self` to `to`, as far as both reach. A region may be packed where it lies: no run of `self`
    /// is written to before it is read.
    pub(crate) fn copy_to(&self, to: &Region) {
        if self.base != to.base || self.shape != to.shape {
            self.copy_range(0, to, 0, usize::MAX);
        }
    }

    /// Copies so many bytes of data from `offset` on to those of `to` from `at` on, as far as both reach.
    pub(crate) fn copy_range(&self, offset: usize, to: &Region, at: usize, len: usize) {
        let len = len.min(self.bytes().saturating_sub(offset));
        let len = len.min(to.bytes().saturating_sub(at));
        let mut at = at;
        self.runs(offset, len, |from, len| {
            let mut inside = 0;
            to.runs(at, len, |into, run| {
                // SAFETY: both runs lie inside their regions, whose makers have promised that memory until the
                // operation is over (`Region::new`); it is not, as it copies. The runs may overlap.
                unsafe { copy::<true>(from.wrapping_add(inside), into, run) };
                inside += run;
            });
            at += len;
        });
    }
}

/// One side of a reduction: so many bytes, of a region whose items are laid out by the datatype.
pub(crate) struct Operand {
    base: *mut u8,
    bytes: usize,
}

/// What becomes of a pair of `inout`.
pub(crate) enum Verdict {
    /// It is replaced.
    Take,
    /// It stays.
    Keep,
    /// Equal values: the lower of both places stays.
    Lower,
}

impl Operand {
    #[inline(always)]
    pub(crate) fn of(region: &Region) -> Self {
        Operand {
            base: region.base,
            bytes: region.items * region.extent(),
        }
    }

    /// How many values there are on both sides.
    #[inline(always)]
    fn values<T>(&self, inout: &Operand) -> usize {
        self.bytes.min(inout.bytes) / size_of::<T>()
    }

    /// `inout[i] = f(self[i], inout[i])`. Reads and writes without alignment, which costs nothing on the targets
    /// served and lets the compiler use vector instructions for whatever address C passes.
    #[inline(always)]
    pub(crate) fn zip<T: FromBytes>(self, inout: Operand, f: impl Fn(T, T) -> T) {
        let (input, output) = (self.base.cast::<T>(), inout.base.cast::<T>());
        for i in 0..self.values::<T>(&inout) {
            // SAFETY: the i-th values lie inside both regions, whose makers have promised that memory, initialised,
            // until the operation is over (`Region::new`); any bytes are a `T`, and no alignment is assumed.
            unsafe {
                let (from, to) = (input.add(i), output.add(i));
                to.write_unaligned(f(from.read_unaligned(), to.read_unaligned()));
            }
        }
    }

    /// Decides by the values what becomes of each pair of a value and its place in `inout`. Only data is touched,
    /// never the padding between or behind.
    #[inline(always)]
    pub(crate) fn zip_pairs<V: FromBytes + Copy, I: FromBytes + Copy>(
        self,
        inout: Operand,
        verdict: impl Fn(V, V) -> Verdict,
        exceeds: impl Fn(I, I) -> bool,
    ) {
        /// As C lays it out.
        #[repr(C)]
        struct Pair<V, I>(V, I);
        let input: *mut Pair<V, I> = self.base.cast();
        let output: *mut Pair<V, I> = inout.base.cast();
        for i in 0..self.values::<Pair<V, I>>(&inout) {
            // SAFETY: as in `zip`, by `Region::new`'s promise, for both parts of the i-th pairs.
            unsafe {
                let (from, to) = (input.add(i), output.add(i));
                let (value, place) = (&raw mut (*to).0, &raw mut (*to).1);
                let new = (&raw const (*from).0).read_unaligned();
                let new_place = (&raw const (*from).1).read_unaligned();
                match verdict(new, value.read_unaligned()) {
                    Verdict::Keep => {}
                    Verdict::Lower if exceeds(new_place, place.read_unaligned()) => {}
                    Verdict::Lower => place.write_unaligned(new_place),
                    Verdict::Take => {
                        value.write_unaligned(new);
                        place.write_unaligned(new_place);
                    }
                }
            }
        }
    }

    /// Replaces `inout`.
    pub(crate) fn replace(self, inout: Operand) {
        let bytes = self.values::<u8>(&inout);
        // SAFETY: so many bytes lie in both regions, whose makers have promised that memory until the operation is over
        // (`Region::new`); both may be the same.
        unsafe { ptr::copy(self.base, inout.base, bytes) };
    }
}

/// Copies; short messages as two overlapping words.
///
/// # Safety
/// As for `copy_nonoverlapping`, or for `copy` if both may overlap.
#[inline(always)]
unsafe fn copy<const OVERLAPS: bool>(from: *const u8, to: *mut u8, len: usize) {
    type Word = MaybeUninit<u64>;
    const WORD: usize = size_of::<Word>();
    // SAFETY: the words lie inside the `len` bytes at both places, which the functions below and above promise for the
    // time of the copy.
    unsafe {
        if (WORD..=2 * WORD).contains(&len) {
            let (first, last) = (from.cast::<Word>(), from.wrapping_add(len - WORD).cast());
            // A message may have bytes that nobody has initialised.
            let words: (Word, Word) = (first.read_unaligned(), ptr::read_unaligned(last));
            to.cast::<Word>().write_unaligned(words.0);
            to.wrapping_add(len - WORD)
                .cast::<Word>()
                .write_unaligned(words.1);
        } else if OVERLAPS {
            ptr::copy(from, to, len);
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
            // SAFETY: the bytes lie inside the region, whose maker has promised that memory until the operation that
            // borrows it is over (`Region::new`), and are no more than `into`, which does not overlap user memory.
            Some(from) => unsafe { copy::<false>(from, to, len) },
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
        // SAFETY: the bytes lie inside the region, whose maker has promised that nobody else touches that memory until
        // the receive that borrows it is over (`Region::new`); they need not be initialised.
        Some(unsafe { slice::from_raw_parts_mut(start.cast(), len) })
    }

    #[inline(always)]
    fn copy_in(&mut self, offset: usize, bytes: &[u8]) {
        let len = bytes.len().min(self.bytes().saturating_sub(offset));
        let from = bytes.as_ptr();
        match self.in_one_piece(offset) {
            // SAFETY: as in `copy_out`, by `Region::new`'s promise, with the directions exchanged.
            Some(to) => unsafe { copy::<false>(from, to, len) },
            None => self.scatter(offset, from, len),
        }
    }
}

impl Region {
    /// What `copy_out` does with items that have holes.
    #[inline(never)]
    fn gather(&self, offset: usize, mut to: *mut u8, len: usize) {
        self.runs(offset, len, |from, run| {
            // SAFETY: the run lies inside the region, whose maker has promised that memory until the operation that
            // borrows it is over (`Region::new`); the runs together are the `len` bytes that `copy_out` has at `to`.
            unsafe { ptr::copy_nonoverlapping(from, to, run) };
            to = to.wrapping_add(run);
        });
    }

    /// What `copy_in` does with items that have holes.
    #[inline(never)]
    fn scatter(&self, offset: usize, mut from: *const u8, len: usize) {
        self.runs(offset, len, |to, run| {
            // SAFETY: as in `gather`: `Region::new`'s promise for the run, and `len` bytes that `copy_in` has at
            // `from`.
            unsafe { ptr::copy_nonoverlapping(from, to, run) };
            from = from.wrapping_add(run);
        });
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::constants::{MPI_BOTTOM, MPI_BYTE, MPI_DOUBLE_INT};
    use crate::datatype::predefined;
    use core::array::from_fn;

    fn shape(datatype: Datatype) -> Shape {
        Shape::of(predefined(datatype).unwrap())
    }

    fn region(memory: &mut [u8], items: usize, shape: Shape) -> Region {
        UserAddress::of(memory).region(items, shape)
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
        let region = region(&mut [], many, shape(MPI_DOUBLE_INT));
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
        let dense = region(&mut memory, 24, shape(MPI_BYTE));
        let pairs = region(&mut memory, 2, shape(MPI_DOUBLE_INT));
        pairs.copy_to(&pairs);
        pairs.copy_to(&dense);
        let wanted: [u8; 32] = from_fn(|i| match i {
            12..24 => i as u8 + 4,
            _ => i as u8,
        });
        assert_eq!(memory, wanted);
    }
}
