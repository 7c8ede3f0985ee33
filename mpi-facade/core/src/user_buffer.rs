//! Message buffers: as C passes them, the checks on them, and as the kernel borrows them: an address, a number of items
//! and their shape. No Rust reference to them is ever made, as they may hold padding and uninitialised bytes. All
//! copies and reductions of user memory are here.
//!
//! The functions of `mpi-facade/abi` take a [`UserAddress`] where C passes a buffer, and nothing else makes one, except
//! for memory that Rust lends. So the value itself carries the promise of its C caller, and every function that takes
//! one is safe.

use crate::constants::{Datatype, MPI_IN_PLACE};
use crate::datatype::representation::{HETEROGENEOUS, MOST, from_message, to_message};
use crate::datatype::{Datatypes, Predefined, Shape, TypeLayout, predefined};
use crate::error::{Class, Error};
use alloc::rc::Rc;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::{ptr, slice};
use pombo_kernel::memory::{COPY_PIECE, copy_piece};
use pombo_kernel::{Memory, Sink, Source};
use pombo_netdrivers::tuning::{COMBINED_AHEAD, FAST_PATHS};
use zerocopy::FromBytes;

/// The address of a message buffer, or `MPI_IN_PLACE`.
///
/// The C caller promises (MPI 5.0, sections 3.2.2, 3.2.4, 3.7.2 and 6.12): where the standard has the call use this
/// buffer, it has as many items as its count and datatype say, and the items to be sent or reduced are initialised.
/// They stay valid until the call, or its request, is complete; until then nothing writes to data being sent or
/// accesses data being received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct UserAddress<'m>(*mut c_void, PhantomData<&'m mut [u8]>);

impl<'m> UserAddress<'m> {
    /// `MPI_IN_PLACE`.
    pub const IN_PLACE: Self = UserAddress(MPI_IN_PLACE, PhantomData);
    /// `MPI_BOTTOM`, and the null pointer.
    pub(crate) const BOTTOM: Self = UserAddress(ptr::null_mut(), PhantomData);

    /// Makes the address of the library's own memory, which the count and datatype beside it must fit.
    pub(crate) fn of<T: FromBytes>(memory: &'m mut [T]) -> Self {
        UserAddress(memory.as_mut_ptr().cast(), PhantomData)
    }

    /// Returns the address `bytes` bytes further on, in a buffer of several blocks.
    pub(crate) fn offset(self, bytes: isize) -> Self {
        UserAddress(self.0.wrapping_byte_offset(bytes), PhantomData)
    }

    /// Checks the arguments of a point-to-point call and returns the region.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn checked(
        self,
        datatypes: &Datatypes,
        count: i64,
        datatype: Datatype,
    ) -> Result<Region, Error> {
        match predefined(datatype).and_then(Predefined::dense_size) {
            // One way suffices where speed does not count.
            Some(size) if cfg!(feature = "fast-paths") => {
                let shape = Shape::dense(size);
                let items = shape.items(count)?;
                present(self.0, items)?;
                Ok(self.region(items, shape))
            }
            _ => self.checked_slowly(datatypes, count, datatype),
        }
    }

    /// Returns the region if the arguments are in order and the datatype is predefined and contiguous.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn checked_dense(self, count: i64, datatype: Datatype) -> Option<Region> {
        let shape = Shape::dense(predefined(datatype)?.dense_size()?);
        let items = shape.items(count).ok()?;
        present(self.0, items).ok()?;
        Some(self.region(items, shape))
    }

    /// Does so for other datatypes than contiguous predefined ones.
    #[inline(never)]
    fn checked_slowly(
        self,
        datatypes: &Datatypes,
        count: i64,
        datatype: Datatype,
    ) -> Result<Region, Error> {
        let shape = datatypes.shape(datatype)?;
        let items = shape.items(count)?;
        self.present(items, &shape)?;
        Ok(self.region(items, shape))
    }

    /// Checks that items of that shape may be at this address.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn present(self, items: usize, shape: &Shape) -> Result<(), Error> {
        match shape.gaps() {
            None => match present(self.0, items) {
                // Items without data need no memory.
                Err(_) if shape.size() == 0 => Ok(()),
                checked => checked,
            },
            Some(layout) => layout_present(self.0, items, layout),
        }
    }

    /// Returns the region of `items` items, at most those that the call's count and datatype name. An operation that
    /// borrows the library's own memory keeps it as long as the region is lent.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn region(self, items: usize, shape: Shape) -> Region {
        // SAFETY: the C caller has promised items there until the operation is complete (see the type), and its calls
        // ask for at most those of count and datatype; an operation owns the library's own memory that it lends.
        unsafe { Region::new(self.0, items, shape) }
    }
}

/// The memory of C programs, as the kernel's type of foreign buffers.
pub(crate) struct Foreign;

impl Memory for Foreign {
    type Out = Region;
    type In = Region;
}

/// Checks that an address may have items: it is neither null nor `MPI_IN_PLACE`.
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
    // Both special values are below all memory, so one comparison finds them.
    match address.addr() <= MPI_IN_PLACE.addr() && items > 0 {
        true => Err(refused(address, items)),
        false => Ok(()),
    }
}

/// Checks an address for items whose displacements may be relative to address 0 (`MPI_BOTTOM`).
#[cold]
fn layout_present(address: *const c_void, items: usize, layout: &TypeLayout) -> Result<(), Error> {
    let is_absolute = address.is_null() && layout.bounds().true_lower != 0;
    match is_absolute || layout.size() == 0 {
        true => Ok(()),
        false => present(address, items),
    }
}

/// Bytes that are converted at a time.
const CHUNK: usize = 512;

/// A part of C memory: contiguous bytes, or items of a layout.
///
/// Where machines may differ, values of more than one byte always have a layout, and contiguous bytes are in the form of
/// messages ([`crate::datatype::representation`]): copies from one to the other convert. Otherwise both are one.
///
/// The maker of a region promises that the memory stays valid as long as the region is used: MPI requires that of the
/// caller of every communication function.
#[derive(Clone)]
pub(crate) struct Region {
    base: *mut u8,
    /// Number of bytes, or of items of the layout.
    len: usize,
    layout: Option<Rc<TypeLayout>>,
}

impl Region {
    /// # Safety
    /// `items` items of that shape are at `base` and stay valid until the operation that borrows this region is
    /// complete: readable and initialised for a send, writable for a receive, and not written by others meanwhile.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) unsafe fn new(base: *mut c_void, items: usize, shape: Shape) -> Self {
        let base = base.cast();
        match shape.into_gaps() {
            Ok(size) => Region::dense(base, items * size),
            Err(layout) => Region {
                base,
                len: items,
                layout: Some(layout),
            },
        }
    }

    /// Returns an empty region.
    pub(crate) fn nothing() -> Self {
        Region::dense(ptr::null_mut(), 0)
    }

    /// Returns whether the first bytes of data of both are at the same address. The bases say nothing where a layout has
    /// its own displacements: all of `MPI_BOTTOM` are equal.
    pub(crate) fn begins_as(&self, other: &Region) -> bool {
        let first = |region: &Region| match &region.layout {
            None => region.base,
            Some(layout) => region
                .base
                .wrapping_offset(layout.bounds().true_lower as isize),
        };
        first(self) == first(other)
    }

    /// Returns whether the region has no items, or items without data.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Returns the number of items of that shape, which is the region's.
    pub(crate) fn items(&self, shape: &Shape) -> usize {
        match self.layout {
            None => self.len / shape.size().max(1),
            Some(_) => self.len,
        }
    }

    /// Returns whether all data is contiguous.
    #[inline]
    pub(crate) fn is_dense(&self) -> bool {
        self.layout.is_none()
    }

    /// Returns the shape of the items of the layout, or of bytes.
    pub(crate) fn shape(&self) -> Shape {
        self.layout.as_ref().map_or(Shape::BYTE, Shape::of)
    }

    /// Returns the address of the first item, for another region of the same memory.
    pub(crate) fn as_address(&self) -> UserAddress<'_> {
        UserAddress(self.address(), PhantomData)
    }

    /// Returns the address of the first item.
    pub(crate) fn address(&self) -> *mut c_void {
        self.base.cast()
    }

    /// Returns this region moved by that many bytes.
    pub(crate) fn moved(mut self, bytes: usize) -> Region {
        self.base = self.base.wrapping_add(bytes);
        self
    }

    /// Returns the region of these items of that shape, which is the region's, as far as they exist.
    pub(crate) fn part(&self, items: Range<usize>, shape: &Shape) -> Region {
        let end = items.end.min(self.items(shape));
        let first = items.start.min(end);
        let unit = if self.is_dense() { shape.size() } else { 1 };
        Region {
            base: self.base.wrapping_offset(first as isize * shape.extent()),
            len: (end - first) * unit,
            layout: self.layout.clone(),
        }
    }

    /// Returns these bytes of data as single bytes; `None` unless they are contiguous.
    #[inline]
    pub(crate) fn bytes_at(&self, offset: usize, len: usize) -> Region {
        self.piece(offset, len)
            .map_or(Region::nothing(), |base| Region::dense(base, len))
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn dense(base: *mut u8, len: usize) -> Region {
        let layout = None;
        Region { base, len, layout }
    }

    /// Returns the bytes of data: at most `isize::MAX`, by [`items`] or because the memory exists.
    #[inline]
    fn bytes(&self) -> usize {
        match &self.layout {
            None => self.len,
            Some(layout) => self.len * layout.size(),
        }
    }

    /// Returns the address of that data byte, if all data is contiguous.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn in_one_piece(&self, offset: usize) -> Option<*mut u8> {
        self.is_dense().then(|| self.base.wrapping_add(offset))
    }

    /// Returns the address of these bytes, if they are contiguous.
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
        let Some(layout) = &self.layout else {
            return;
        };
        for block in layout.blocks(self.len, offset, len) {
            let mut address = self.base.wrapping_offset(block.displacement as isize);
            for _ in 0..block.count {
                f(address, block.len as usize);
                address = address.wrapping_offset(block.stride as isize);
            }
        }
    }

    /// Returns whether the data of both is the same memory in the same order.
    fn is_same(&self, other: &Region) -> bool {
        let same_shape = match (&self.layout, &other.layout) {
            (None, None) => true,
            (Some(layout), Some(other)) => Rc::ptr_eq(layout, other),
            _ => false,
        };
        self.base == other.base && same_shape
    }

    /// Copies the data of `self` to `to`, up to the length of the shorter one. A region may be packed in place: no run
    /// of `self` is overwritten before it is read.
    pub(crate) fn copy_to(&self, to: &Region) {
        if !self.is_same(to) {
            self.copy_range(0, to, 0, usize::MAX);
        }
    }

    /// Does so with all bytes as they are in memory.
    pub(crate) fn copy_unconverted(&self, to: &Region) {
        self.copy_range_unconverted(0, to, 0, usize::MAX);
    }

    /// Copies `len` bytes of data from `offset` to those of `to` from `at`, as far as both regions reach.
    pub(crate) fn copy_range(&self, offset: usize, to: &Region, at: usize, len: usize) {
        if !HETEROGENEOUS || self.is_dense() == to.is_dense() {
            return self.copy_range_unconverted(offset, to, at, len);
        }
        let len = len.min(self.bytes().saturating_sub(offset));
        let len = len.min(to.bytes().saturating_sub(at));
        // Through a piece of the stack, as neither side may be lent as a slice.
        let (mut chunk, mut done) = ([0; CHUNK], 0);
        while done < len {
            let now = CHUNK.min(len - done);
            let piece = &mut chunk[..now];
            match self.is_dense() {
                true => {
                    self.copy_out(offset + done, piece);
                    to.clone().copy_in_swapped(at + done, piece);
                }
                false => {
                    self.copy_out_swapped(offset + done, piece);
                    to.clone().copy_in(at + done, piece);
                }
            }
            done += now;
        }
    }

    /// Copies so with all bytes as they are in memory.
    pub(crate) fn copy_range_unconverted(&self, offset: usize, to: &Region, at: usize, len: usize) {
        let len = len.min(self.bytes().saturating_sub(offset));
        let len = len.min(to.bytes().saturating_sub(at));
        let mut at = at;
        self.runs(offset, len, |from, len| {
            let mut inside = 0;
            to.runs(at, len, |into, run| {
                // SAFETY: both runs are inside their regions, whose makers have promised that memory until the
                // operation is complete (`Region::new`), and it is not, as it copies. The runs may overlap.
                unsafe { copy::<true>(from.wrapping_add(inside), into, run) };
                inside += run;
            });
            at += len;
        });
    }
}

/// One side of a reduction: the bytes of a region whose items have the datatype's layout.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    base: *mut u8,
    bytes: usize,
}

/// Which of two pairs a reduction takes.
pub(crate) enum Verdict {
    /// The left one.
    Left,
    /// The right one.
    Right,
    /// The values are equal: the right one with the lower index.
    Lower,
}

impl Operand {
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn of(region: &Region) -> Self {
        Operand {
            base: region.base,
            bytes: match &region.layout {
                None => region.len,
                Some(layout) => region.len * layout.bounds().extent() as usize,
            },
        }
    }

    /// Returns the number of values that all three have.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn values<T>(&self, right: &Operand, into: &Operand) -> usize {
        self.bytes.min(right.bytes).min(into.bytes) / size_of::<T>()
    }

    /// Applies `into[i] = f(self[i], right[i])`; the result may be the memory of either. It reads and writes without
    /// alignment, which costs nothing on the supported targets and allows vector instructions for whatever address C
    /// passes.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn zip<T: FromBytes>(self, right: Operand, into: Operand, f: impl Fn(T, T) -> T) {
        self.zip_ahead(right, into, usize::MAX, f);
    }

    /// As [`Operand::zip`]; it prefetches both sides so many values ahead.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn zip_ahead<T: FromBytes>(
        self,
        right: Operand,
        into: Operand,
        ahead: usize,
        f: impl Fn(T, T) -> T,
    ) {
        let (left, other) = (self.base.cast::<T>(), right.base.cast::<T>());
        let output = into.base.cast::<T>();
        let values = self.values::<T>(&right, &into);
        #[cfg(target_arch = "x86_64")]
        let prefetched = values.saturating_sub(ahead);
        #[cfg(not(target_arch = "x86_64"))]
        let _ = ahead;
        for i in 0..values {
            // SAFETY: the i-th values are inside the regions, whose makers have promised that memory, initialised,
            // until the operation is complete (`Region::new`); any bytes are a valid `T`, and no alignment is assumed.
            // A prefetch is a hint, which every such processor has; it changes nothing.
            unsafe {
                let (left, other) = (left.add(i), other.add(i));
                #[cfg(target_arch = "x86_64")]
                if i < prefetched {
                    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                    _mm_prefetch::<_MM_HINT_T0>(left.wrapping_add(ahead).cast());
                    _mm_prefetch::<_MM_HINT_T0>(other.wrapping_add(ahead).cast());
                }
                let value = f(left.read_unaligned(), other.read_unaligned());
                output.add(i).write_unaligned(value);
            }
        }
    }

    /// As [`Operand::zip`], as many values at a time as four `V` or one hold, and the rest one by one. It prefetches, as
    /// another processor may just have written a side: in such a loop, this one does not look as far ahead as the line
    /// between them takes.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn zip_vectors<V: FromBytes + Copy, T: FromBytes>(
        self,
        right: Operand,
        into: Operand,
        vectors: impl Fn(V, V) -> V,
        singles: impl Fn(T, T) -> T,
    ) {
        let sides = [self, right, into];
        let ahead = COMBINED_AHEAD / size_of::<[V; 4]>();
        self.zip_ahead::<[V; 4]>(right, into, ahead, |[a, b, c, d], [e, f, g, h]| {
            [vectors(a, e), vectors(b, f), vectors(c, g), vectors(d, h)]
        });
        let whole = self.values::<[V; 4]>(&right, &into) * size_of::<[V; 4]>();
        let [left, right, into] = sides.map(|side| side.behind(whole));
        left.zip::<V>(right, into, &vectors);
        let whole = left.values::<V>(&right, &into) * size_of::<V>();
        let [left, right, into] = [left, right, into].map(|side| side.behind(whole));
        left.zip::<T>(right, into, singles);
    }

    /// Returns what follows so many bytes, which it has.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn behind(self, bytes: usize) -> Operand {
        Operand {
            base: self.base.wrapping_add(bytes),
            bytes: self.bytes - bytes,
        }
    }

    /// Takes the left or the right one of each pair of value and index, or the right value and the lower index, as
    /// `judge` decides by the values. Only data is accessed, never the padding between or behind.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn zip_pairs<V: FromBytes + Copy, I: FromBytes + Copy>(
        self,
        right: Operand,
        into: Operand,
        verdict: impl Fn(V, V) -> Verdict,
        exceeds: impl Fn(I, I) -> bool,
    ) {
        /// The pair as C lays it out.
        #[repr(C)]
        struct Pair<V, I>(V, I);
        let [left, other, output] =
            [self, right, into].map(|operand| operand.base.cast::<Pair<V, I>>());
        for i in 0..self.values::<Pair<V, I>>(&right, &into) {
            // SAFETY: both parts of the i-th pairs are inside their regions, whose makers have promised that memory,
            // initialised, until the operation is complete (`Region::new`); no alignment is assumed.
            unsafe {
                let [(a, i_a), (b, i_b)] = [left.add(i), other.add(i)].map(|pair| {
                    let (value, index) = (&raw const (*pair).0, &raw const (*pair).1);
                    (value.read_unaligned(), index.read_unaligned())
                });
                let (value, index) = match verdict(a, b) {
                    Verdict::Left => (a, i_a),
                    Verdict::Right => (b, i_b),
                    Verdict::Lower if exceeds(i_b, i_a) => (b, i_a),
                    Verdict::Lower => (b, i_b),
                };
                let to = output.add(i);
                (&raw mut (*to).0).write_unaligned(value);
                (&raw mut (*to).1).write_unaligned(index);
            }
        }
    }

    /// Copies all values to `into`.
    pub(crate) fn replace(self, right: Operand, into: Operand) {
        let bytes = self.values::<u8>(&right, &into);
        // SAFETY: `bytes` bytes are in both regions, whose makers have promised that memory until the operation is
        // complete (`Region::new`); both may be the same.
        unsafe { ptr::copy(self.base, into.base, bytes) };
    }
}

/// Copies `len` bytes; short messages as two overlapping words.
///
/// # Safety
/// The requirements are those of `copy_nonoverlapping`, or of `copy` if the two may overlap.
#[cfg_attr(feature = "fast-paths", inline(always))]
unsafe fn copy<const OVERLAPS: bool>(from: *const u8, to: *mut u8, len: usize) {
    type Word = MaybeUninit<u64>;
    const WORD: usize = size_of::<Word>();
    // SAFETY: the words are inside the `len` bytes at both addresses, which are valid during the copy (see `# Safety`).
    unsafe {
        if (WORD..=2 * WORD).contains(&len) {
            let (first, last) = (from.cast::<Word>(), from.wrapping_add(len - WORD).cast());
            // A message may have uninitialised bytes.
            let words: (Word, Word) = (first.read_unaligned(), ptr::read_unaligned(last));
            to.cast::<Word>().write_unaligned(words.0);
            to.wrapping_add(len - WORD)
                .cast::<Word>()
                .write_unaligned(words.1);
        } else if OVERLAPS {
            ptr::copy(from, to, len);
        } else {
            match FAST_PATHS && len > COPY_PIECE {
                true => copy_long(from, to, len),
                false => ptr::copy_nonoverlapping(from, to, len),
            }
        }
    }
}

/// Copies `len` bytes, more than none, in pieces where that is quicker.
///
/// # Safety
/// The requirements are those of `copy_nonoverlapping`.
#[inline(never)]
unsafe fn copy_long(from: *const u8, to: *mut u8, len: usize) {
    let piece = copy_piece(from.addr(), to.addr(), len);
    for at in (0..len).step_by(piece) {
        // SAFETY: the pieces lie side by side within the `len` bytes (see `# Safety`).
        unsafe { ptr::copy_nonoverlapping(from.add(at), to.add(at), piece.min(len - at)) };
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

    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        let len = into.len().min(self.bytes().saturating_sub(offset));
        let to = into.as_mut_ptr();
        match self.in_one_piece(offset) {
            // SAFETY: the bytes are inside the region, whose maker has promised that memory until the operation that
            // borrows it is complete (`Region::new`), and are no more than `into`, which does not overlap user memory.
            Some(from) => unsafe { copy::<false>(from, to, len) },
            None => self.copy_blocks::<true>(offset, to, len),
        }
    }

    /// Copies out data in the form of messages.
    fn copy_out_swapped(&self, offset: usize, into: &mut [u8]) {
        let Some(layout) = self.layout.as_ref().filter(|_| HETEROGENEOUS) else {
            return self.copy_out(offset, into);
        };
        let mut rest = into;
        let len = rest.len().min(self.bytes().saturating_sub(offset));
        layout.for_each_value(self.len, offset, len, |displacement, element, bytes| {
            let (here, later) = core::mem::take(&mut rest).split_at_mut(bytes.len());
            let mut value = [0; MOST];
            let value = &mut value[..element.size()];
            let from = self.base.wrapping_offset(displacement);
            // SAFETY: the value is inside the region, whose maker has promised that memory until the operation that borrows
            // it is complete (`Region::new`), initialised, and the copy of it is a local.
            unsafe { ptr::copy_nonoverlapping(from, value.as_mut_ptr(), value.len()) };
            to_message(element, value);
            here.copy_from_slice(&value[bytes]);
            rest = later;
        });
    }
}

impl Sink for Region {
    #[inline]
    fn len(&self) -> usize {
        self.bytes()
    }

    fn space(&mut self, offset: usize, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        let start = self.piece(offset, len)?;
        // SAFETY: the bytes are inside the region, whose maker has promised that nothing else accesses that memory
        // until the receive that borrows it is complete (`Region::new`); they need not be initialised.
        Some(unsafe { slice::from_raw_parts_mut(start.cast(), len) })
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn copy_in(&mut self, offset: usize, bytes: &[u8]) {
        let len = bytes.len().min(self.bytes().saturating_sub(offset));
        let from = bytes.as_ptr();
        match self.in_one_piece(offset) {
            // SAFETY: the bytes are inside the region, whose maker has promised that memory until the receive that
            // borrows it is complete (`Region::new`), and are no more than `from`, which does not overlap user memory.
            Some(to) => unsafe { copy::<false>(from, to, len) },
            None => self.copy_blocks::<false>(offset, from.cast_mut(), len),
        }
    }

    /// Copies in data in the form of messages, which comes in order: a value of which a part has come is converted when
    /// its last byte has.
    fn copy_in_swapped(&mut self, offset: usize, bytes: &[u8]) {
        let Some(layout) = self.layout.as_ref().filter(|_| HETEROGENEOUS) else {
            return self.copy_in(offset, bytes);
        };
        let mut rest = bytes;
        let len = rest.len().min(self.bytes().saturating_sub(offset));
        layout.for_each_value(self.len, offset, len, |displacement, element, part| {
            let (here, later) = rest.split_at(part.len());
            let (start, end, mut value) = (part.start, part.end, [0; MOST]);
            let value = &mut value[..element.size()];
            let to = self.base.wrapping_offset(displacement);
            value[part].copy_from_slice(here);
            // SAFETY: the value is inside the region, whose maker has promised that memory until the receive that borrows it
            // is complete (`Region::new`); its first bytes were written before its last ones. The other side is a local.
            unsafe {
                if end == value.len() {
                    ptr::copy_nonoverlapping(to, value.as_mut_ptr(), start);
                    from_message(element, value);
                    ptr::copy_nonoverlapping(value.as_ptr(), to, end);
                } else {
                    ptr::copy_nonoverlapping(value[start..].as_ptr(), to.add(start), end - start);
                }
            }
            rest = later;
        });
    }
}

impl Region {
    /// Copies data of items with gaps, from byte `offset` on: to `len` contiguous bytes (`OUT`), or from them.
    #[inline(never)]
    fn copy_blocks<const OUT: bool>(&self, offset: usize, mut bytes: *mut u8, len: usize) {
        let Some(layout) = &self.layout else {
            return;
        };
        for block in layout.blocks(self.len, offset, len) {
            let mut item = self.base.wrapping_offset(block.displacement as isize);
            let (len, stride) = (block.len as usize, block.stride as isize);
            // Regular layouts spend their time here: with the length as a constant a piece is one or two instructions.
            macro_rules! pieces {
                ($len:expr) => {
                    for _ in 0..block.count {
                        let (from, to) = if OUT { (item, bytes) } else { (bytes, item) };
                        ptr::copy_nonoverlapping(from.cast_const(), to, $len);
                        item = item.wrapping_offset(stride);
                        bytes = bytes.wrapping_add($len);
                    }
                };
            }
            // SAFETY: the pieces are inside the region, whose maker has promised that memory until the operation that
            // borrows it is complete (`Region::new`); all pieces together are the `len` bytes that `copy_out` and
            // `copy_in` have, which do not overlap user memory.
            unsafe {
                match len {
                    4 => pieces!(4),
                    8 => pieces!(8),
                    16 => pieces!(16),
                    24 => pieces!(24),
                    32 => pieces!(32),
                    64 => pieces!(64),
                    _ => pieces!(len),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::constants::MPI_BOTTOM;

    fn shape(datatype: Datatype) -> Shape {
        Datatypes::new().shape(datatype).unwrap()
    }

    fn region(memory: &mut [u8], items: usize, shape: Shape) -> Region {
        UserAddress::of(memory).region(items, shape)
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

    /// Copies values of every predefined datatype to messages and back in pieces of every length, and compares with the
    /// reversed bytes of each value.
    #[cfg(feature = "heterogeneous")]
    #[test]
    fn values_travel_in_one_form() {
        use crate::datatype::{Element, Family, all};
        const ITEMS: usize = 3;
        for (datatype, known) in all() {
            let (element, extent) = (known.element, known.extent());
            let parts: std::vec::Vec<(usize, Element)> = match known.family {
                Family::Indexed => std::vec![(0, element), (known.index_offset(), Element::I32)],
                _ => (0..known.size() / element.size())
                    .map(|part| (part * element.size(), element))
                    .collect(),
            };
            let mut memory: std::vec::Vec<u8> =
                (0..ITEMS * extent).map(|at| at as u8 + 1).collect();
            let mut message = std::vec::Vec::new();
            for (item, (at, element)) in
                (0..ITEMS).flat_map(|item| parts.iter().map(move |part| (item, *part)))
            {
                let place = item * extent + at..item * extent + at + element.size();
                let value = &mut memory[place];
                if element == Element::LongDouble && cfg!(target_arch = "x86_64") {
                    // One and a half.
                    value.copy_from_slice(&(0x3fff_c000_0000_0000_0000_u128).to_ne_bytes());
                    message.extend_from_slice(&(0x3fff_8000_u128 << 96).to_be_bytes());
                } else if cfg!(target_endian = "little") {
                    message.extend(value.iter().rev());
                } else {
                    message.extend_from_slice(value);
                }
            }
            for piece in 1..40 {
                let mut back = std::vec![0xee; memory.len()];
                let from = region(&mut memory, ITEMS, shape(datatype));
                let mut into = region(&mut back, ITEMS, shape(datatype));
                let mut sent = std::vec![0; message.len()];
                for (at, piece) in sent
                    .chunks_mut(piece)
                    .enumerate()
                    .map(|(i, c)| (i * piece, c))
                {
                    from.copy_out_swapped(at, piece);
                }
                assert_eq!(sent, message, "{} in pieces of {piece}", known.name());
                for (at, piece) in sent.chunks(piece).enumerate().map(|(i, c)| (i * piece, c)) {
                    into.copy_in_swapped(at, piece);
                }
                for item in 0..ITEMS {
                    for (at, element) in &parts {
                        let place = item * extent + at..item * extent + at + element.size();
                        assert_eq!(memory[place.clone()], back[place], "{}", known.name());
                    }
                }
                // A region of bytes is a message.
                let mut packed = std::vec![0; message.len()];
                let bytes = region(&mut packed, message.len(), Shape::BYTE);
                from.copy_to(&bytes);
                assert_eq!(packed, message, "{} packed", known.name());
            }
        }
    }

    /// Checks that two regions with the same start but another layout are copied.
    #[cfg(not(feature = "heterogeneous"))]
    #[test]
    fn one_base_and_two_shapes() {
        use crate::constants::{MPI_BYTE, MPI_DOUBLE_INT};
        use core::array::from_fn;
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
