//! The datatypes of Fortran's parameterised kinds: predefined ones without a name, of which each is made when it is
//! asked for first, and is never freed. Source: MPI 5.0, section 19.1.9.

use super::construction::{Construction, TypeObject};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::objects::Objects;
use crate::runtime::world::{self, CommError};
use alloc::rc::Rc;
use core::ffi::c_int;

/// Returns the datatype of `integer(selected_int_kind(r))`, as `MPI_Type_create_f90_integer`.
pub fn f90_integer(range: c_int) -> Result<Datatype, CommError> {
    let datatype = match range {
        ..=2 => MPI_INTEGER1,
        3..=4 => MPI_INTEGER2,
        5..=9 => MPI_INTEGER4,
        10..=18 => MPI_INTEGER8,
        19..=38 => MPI_INTEGER16,
        _ => return Err(invalid("r", "at most 38 digits").into()),
    };
    unnamed(MPI_COMBINER_F90_INTEGER, &[range.into()], datatype)
}

/// Returns the datatype of `real(selected_real_kind(p, r))`, as `MPI_Type_create_f90_real`.
pub fn f90_real(precision: c_int, range: c_int) -> Result<Datatype, CommError> {
    let [datatype, _] = kind(precision, range)?;
    let arguments = [precision.into(), range.into()];
    unnamed(MPI_COMBINER_F90_REAL, &arguments, datatype)
}

/// Returns the datatype of `complex(selected_real_kind(p, r))`, as `MPI_Type_create_f90_complex`.
pub fn f90_complex(precision: c_int, range: c_int) -> Result<Datatype, CommError> {
    let [_, datatype] = kind(precision, range)?;
    let arguments = [precision.into(), range.into()];
    unnamed(MPI_COMBINER_F90_COMPLEX, &arguments, datatype)
}

/// Digits and decimal exponent of each real kind of gfortran, with the datatypes of its numbers.
const REALS: &[(c_int, c_int, [Datatype; 2])] = &[
    (6, 37, [MPI_REAL4, MPI_COMPLEX8]),
    (15, 307, [MPI_REAL8, MPI_COMPLEX16]),
    // The kind of 80 bits, which is C's long double.
    #[cfg(target_arch = "x86_64")]
    (18, 4931, [MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX]),
    (33, 4931, [MPI_REAL16, MPI_COMPLEX32]),
];

/// Returns the datatypes of the first real kind with that many digits and such an exponent.
fn kind(precision: c_int, range: c_int) -> Result<[Datatype; 2], Error> {
    if (precision, range) == (MPI_UNDEFINED, MPI_UNDEFINED) {
        return Err(invalid("p or r", "given: one of them may be MPI_UNDEFINED"));
    }
    // `MPI_UNDEFINED` is below all numbers, so it asks for nothing.
    let mut kinds = REALS.iter();
    let found = kinds.find(|(digits, exponent, _)| precision <= *digits && range <= *exponent);
    let (_, _, datatypes) = found.ok_or(invalid("p or r", "at most 33 digits and 4931"))?;
    Ok(*datatypes)
}

/// Returns the one datatype of a constructor's arguments.
fn unnamed(combiner: c_int, arguments: &[i64], base: Datatype) -> Result<Datatype, CommError> {
    world::local(|Objects { datatypes, .. }| {
        let known = datatypes.find(|object| {
            let made = &object.construction;
            made.combiner == combiner && made.integers == arguments
        });
        if let Some(datatype) = known {
            return Ok(datatype);
        }
        let object = TypeObject {
            layout: datatypes.layout(base)?,
            construction: Construction::new(combiner, false).integers(arguments),
        };
        Ok(datatypes.insert(Rc::new(object), true))
    })
}

fn invalid(name: &'static str, must: &'static str) -> Error {
    Error::Argument {
        class: Class::Arg,
        name,
        must,
    }
}
