//! How collective calls describe the user's memory, and which checks they apply to it.

use super::layout::{Cut, Layout};
use crate::c_arguments::InArray;
use crate::constants::Datatype;
use crate::datatype::{self, Datatypes, Predefined, Shape};
use crate::error::{Class, Error};
use crate::user_buffer::{Region, UserAddress};
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::ffi::c_int;
use zerocopy::FromBytes;

/// `count` items of a datatype at an address.
#[derive(Clone, Copy, Debug)]
pub struct Buffer<'m> {
    /// The address; it may be `MPI_IN_PLACE` where the standard allows it.
    pub address: UserAddress<'m>,
    /// Number of items; it counts the items for one rank where the operation has a block for each.
    pub count: i64,
    /// The datatype of each item.
    pub datatype: Datatype,
}

/// A block for every rank, each with its own size and displacement.
#[derive(Clone, Copy, Debug)]
pub struct Buffers<'m> {
    /// The base of the displacements; it may be `MPI_IN_PLACE` where the standard allows it.
    pub address: UserAddress<'m>,
    /// Items in each block.
    pub counts: Numbers,
    /// Where each block begins: in items, or in bytes where every block has its own datatype.
    pub displacements: Numbers,
    /// The datatypes of the blocks.
    pub datatypes: Types,
}

/// The operating system maps no memory below this address.
const LOWEST_ADDRESS: isize = 4096;

/// A block for every rank, of equal or of different sizes.
pub(super) trait Blocks {
    /// Returns the layout of that many blocks.
    fn layout(&self, datatypes: &Datatypes, blocks: usize) -> Result<Layout, Error>;
}

impl Blocks for Buffer<'_> {
    fn layout(&self, datatypes: &Datatypes, blocks: usize) -> Result<Layout, Error> {
        self.blocks(datatypes, blocks)
    }
}

/// An array of C integers, one for every rank.
#[derive(Clone, Copy, Debug)]
pub enum Numbers {
    /// The array has elements of type `int`.
    Int(InArray<c_int>),
    /// The array has elements of type `MPI_Count` or `MPI_Aint`.
    Count(InArray<i64>),
}

/// The datatypes of blocks.
#[derive(Clone, Copy, Debug)]
pub enum Types {
    /// All blocks have one datatype.
    One(Datatype),
    /// Every rank's block has its own datatype.
    Each(InArray<Datatype>),
}

impl From<InArray<c_int>> for Numbers {
    fn from(numbers: InArray<c_int>) -> Self {
        Numbers::Int(numbers)
    }
}

impl From<InArray<i64>> for Numbers {
    fn from(numbers: InArray<i64>) -> Self {
        Numbers::Count(numbers)
    }
}

impl Numbers {
    /// Returns the element of a rank.
    pub(super) fn get(self, rank: usize) -> i64 {
        match self {
            Numbers::Int(numbers) => numbers.get(rank).into(),
            Numbers::Count(numbers) => numbers.get(rank),
        }
    }

    /// Checks that the array's pointer is not null.
    pub(super) fn present(self) -> Result<(), Error> {
        listed(match self {
            Numbers::Int(numbers) => numbers.is_null(),
            Numbers::Count(numbers) => numbers.is_null(),
        })
    }
}

fn listed(is_null: bool) -> Result<(), Error> {
    match is_null {
        false => Ok(()),
        true => Err(Error::Argument {
            class: Class::Arg,
            name: "counts, displs or types",
            must: "an array with a place for every rank",
        }),
    }
}

/// Converts and checks a number of items.
pub(super) use crate::datatype::items;

fn present(address: UserAddress<'_>, items: usize, shape: &Shape) -> Result<(), Error> {
    if address == UserAddress::IN_PLACE {
        return Err(Error::Argument {
            class: Class::Buffer,
            name: "buffer",
            must: "memory: MPI_IN_PLACE has no meaning here",
        });
    }
    address.present(items, shape)
}

/// Checks that a rank's contribution and its own block of the result do not begin at the same address.
#[inline]
pub(super) fn distinct(given: &Region, got: &Region) -> Result<(), Error> {
    match given.begins_as(got) && !given.is_empty() && !got.is_empty() {
        false => Ok(()),
        true => Err(Error::Argument {
            class: Class::Buffer,
            name: "sendbuf",
            must: "other memory than recvbuf; pass MPI_IN_PLACE to use the same",
        }),
    }
}

impl<'m> Buffer<'m> {
    /// Describes the library's own memory as `blocks` blocks of equal numbers of items.
    pub(crate) fn of<T: FromBytes>(memory: &'m mut [T], blocks: usize, datatype: Datatype) -> Self {
        let extent = datatype::predefined(datatype).map_or(usize::MAX, Predefined::extent);
        Buffer {
            count: (size_of_val(memory) / extent / blocks) as i64,
            address: UserAddress::of(memory),
            datatype,
        }
    }

    /// Returns whether the buffer is `MPI_IN_PLACE`.
    pub(super) fn is_in_place(&self) -> bool {
        self.address == UserAddress::IN_PLACE
    }

    /// Returns the layout of `blocks` blocks of `count` items each.
    pub(super) fn blocks(&self, datatypes: &Datatypes, blocks: usize) -> Result<Layout, Error> {
        let (items, shape) = self.check(datatypes, blocks)?;
        let region = self.address.region(items, shape.clone());
        Ok(Layout::Contiguous(region, shape, Cut::Evenly(blocks)))
    }

    /// Returns the region of one vector of `count` items. Inlined, as [`op::reduction`](crate::op::reduction) is.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(super) fn vector(&self, datatypes: &Datatypes) -> Result<Region, Error> {
        match self.address.checked_dense(self.count, self.datatype) {
            Some(region) if !self.is_in_place() => Ok(region),
            _ => self.region(datatypes, 1),
        }
    }

    /// Returns the region of `blocks` times `count` contiguous items.
    #[inline]
    pub(super) fn region(&self, datatypes: &Datatypes, times: usize) -> Result<Region, Error> {
        let (all, shape) = self.check(datatypes, times)?;
        Ok(self.address.region(all, shape))
    }

    /// Returns the items of one rank, where the items of all ranks are contiguous and equally many.
    pub(super) fn one(&self, datatypes: &Datatypes, rank: usize) -> Result<Region, Error> {
        let (items, shape) = self.check(datatypes, 1)?;
        let offset = (rank.wrapping_mul(items) as isize).wrapping_mul(shape.extent());
        Ok(self.address.offset(offset).region(items, shape))
    }

    #[inline]
    fn check(&self, datatypes: &Datatypes, times: usize) -> Result<(usize, Shape), Error> {
        let (items, shape) = (items(self.count)?, datatypes.shape(self.datatype)?);
        let all = shape.items(datatype::times(items, times)? as i64)?;
        present(self.address, all, &shape)?;
        Ok((all, shape))
    }

    /// Returns the layout of one vector of `count` items.
    pub(super) fn whole(&self, datatypes: &Datatypes) -> Result<Layout, Error> {
        self.blocks(datatypes, 1)
    }
}

impl Buffers<'_> {
    /// Returns whether the buffer is `MPI_IN_PLACE`.
    pub(super) fn is_in_place(&self) -> bool {
        self.address == UserAddress::IN_PLACE
    }

    /// Returns the layout of `blocks` blocks, one for every rank.
    pub(super) fn blocks(&self, datatypes: &Datatypes, blocks: usize) -> Result<Layout, Error> {
        self.counts.present()?;
        self.displacements.present()?;
        if let Types::Each(each) = self.datatypes {
            listed(each.is_null())?;
        }
        let mut regions = Vec::with_capacity(blocks);
        for block in 0..blocks {
            regions.push(self.block(datatypes, block)?);
        }
        Ok(Layout::Apart(regions))
    }

    fn block(&self, datatypes: &Datatypes, rank: usize) -> Result<Region, Error> {
        let (count, displacement) = (self.counts.get(rank), self.displacements.get(rank));
        let (shape, unit) = match self.datatypes {
            Types::One(datatype) => {
                let shape = datatypes.shape(datatype)?;
                let extent = shape.extent();
                (shape, extent)
            }
            Types::Each(each) => (datatypes.shape(each.get(rank))?, 1),
        };
        let items = shape.items(count)?;
        let offset = (displacement as isize).checked_mul(unit);
        let offset = offset.ok_or(Error::Argument {
            class: Class::Arg,
            name: "displs",
            must: "so small that it leads to memory",
        })?;
        let place = self.address.offset(offset);
        // The displacements from `MPI_BOTTOM` are addresses; smaller ones show that the pointer is a null pointer.
        let is_absolute = self.address == UserAddress::BOTTOM && offset >= LOWEST_ADDRESS;
        present(
            if is_absolute { place } else { self.address },
            items,
            &shape,
        )?;
        Ok(place.region(items, shape))
    }
}

/// Blocks whose arrays are read once, for all starts of a persistent request: the datatypes in them may be freed before
/// the first start, and programs free the arrays themselves as well.
pub(super) struct LastingBuffers<'m> {
    given: Buffers<'m>,
    known: OnceCell<Vec<Region>>,
}

impl<'m> From<Buffers<'m>> for LastingBuffers<'m> {
    fn from(given: Buffers<'m>) -> Self {
        let known = OnceCell::new();
        LastingBuffers { given, known }
    }
}

impl LastingBuffers<'_> {
    /// Returns whether the buffer is `MPI_IN_PLACE`.
    pub(super) fn is_in_place(&self) -> bool {
        self.given.is_in_place()
    }
}

impl Blocks for LastingBuffers<'_> {
    fn layout(&self, datatypes: &Datatypes, blocks: usize) -> Result<Layout, Error> {
        if let Some(regions) = self.known.get() {
            return Ok(Layout::Apart(regions.clone()));
        }
        let layout = self.given.blocks(datatypes, blocks)?;
        if let Layout::Apart(regions) = &layout {
            self.known.get_or_init(|| regions.clone());
        }
        Ok(layout)
    }
}
