//! The layout of a datatype's items in memory: two of the kernel's layouts with the same bounds.
//!
//! One has single bytes for values, so that neighbours of different types are one run and an item without gaps is one
//! copy. The other has the predefined datatypes, for what counts values.

use super::predefined::{Element, Family, Predefined, predefined};
use super::representation::HETEROGENEOUS;
use crate::constants::*;
use crate::error::{Class, Error};
use core::ops::Range;
use pombo_kernel::aspect::{Cap, Storage};
use pombo_kernel::layout::{BasicType, Block, Bounds, Entry, Layout, Part};
use pombo_netdrivers::HeapStorage;

/// Most entries of a layout's table. A group of entries is copied into each layout that uses it.
const MOST_ENTRIES: usize = 1 << 28;

type Table<E> = <HeapStorage as Storage>::Slice<Entry<E>, Cap<MOST_ENTRIES>>;

/// The layout of one item of a datatype.
pub(crate) struct TypeLayout {
    bytes: Layout<Table<Byte>, Byte>,
    values: Layout<Table<Value>, Value>,
    /// Whether a value has another form in messages.
    is_converted: bool,
}

/// A part of a layout: copies of another one.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    /// Displacement of the first copy in bytes.
    pub(super) offset: i64,
    /// Number of copies.
    pub(super) count: u64,
    /// Bytes from one copy to the next.
    pub(super) stride: i64,
    /// The layout of a copy.
    pub(super) layout: &'a TypeLayout,
}

impl<'a> Piece<'a> {
    /// Describes consecutive items.
    pub(super) fn items(offset: i64, count: u64, layout: &'a TypeLayout) -> Self {
        Piece {
            offset,
            count,
            stride: layout.bounds().extent(),
            layout,
        }
    }
}

/// A byte, whatever value it belongs to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Byte;

impl BasicType for Byte {
    fn size(self) -> u64 {
        1
    }
}

/// A value of a predefined datatype that is not a pair.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Value(Datatype);

impl Value {
    /// Returns the machine type, of which a complex number has two values.
    fn element(self) -> Element {
        predefined(self.0).map_or(Element::U8, |known| known.element)
    }
}

impl BasicType for Value {
    fn size(self) -> u64 {
        predefined(self.0).map_or(1, Predefined::size) as u64
    }

    fn alignment(self) -> u64 {
        predefined(self.0).map_or(1, |known| known.element.alignment()) as u64
    }
}

impl TypeLayout {
    /// Returns the layout of a predefined datatype.
    pub(super) fn predefined(datatype: Datatype, known: &Predefined) -> Result<Self, Error> {
        let parts = pair(known);
        let [one, other] = parts.unwrap_or([Value(datatype); 2]);
        let all = [(0, one, 1), (known.index_offset() as i64, other, 1)];
        // Not by pieces: a program without derived datatypes needs nothing that constructs them.
        let values = &all[..1 + usize::from(parts.is_some())];
        let bytes = all.map(|(at, value, _)| (at, Byte, value.size()));
        let bytes = Layout::of_runs(&bytes[..values.len()]).map_err(refused)?;
        let values = Layout::of_runs(values).and_then(Layout::padded);
        Self::joined(bytes, values.map_err(refused)?)
    }

    /// Returns the layout of pieces, in this order.
    #[inline(never)]
    pub(super) fn of_pieces(pieces: &[Piece<'_>]) -> Result<Self, Error> {
        let bytes = Layout::of_parts(pieces.iter().map(|piece| Part {
            offset: piece.offset,
            count: piece.count,
            stride: piece.stride,
            layout: &piece.layout.bytes,
        }));
        let values = Layout::of_parts(pieces.iter().map(|piece| Part {
            offset: piece.offset,
            count: piece.count,
            stride: piece.stride,
            layout: &piece.layout.values,
        }));
        Self::joined(bytes.map_err(refused)?, values.map_err(refused)?)
    }

    /// Returns `count` copies of this layout, `stride` bytes apart.
    pub(super) fn repeated(&self, count: u64, stride: i64) -> Result<Self, Error> {
        let (offset, layout) = (0, self);
        let piece = Piece {
            offset,
            count,
            stride,
            layout,
        };
        Self::of_pieces(&[piece])
    }

    /// Returns this layout with other bounds.
    pub(super) fn resized(&self, lower: i64, extent: i64) -> Result<Self, Error> {
        let Self { bytes, values, .. } = Self::of_pieces(&[Piece::items(0, 1, self)])?;
        let values = values.resized(lower, extent).map_err(refused)?;
        Self::joined(bytes, values)
    }

    /// Returns this layout with the padding of a C structure at its end.
    pub(super) fn padded(self) -> Result<Self, Error> {
        Self::joined(self.bytes, self.values.padded().map_err(refused)?)
    }

    fn joined(
        bytes: Layout<Table<Byte>, Byte>,
        values: Layout<Table<Value>, Value>,
    ) -> Result<Self, Error> {
        let Bounds { lower, .. } = *values.bounds();
        let bytes = bytes.resized(lower, values.bounds().extent());
        let is_long = |block: Block<Value>| block.element.element().size() > 1;
        let is_converted = HETEROGENEOUS && values.blocks(1, 0, values.size()).any(is_long);
        Ok(TypeLayout {
            bytes: bytes.map_err(refused)?,
            values,
            is_converted,
        })
    }

    /// Visits every value that has some of `len` bytes of data from `offset`, of `items` items: its displacement, its
    /// machine type, and which of its bytes these are. A complex number counts as two.
    pub(crate) fn for_each_value(
        &self,
        items: usize,
        offset: usize,
        len: usize,
        mut visit: impl FnMut(isize, Element, Range<usize>),
    ) {
        let blocks = self.values.blocks(items as u64, offset as u64, len as u64);
        for block in blocks {
            let element = block.element.element();
            let size = element.size();
            let (first, end) = (block.phase as usize, (block.phase + block.len) as usize);
            for copy in 0..block.count {
                let start = block
                    .displacement
                    .wrapping_add((copy as i64).wrapping_mul(block.stride))
                    as isize;
                for value in (first / size..end.div_ceil(size)).map(|value| value * size) {
                    let bytes = first.max(value) - value..end.min(value + size) - value;
                    visit(start.wrapping_add(value as isize), element, bytes);
                }
            }
        }
    }

    /// Returns the bytes of data of an item.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.bytes.size() as usize
    }

    /// Returns the bounds of an item.
    #[inline]
    pub(crate) fn bounds(&self) -> &Bounds {
        self.values.bounds()
    }

    /// Returns the bytes of an item if consecutive items are one run of bytes that travel as they are in memory.
    pub(crate) fn dense_size(&self) -> Option<usize> {
        let is_dense = self.bytes.is_contiguous() && !self.is_converted;
        is_dense.then_some(self.size())
    }

    /// Returns where the data of so many items begins and ends, in bytes from the first item's address.
    pub(crate) fn reach(&self, items: u64) -> (i128, i128) {
        self.bytes.reach(items)
    }

    /// Returns the blocks of `len` bytes of data from `offset`, of `items` items.
    #[inline]
    pub(crate) fn blocks(
        &self,
        items: usize,
        offset: usize,
        len: usize,
    ) -> impl Iterator<Item = Block<Byte>> {
        self.bytes.blocks(items as u64, offset as u64, len as u64)
    }

    /// Returns the predefined datatypes of an item's values, in the order of its data, and how many bytes have each.
    pub(super) fn value_runs(&self) -> impl Iterator<Item = (Datatype, u64)> {
        let blocks = self.values.blocks(1, 0, self.values.size());
        blocks.map(|block| (block.element.0, block.count * block.len))
    }

    /// Returns the number of values in `bytes` bytes of items; `None` if the last value is not complete.
    pub(super) fn elements_in(&self, bytes: u64) -> Option<u64> {
        let elements = self.values.elements_in(bytes);
        (self.bytes_of(elements) == Some(bytes)).then_some(elements)
    }

    /// Returns the bytes of this many values; `None` if they are too many.
    pub(super) fn bytes_of(&self, elements: u64) -> Option<u64> {
        let each = self.values.elements();
        if each == 0 {
            return (elements == 0).then_some(0);
        }
        let whole = (elements / each).checked_mul(self.values.size())?;
        let (mut rest, mut bytes) = (elements % each, 0);
        for block in self.values.blocks(1, 0, self.values.size()) {
            let size = block.element.size();
            let values = (block.count * (block.len / size)).min(rest);
            bytes += values * size;
            rest -= values;
            if rest == 0 {
                break;
            }
        }
        whole.checked_add(bytes)
    }
}

/// Returns the types of value and index of a pair; `None` for other datatypes.
fn pair(known: &Predefined) -> Option<[Value; 2]> {
    let one = |value| Some([Value(value), Value(MPI_INT)]);
    match (known.family, known.element) {
        (Family::Indexed, Element::F32) => one(MPI_FLOAT),
        (Family::Indexed, Element::F64) => one(MPI_DOUBLE),
        (Family::Indexed, Element::I64) => one(MPI_LONG),
        (Family::Indexed, Element::I16) => one(MPI_SHORT),
        (Family::Indexed, _) => one(MPI_LONG_DOUBLE),
        (Family::Twin, Element::I32) => Some([Value(MPI_INT); 2]),
        (Family::Twin, Element::F32) => Some([Value(MPI_REAL); 2]),
        (Family::Twin, _) => Some([Value(MPI_DOUBLE_PRECISION); 2]),
        _ => None,
    }
}

fn refused(error: pombo_kernel::Error) -> Error {
    match error {
        pombo_kernel::Error::Full => Error::NoMemory {
            bytes: size_of::<Entry<Byte>>() as u64,
        },
        _ => Error::Argument {
            class: Class::Arg,
            name: "displacements or lengths",
            must: "so small that the datatype's bounds fit 63 bits, and nested at most 32 deep",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::predefined::all;
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_predefined_layout_is_that_of_its_pieces() {
        let of = |Value(datatype)| {
            let known = predefined(datatype).expect("a predefined datatype");
            TypeLayout::predefined(datatype, known).expect("a layout")
        };
        for (datatype, known) in all() {
            let layout = of(Value(datatype));
            let pieces = match pair(known).map(|parts| parts.map(of)) {
                Some([value, index]) => TypeLayout::of_pieces(&[
                    Piece::items(0, 1, &value),
                    Piece::items(known.index_offset() as i64, 1, &index),
                ]),
                None => TypeLayout::of_pieces(&[Piece::items(0, 1, &of(Value(datatype)))]),
            };
            let pieces = pieces.and_then(TypeLayout::padded).expect("a layout");
            assert_eq!(layout.bounds(), pieces.bounds());
            assert_eq!(layout.dense_size(), pieces.dense_size());
            let [one, other] = [&layout, &pieces].map(|layout| {
                let runs: Vec<_> = layout.value_runs().collect();
                let blocks: Vec<_> = layout.blocks(3, 0, 3 * layout.size()).collect();
                (layout.size(), runs, blocks, layout.values.elements())
            });
            assert_eq!(one, other);
        }
    }
}
