//! The attributes of datatypes, and their copying and freeing with attributes. Source: MPI 5.0, section 7.7.4.

use super::constructors;
use super::datatypes::unknown;
use super::predefined::predefined;
use crate::attribute::list::Attributes;
use crate::attribute::{self, Attributed, KeyvalKind};
use crate::constants::Datatype;
use crate::error::Error;
use crate::objects::Objects;
use crate::runtime::world::CommError;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

/// Attributes of predefined datatypes, as far as the program has set any.
#[derive(Default)]
struct OfPredefined(Vec<(Datatype, Attributes)>);

impl Attributed for Datatype {
    const KIND: KeyvalKind = KeyvalKind::Datatype;

    fn bits(self) -> usize {
        self.0
    }

    fn attributes(self, objects: &mut Objects) -> Result<&mut Attributes, Error> {
        if predefined(self).is_none() {
            return Ok(&mut objects.datatypes.get_mut(self)?.attributes);
        }
        let all = &mut objects.extensions.get::<OfPredefined>().0;
        if !all.iter().any(|(datatype, _)| *datatype == self) {
            all.push((self, Attributes::default()));
        }
        let found = all.iter_mut().find(|(datatype, _)| *datatype == self);
        found.map(|(_, attributes)| attributes).ok_or(unknown(self))
    }

    fn predefined(self, _: c_int) -> Option<Option<*mut c_void>> {
        None
    }

    fn failure(self, error: Error) -> CommError {
        error.into()
    }
}

/// Returns an attribute, as `MPI_Type_get_attr`; `None` if it is not set.
pub fn get_attribute(datatype: Datatype, key: c_int) -> Result<Option<*mut c_void>, CommError> {
    attribute::get(datatype, key)
}

/// Sets an attribute, as `MPI_Type_set_attr`.
pub fn set_attribute(datatype: Datatype, key: c_int, value: *mut c_void) -> Result<(), CommError> {
    attribute::set(datatype, key, value)
}

/// Deletes an attribute, as `MPI_Type_delete_attr`.
pub fn delete_attribute(datatype: Datatype, key: c_int) -> Result<(), CommError> {
    attribute::delete(datatype, key)
}

/// Makes a copy with the attributes that the functions of their keys copy, as `MPI_Type_dup`.
pub fn duplicate(datatype: Datatype) -> Result<Datatype, CommError> {
    let copy = constructors::duplicate(datatype)?;
    match attribute::copy_all(datatype, copy) {
        Ok(()) => Ok(copy),
        Err(failure) => {
            free(copy)?;
            Err(failure)
        }
    }
}

/// Frees a datatype after its attributes, as `MPI_Type_free`.
pub fn free(datatype: Datatype) -> Result<(), CommError> {
    if predefined(datatype).is_none() {
        attribute::delete_all(datatype)?;
    }
    constructors::free(datatype)
}
