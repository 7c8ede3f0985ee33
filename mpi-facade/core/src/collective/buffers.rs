//! How collective calls describe the user's memory, and which checks they apply to it.

use super::layout::{Cut, Layout};
use crate::c_arguments::RankArray;
use crate::constants::Datatype;
use crate::datatype::{self, Predefined};
use crate::error::{Class, Error, Kind};
use crate::user_buffer::{self, Region, Shape, UserAddress};
use alloc::vec::Vec;
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

/// An array of C integers, one for every rank.
#[derive(Clone, Copy, Debug)]
pub enum Numbers {
    /// The array has elements of type `int`.
    Int(RankArray<c_int>),
    /// The array has elements of type `MPI_Count` or `MPI_Aint`.
    Count(RankArray<i64>),
}

/// The datatypes of blocks.
#[derive(Clone, Copy, Debug)]
pub enum Types {
    /// All blocks have one datatype.
    One(Datatype),
    /// Every rank's block has its own datatype.
    Each(RankArray<Datatype>),
}

impl From<RankArray<c_int>> for Numbers {
    fn from(numbers: RankArray<c_int>) -> Self {
        Numbers::Int(numbers)
    }
}

impl From<RankArray<i64>> for Numbers {
    fn from(numbers: RankArray<i64>) -> Self {
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
pub(super) use crate::user_buffer::items;

/// Returns the shape of a datatype.
pub(super) fn shape(datatype: Datatype) -> Result<Shape, Error> {
    let known = datatype::predefined(datatype).ok_or(Error::Handle {
        kind: Kind::Datatype,
        got: datatype.0,
    })?;
    Ok(Shape::of(known))
}

fn present(address: UserAddress<'_>, items: usize, shape: Shape) -> Result<(), Error> {
    if address == UserAddress::IN_PLACE {
        return Err(Error::Argument {
            class: Class::Buffer,
            name: "buffer",
            must: "memory: MPI_IN_PLACE has no meaning here",
        });
    }
    if address.pointer().is_null() && items > 0 && shape.size() > 0 {
        return Err(Error::Buffer {
            count: items as i64,
        });
    }
    Ok(())
}

/// Checks that a rank's contribution and its own block of the result do not begin at the same address.
#[inline]
pub(super) fn distinct(given: &Region, got: &Region) -> Result<(), Error> {
    match given.begins_as(got) && given.items() > 0 && got.items() > 0 {
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
    pub(super) fn blocks(&self, blocks: usize) -> Result<Layout, Error> {
        Ok(Layout::Contiguous(
            self.region(blocks)?,
            Cut::Evenly(blocks),
        ))
    }

    /// Returns the region of `blocks` times `count` contiguous items.
    #[inline]
    pub(super) fn region(&self, times: usize) -> Result<Region, Error> {
        let (all, shape) = self.check(times)?;
        Ok(self.address.region(all, shape))
    }

    /// Returns the items of one rank, where the items of all ranks are contiguous and equally many.
    pub(super) fn one(&self, rank: usize) -> Result<Region, Error> {
        let (items, shape) = self.check(1)?;
        let offset = rank.wrapping_mul(items).wrapping_mul(shape.extent());
        Ok(self.address.offset(offset as isize).region(items, shape))
    }

    #[inline]
    fn check(&self, times: usize) -> Result<(usize, Shape), Error> {
        let (items, shape) = (items(self.count)?, shape(self.datatype)?);
        let all = user_buffer::times(items, times)?;
        present(self.address, all, shape)?;
        Ok((all, shape))
    }

    /// Returns the layout of one vector of `count` items.
    pub(super) fn whole(&self) -> Result<Layout, Error> {
        self.blocks(1)
    }
}

impl Buffers<'_> {
    /// Returns whether the buffer is `MPI_IN_PLACE`.
    pub(super) fn is_in_place(&self) -> bool {
        self.address == UserAddress::IN_PLACE
    }

    /// Returns the layout of `blocks` blocks, one for every rank.
    pub(super) fn blocks(&self, blocks: usize) -> Result<Layout, Error> {
        self.counts.present()?;
        self.displacements.present()?;
        if let Types::Each(datatypes) = self.datatypes {
            listed(datatypes.is_null())?;
        }
        let mut regions = Vec::with_capacity(blocks);
        for block in 0..blocks {
            regions.push(self.block(block)?);
        }
        Ok(Layout::Apart(regions))
    }

    fn block(&self, rank: usize) -> Result<Region, Error> {
        let (count, displacement) = (self.counts.get(rank), self.displacements.get(rank));
        let (shape, unit) = match self.datatypes {
            Types::One(datatype) => {
                let shape = shape(datatype)?;
                (shape, shape.extent() as isize)
            }
            Types::Each(datatypes) => (shape(datatypes.get(rank))?, 1),
        };
        let items = items(count)?;
        present(self.address, items, shape)?;
        let offset = (displacement as isize).checked_mul(unit);
        let offset = offset.ok_or(Error::Argument {
            class: Class::Arg,
            name: "displs",
            must: "so small that it leads to memory",
        })?;
        Ok(self.address.offset(offset).region(items, shape))
    }
}
