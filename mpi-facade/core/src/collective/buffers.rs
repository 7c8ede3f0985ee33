//! How collective calls name memory, and what is checked of it.

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
    /// The address; may be `MPI_IN_PLACE` where the standard allows it.
    pub address: UserAddress<'m>,
    /// How many items; for each rank where the operation has one block for each.
    pub count: i64,
    /// Of what.
    pub datatype: Datatype,
}

/// A block for every rank, each with its own size and place.
#[derive(Clone, Copy, Debug)]
pub struct Buffers<'m> {
    /// Where displacements count from; may be `MPI_IN_PLACE` where the standard allows it.
    pub address: UserAddress<'m>,
    /// Items in each block.
    pub counts: Numbers,
    /// Where each block begins: in items, or in bytes where every block has its own datatype.
    pub displacements: Numbers,
    /// Of what.
    pub datatypes: Types,
}

/// An array of numbers of C, one for every rank.
#[derive(Clone, Copy, Debug)]
pub enum Numbers {
    /// `int`.
    Int(RankArray<c_int>),
    /// `MPI_Count` or `MPI_Aint`.
    Count(RankArray<i64>),
}

/// Datatypes of blocks.
#[derive(Clone, Copy, Debug)]
pub enum Types {
    /// The same for all.
    One(Datatype),
    /// An array, one for every rank.
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
    /// That of a rank.
    pub(super) fn get(self, rank: usize) -> i64 {
        match self {
            Numbers::Int(numbers) => numbers.get(rank).into(),
            Numbers::Count(numbers) => numbers.get(rank),
        }
    }

    /// Is there an array?
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

/// A number of items, checked.
pub(super) use crate::user_buffer::items;

/// A datatype's shape.
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

/// What a rank gives, and where the same belongs in what it gets: not the same memory.
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
    /// Memory of the library's own, as so many blocks of `count` items.
    pub(crate) fn of<T: FromBytes>(memory: &'m mut [T], blocks: usize, datatype: Datatype) -> Self {
        let extent = datatype::predefined(datatype).map_or(usize::MAX, Predefined::extent);
        Buffer {
            count: (size_of_val(memory) / extent / blocks) as i64,
            address: UserAddress::of(memory),
            datatype,
        }
    }

    /// Is the data where the result belongs?
    pub(super) fn is_in_place(&self) -> bool {
        self.address == UserAddress::IN_PLACE
    }

    /// As so many blocks of `count` items each.
    pub(super) fn blocks(&self, blocks: usize) -> Result<Layout, Error> {
        Ok(Layout::Contiguous(
            self.region(blocks)?,
            Cut::Evenly(blocks),
        ))
    }

    /// So many times `count` items back to back.
    #[inline]
    pub(super) fn region(&self, times: usize) -> Result<Region, Error> {
        let (all, shape) = self.check(times)?;
        Ok(self.address.region(all, shape))
    }

    /// The items of one rank, where as many of every rank lie back to back.
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

    /// As one vector of `count` items.
    pub(super) fn whole(&self) -> Result<Layout, Error> {
        self.blocks(1)
    }
}

impl Buffers<'_> {
    /// Is the data where the result belongs?
    pub(super) fn is_in_place(&self) -> bool {
        self.address == UserAddress::IN_PLACE
    }

    /// As so many blocks, one for every rank.
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
