//! A derived datatype: its layout, and how it was made.

use super::type_layout::TypeLayout;
use crate::constants::*;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ffi::c_int;

/// A derived datatype, which its handle and the datatypes made of it share.
pub(crate) struct TypeObject {
    pub(super) layout: Rc<TypeLayout>,
    /// How it was made.
    pub(super) construction: Construction,
}

impl TypeObject {
    /// Returns whether this is a predefined datatype without a name, which has one handle and is never freed.
    pub(super) fn is_unnamed(&self) -> bool {
        matches!(
            self.construction.combiner,
            MPI_COMBINER_F90_INTEGER | MPI_COMBINER_F90_REAL | MPI_COMBINER_F90_COMPLEX
        )
    }
}

/// The constructor of a datatype and its arguments, in the standard's order.
#[derive(Default)]
pub(super) struct Construction {
    pub(super) combiner: c_int,
    /// Whether the large-count form of the constructor was called: counts and displacements then stand apart.
    pub(super) large: bool,
    pub(super) integers: Vec<i64>,
    pub(super) addresses: Vec<i64>,
    pub(super) counts: Vec<i64>,
    pub(super) datatypes: Vec<Argument>,
}

/// A datatype that was passed to a constructor.
pub(super) enum Argument {
    Predefined(Datatype),
    /// It is derived; it was committed, or not.
    Derived(Rc<TypeObject>, bool),
}

impl Construction {
    pub(super) fn new(combiner: c_int, large: bool) -> Self {
        Construction {
            combiner,
            large,
            ..Self::default()
        }
    }

    /// Adds arguments of C type `int` in both forms.
    pub(super) fn integers(mut self, integers: &[i64]) -> Self {
        self.integers.extend_from_slice(integers);
        self
    }

    /// Adds arguments that are `int` or `MPI_Count`.
    pub(super) fn counts(mut self, counts: &[i64]) -> Self {
        let list = match self.large {
            true => &mut self.counts,
            false => &mut self.integers,
        };
        list.extend_from_slice(counts);
        self
    }

    /// Adds arguments that are `MPI_Aint` or `MPI_Count`.
    pub(super) fn addresses(mut self, addresses: &[i64]) -> Self {
        let list = match self.large {
            true => &mut self.counts,
            false => &mut self.addresses,
        };
        list.extend_from_slice(addresses);
        self
    }

    /// Adds a datatype.
    pub(super) fn datatype(mut self, datatype: Argument) -> Self {
        self.datatypes.push(datatype);
        self
    }
}
