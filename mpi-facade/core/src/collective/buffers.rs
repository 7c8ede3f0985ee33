//! How collective calls name memory, and what is checked of it.

use super::layout::{Cut, Layout};
use crate::constants::*;
use crate::datatype;
use crate::error::{Class, Error, Kind};
use crate::user_buffer::{self, Region, Shape};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use pombo_collective::Segments;

/// `count` items of a datatype at an address.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// The address; may be `MPI_IN_PLACE` where the standard allows it.
    pub address: *mut c_void,
    /// How many items; for each rank where the operation has one block for each.
    pub count: i64,
    /// Of what.
    pub datatype: Datatype,
}

/// A block for every rank, each with its own size and place.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// Where displacements count from; may be `MPI_IN_PLACE` where the standard allows it.
    pub address: *mut c_void,
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
    Int(*const c_int),
    /// `MPI_Count` or `MPI_Aint`.
    Count(*const i64),
}

/// Datatypes of blocks.
#[derive(Clone, Copy, Debug)]
pub enum Types {
    /// The same for all.
    One(Datatype),
    /// An array, one for every rank.
    Each(*const Datatype),
}

impl From<*const c_int> for Numbers {
    fn from(numbers: *const c_int) -> Self {
        Numbers::Int(numbers)
    }
}

impl From<*const i64> for Numbers {
    fn from(numbers: *const i64) -> Self {
        Numbers::Count(numbers)
    }
}

impl Numbers {
    /// # Safety
    /// The array reaches as far as `index`.
    pub(super) unsafe fn get(self, index: usize) -> i64 {
        match self {
            // SAFETY: the caller's promise.
            Numbers::Int(numbers) => unsafe { numbers.add(index).read() }.into(),
            // SAFETY: the caller's promise.
            Numbers::Count(numbers) => unsafe { numbers.add(index).read() },
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

fn present(address: *mut c_void, items: usize, shape: Shape) -> Result<(), Error> {
    if address == MPI_IN_PLACE {
        return Err(Error::Argument {
            class: Class::Buffer,
            name: "buffer",
            must: "memory: MPI_IN_PLACE has no meaning here",
        });
    }
    if address.is_null() && items > 0 && shape.size() > 0 {
        return Err(Error::Buffer {
            count: items as i64,
        });
    }
    Ok(())
}

/// What a rank gives, and where the same belongs in what it gets: not the same memory.
#[inline]
pub(super) fn distinct(given: &Region, got: &Region) -> Result<(), Error> {
    match given.base() == got.base() && given.items() > 0 && got.items() > 0 {
        false => Ok(()),
        true => Err(Error::Argument {
            class: Class::Buffer,
            name: "sendbuf",
            must: "other memory than recvbuf; pass MPI_IN_PLACE to use the same",
        }),
    }
}

impl Buffer {
    /// Is the data where the result belongs?
    pub(super) fn is_in_place(&self) -> bool {
        self.address == MPI_IN_PLACE
    }

    /// As so many blocks of `count` items each.
    pub(super) fn blocks(&self, blocks: usize) -> Result<Layout, Error> {
        let (all, shape) = self.check(blocks)?;
        Ok(Layout::new(
            self.address,
            shape,
            Cut::Evenly(Segments::into_blocks(all, blocks)),
        ))
    }

    /// So many times `count` items back to back.
    #[inline]
    pub(super) fn region(&self, times: usize) -> Result<Region, Error> {
        let (all, shape) = self.check(times)?;
        // SAFETY: the caller's promise; a collective call keeps its buffers until it is over.
        Ok(unsafe { Region::new(self.address, all, shape) })
    }

    /// The items of one rank, where as many of every rank lie back to back.
    pub(super) fn one(&self, rank: usize) -> Result<Region, Error> {
        let (items, shape) = self.check(1)?;
        let offset = rank.wrapping_mul(items).wrapping_mul(shape.extent());
        let base = self.address.wrapping_byte_add(offset);
        // SAFETY: as above.
        Ok(unsafe { Region::new(base, items, shape) })
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

impl Buffers {
    /// Is the data where the result belongs?
    pub(super) fn is_in_place(&self) -> bool {
        self.address == MPI_IN_PLACE
    }

    /// As so many blocks.
    ///
    /// # Safety
    /// The arrays have that many places; the memory is what they say.
    pub(super) unsafe fn blocks(&self, blocks: usize) -> Result<Layout, Error> {
        self.counts.present()?;
        self.displacements.present()?;
        if let Types::Each(datatypes) = self.datatypes {
            listed(datatypes.is_null())?;
        }
        let mut regions = Vec::with_capacity(blocks);
        for block in 0..blocks {
            // SAFETY: the caller's promise.
            regions.push(unsafe { self.block(block) }?);
        }
        Ok(Layout::apart(regions))
    }

    /// # Safety
    /// As for [`Buffers::blocks`].
    unsafe fn block(&self, block: usize) -> Result<Region, Error> {
        // SAFETY: the caller's promise.
        let (count, displacement) =
            unsafe { (self.counts.get(block), self.displacements.get(block)) };
        let (shape, unit) = match self.datatypes {
            Types::One(datatype) => {
                let shape = shape(datatype)?;
                (shape, shape.extent() as isize)
            }
            // SAFETY: the caller's promise.
            Types::Each(datatypes) => (shape(unsafe { datatypes.add(block).read() })?, 1),
        };
        let items = items(count)?;
        present(self.address, items, shape)?;
        let offset = (displacement as isize).checked_mul(unit);
        let offset = offset.ok_or(Error::Argument {
            class: Class::Arg,
            name: "displs",
            must: "so small that it leads to memory",
        })?;
        let base = self.address.wrapping_byte_offset(offset);
        // SAFETY: the caller's promise; a collective call keeps its buffers until it is over.
        Ok(unsafe { Region::new(base, items, shape) })
    }
}
