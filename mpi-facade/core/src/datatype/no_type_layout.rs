//! Stands in for `type_layout` where the library is built without layouts: there is no value of these types, so nothing
//! of what walks through gaps is in the program.

use super::predefined::{Element, Predefined};
use crate::constants::Datatype;
use crate::error::Error;
use core::ops::Range;
use pombo_kernel::layout::{BasicType, Block, Bounds};

/// The layout of one item of a datatype: there is none with gaps.
pub(crate) enum TypeLayout {}

/// A part of a layout: copies of another one.
#[derive(Clone, Copy)]
#[expect(dead_code, reason = "nothing is made of pieces")]
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
    pub(super) fn items(_: i64, _: u64, layout: &'a TypeLayout) -> Self {
        match *layout {}
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

/// The error of everything that would make a layout.
pub(super) const LEFT_OUT: Error = Error::Unsupported {
    name: "a datatype of MPI_Type_* or with gaps, such as MPI_SHORT_INT",
};

impl TypeLayout {
    pub(super) fn predefined(_: Datatype, _: &Predefined) -> Result<Self, Error> {
        Err(LEFT_OUT)
    }

    pub(super) fn of_pieces(_: &[Piece<'_>]) -> Result<Self, Error> {
        Err(LEFT_OUT)
    }

    pub(super) fn repeated(&self, _: u64, _: i64) -> Result<Self, Error> {
        match *self {}
    }

    pub(super) fn resized(&self, _: i64, _: i64) -> Result<Self, Error> {
        match *self {}
    }

    pub(super) fn padded(self) -> Result<Self, Error> {
        match self {}
    }

    pub(crate) fn size(&self) -> usize {
        match *self {}
    }

    pub(crate) fn bounds(&self) -> &Bounds {
        match *self {}
    }

    pub(crate) fn dense_size(&self) -> Option<usize> {
        match *self {}
    }

    pub(crate) fn reach(&self, _: u64) -> (i128, i128) {
        match *self {}
    }

    pub(crate) fn blocks(&self, _: usize, _: usize, _: usize) -> impl Iterator<Item = Block<Byte>> {
        core::iter::empty()
    }

    pub(crate) fn for_each_value(
        &self,
        _: usize,
        _: usize,
        _: usize,
        _: impl FnMut(isize, Element, Range<usize>),
    ) {
        match *self {}
    }

    pub(super) fn value_runs(&self) -> impl Iterator<Item = (Datatype, u64)> {
        core::iter::empty()
    }

    pub(super) fn elements_in(&self, _: u64) -> Option<u64> {
        match *self {}
    }

    pub(super) fn bytes_of(&self, _: u64) -> Option<u64> {
        match *self {}
    }
}
