//! How a datatype was made: `MPI_Type_get_envelope` and `MPI_Type_get_contents`. Source: MPI 5.0, section 5.1.13.

use super::construction::{Argument, Construction};
use super::predefined::predefined;
use crate::constants::*;
use crate::error::{Class, Error};
use crate::objects::Objects;
use crate::runtime::world::{self, CommError};
use alloc::vec::Vec;
use core::ffi::c_int;

/// How many arguments of each kind a datatype's constructor had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// Number of integers.
    pub integers: usize,
    /// Number of addresses.
    pub addresses: usize,
    /// Number of large counts.
    pub counts: usize,
    /// Number of datatypes.
    pub datatypes: usize,
    /// `MPI_COMBINER_NAMED` or another constructor.
    pub combiner: c_int,
}

/// The arguments of a datatype's constructor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contents {
    /// Integers.
    pub integers: Vec<i64>,
    /// Addresses.
    pub addresses: Vec<i64>,
    /// Large counts.
    pub counts: Vec<i64>,
    /// Datatypes: new handles for derived ones, which the program frees.
    pub datatypes: Vec<Datatype>,
}

/// Returns the constructor of a datatype and how many arguments it had. `large` says whether the caller can take large
/// counts.
pub fn envelope(datatype: Datatype, large: bool) -> Result<Envelope, CommError> {
    if predefined(datatype).is_some() {
        return Ok(Envelope {
            integers: 0,
            addresses: 0,
            counts: 0,
            datatypes: 0,
            combiner: MPI_COMBINER_NAMED,
        });
    }
    world::local(|objects| {
        let made = &objects.datatypes.get(datatype)?.object.construction;
        check_form(made, large)?;
        Ok(Envelope {
            integers: made.integers.len(),
            addresses: made.addresses.len(),
            counts: made.counts.len(),
            datatypes: made.datatypes.len(),
            combiner: made.combiner,
        })
    })
}

/// Returns the arguments of a datatype's constructor; each kind has at most as many as `room` says.
pub fn contents(datatype: Datatype, large: bool, room: Envelope) -> Result<Contents, CommError> {
    if predefined(datatype).is_some() {
        let error = Error::Argument {
            class: Class::Type,
            name: "datatype",
            must: "a derived one: a predefined datatype has no constructor",
        };
        return Err(error.into());
    }
    world::local(|Objects { datatypes, .. }| {
        let object = datatypes.get(datatype)?.object.clone();
        let made = &object.construction;
        check_form(made, large)?;
        let fits = made.integers.len() <= room.integers
            && made.addresses.len() <= room.addresses
            && made.counts.len() <= room.counts
            && made.datatypes.len() <= room.datatypes;
        if !fits {
            let error = Error::Argument {
                class: Class::Arg,
                name: "max_integers and its like",
                must: "at least what MPI_Type_get_envelope gives",
            };
            return Err(error.into());
        }
        let handle = |argument: &Argument| match argument {
            Argument::Predefined(datatype) => *datatype,
            Argument::Derived(object, committed) => datatypes.another(object, *committed),
        };
        Ok(Contents {
            integers: made.integers.clone(),
            addresses: made.addresses.clone(),
            counts: made.counts.clone(),
            datatypes: made.datatypes.iter().map(handle).collect(),
        })
    })
}

/// Refuses the plain form for a datatype of the large-count form.
fn check_form(made: &Construction, large: bool) -> Result<(), Error> {
    match made.large && !large {
        false => Ok(()),
        true => Err(Error::Argument {
            class: Class::Type,
            name: "datatype",
            must: "made without large counts; else call the form of this function that ends in _c",
        }),
    }
}
