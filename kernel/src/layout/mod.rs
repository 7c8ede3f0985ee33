//! The layout of data in memory, as MPI's derived datatypes describe it: [`Layout`]. It is for memory that lends data
//! which is not contiguous.
//!
//! A layout has no addresses. It is a tree of runs of values and of repetitions, flattened into one table: so it is
//! immutable, needs no more memory than its description, and is walked from any byte of its data without a scan.
//! Source: MPI 5.0, chapter 5; the terms are the standard's.

mod basic_type;
mod blocks;
mod bounds;
mod build;
mod entry;

pub use basic_type::BasicType;
pub use blocks::{Block, Blocks};
pub use bounds::Bounds;
pub use build::Part;
pub use entry::Entry;

use crate::aspect::{Element, Slice};

/// Deepest nesting of groups of entries. A repetition that one entry describes adds no group.
pub const MAX_DEPTH: usize = 32;

/// The layout of one item: which values it has, in order, and at which displacements in bytes.
///
/// `N` is the table's storage: in place ([`heapless::Vec`]) or a growing one. A table has one entry per run of values
/// or regular repetition; equal neighbours share one.
///
/// ```
/// use pombo_kernel::aspect::Element;
/// use pombo_kernel::layout::{Layout, Part};
///
/// type Small = Layout<heapless::Vec<pombo_kernel::layout::Entry<Element>, 4>>;
/// // The first column of a matrix of 3 rows and 4 columns.
/// let value = Small::of(Element::F64)?;
/// let column = value.repeated(3, 4 * 8)?;
/// assert_eq!((column.size(), column.bounds().extent()), (24, 72));
/// let mut blocks = column.blocks(1, 0, 24);
/// let block = blocks.next().expect("there is data");
/// assert_eq!((block.displacement, block.len, block.count, block.stride), (0, 8, 3, 32));
/// assert!(blocks.next().is_none());
/// # Ok::<(), pombo_kernel::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Layout<N, E = Element> {
    /// The groups of entries, each behind those that it refers to; the last one is the item.
    entries: N,
    /// The place of the item's group in `entries`.
    root: usize,
    size: u64,
    elements: u64,
    depth: usize,
    bounds: Bounds,
    element: core::marker::PhantomData<E>,
}

impl<N: Slice<Entry<E>>, E: BasicType> Layout<N, E> {
    /// Returns the number of data bytes of an item in a message.
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of values in an item.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Returns the bounds of an item in memory.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Returns where the data of that many consecutive items begins and ends, in bytes from the first item's address;
    /// both 0 without data.
    pub fn reach(&self, items: u64) -> (i128, i128) {
        let Bounds {
            true_lower,
            true_upper,
            ..
        } = self.bounds;
        if items == 0 || self.size == 0 {
            return (0, 0);
        }
        let last = i128::from(self.bounds.extent()) * i128::from(items - 1);
        (
            i128::from(true_lower) + last.min(0),
            i128::from(true_upper) + last.max(0),
        )
    }

    /// Returns whether consecutive items form one run of bytes that begins at displacement 0.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        match &self.entries.as_ref()[self.root..] {
            [] => true,
            [entry] => entry.is_run_at_0(self.bounds.extent()),
            _ => false,
        }
    }
}
