//! What calls ask about a datatype. Predefined ones answer without a world.

use super::datatypes::{Entry, unknown};
use super::predefined::{Predefined, predefined};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::objects::Objects;
use crate::runtime::world::{self, CommError};
use alloc::vec::Vec;

/// Asks a datatype, of either kind.
fn ask<R>(
    datatype: Datatype,
    of_predefined: impl FnOnce(&'static Predefined) -> R,
    of_derived: impl FnOnce(&Entry) -> R,
) -> Result<R, CommError> {
    match predefined(datatype) {
        Some(known) => Ok(of_predefined(known)),
        None if datatype.is_predefined() => Err(unknown(datatype).into()),
        None => world::local(|objects| Ok(of_derived(objects.datatypes.get(datatype)?))),
    }
}

/// Returns the bytes of data of an item, as `MPI_Type_size`.
pub fn size(datatype: Datatype) -> Result<u64, CommError> {
    ask(
        datatype,
        |known| known.size() as u64,
        |entry| entry.object.layout.size() as u64,
    )
}

/// Returns lower bound and extent of an item in bytes, as `MPI_Type_get_extent`.
pub fn extent(datatype: Datatype) -> Result<(i64, i64), CommError> {
    ask(
        datatype,
        |known| (0, known.extent() as i64),
        |entry| {
            let bounds = entry.object.layout.bounds();
            (bounds.lower, bounds.extent())
        },
    )
}

/// Returns lower bound and extent of an item's data in bytes, as `MPI_Type_get_true_extent`.
pub fn true_extent(datatype: Datatype) -> Result<(i64, i64), CommError> {
    ask(
        datatype,
        |known| (0, known.true_extent() as i64),
        |entry| {
            let bounds = entry.object.layout.bounds();
            (bounds.true_lower, bounds.true_extent())
        },
    )
}

/// Returns the number of items in `bytes` bytes, as `MPI_Get_count`; `None` if the last one is not complete.
pub fn count(datatype: Datatype, bytes: u64) -> Result<Option<u64>, CommError> {
    let whole = |entry: &Entry| match entry.object.layout.size() as u64 {
        0 => (bytes == 0).then_some(0),
        size => bytes.is_multiple_of(size).then(|| bytes / size),
    };
    ask(datatype, |known| known.count(bytes), whole)
}

/// Returns the number of values in `bytes` bytes, as `MPI_Get_elements`; `None` if the last one is not complete.
pub fn elements(datatype: Datatype, bytes: u64) -> Result<Option<u64>, CommError> {
    ask(
        datatype,
        |known| known.elements(bytes),
        |entry| entry.object.layout.elements_in(bytes),
    )
}

/// Returns the bytes of this many values; `None` if they are too many.
pub fn element_bytes(datatype: Datatype, elements: u64) -> Result<Option<u64>, CommError> {
    ask(
        datatype,
        |known| known.element_bytes(elements),
        |entry| entry.object.layout.bytes_of(elements),
    )
}

/// Returns the name, as `MPI_Type_get_name`.
pub fn name(datatype: Datatype) -> Result<Vec<u8>, CommError> {
    match datatype {
        Datatype::NULL => Ok(b"MPI_DATATYPE_NULL".as_slice().into()),
        _ => named(datatype),
    }
}

fn named(datatype: Datatype) -> Result<Vec<u8>, CommError> {
    let given = world::local(|Objects { extensions, .. }| {
        let names = &extensions.get::<GivenNames>().0;
        let given = names.iter().find(|(named, _)| *named == datatype);
        Ok(given.map(|(_, name)| name.clone()))
    });
    match given {
        Ok(Some(name)) => Ok(name),
        _ => ask(
            datatype,
            |known| known.name().as_bytes().into(),
            |entry| entry.name.clone(),
        ),
    }
}

/// Names that the program gave to predefined datatypes.
#[derive(Default)]
struct GivenNames(Vec<(Datatype, Vec<u8>)>);

/// Sets the name, as `MPI_Type_set_name`.
pub fn set_name(datatype: Datatype, name: &[u8]) -> Result<(), CommError> {
    let name: Vec<u8> = name
        .iter()
        .copied()
        .take(MPI_MAX_OBJECT_NAME as usize - 1)
        .collect();
    world::local(|objects| {
        if predefined(datatype).is_none() {
            objects.datatypes.get_mut(datatype)?.name = name;
            return Ok(());
        }
        let names = &mut objects.extensions.get::<GivenNames>().0;
        names.retain(|(named, _)| *named != datatype);
        names.push((datatype, name));
        Ok(())
    })
}

/// Returns the datatype of a pair of a value and an index, as `MPI_Type_get_value_index`; `MPI_DATATYPE_NULL` if no
/// predefined one has these.
pub fn value_index(value: Datatype, index: Datatype) -> Result<Datatype, CommError> {
    for datatype in [value, index] {
        if predefined(datatype).is_none() {
            let error = Error::Argument {
                class: Class::Type,
                name: "value_type or index_type",
                must: "a predefined datatype",
            };
            return Err(error.into());
        }
    }
    Ok(match (value, index) {
        (MPI_FLOAT, MPI_INT) => MPI_FLOAT_INT,
        (MPI_DOUBLE, MPI_INT) => MPI_DOUBLE_INT,
        (MPI_LONG, MPI_INT) => MPI_LONG_INT,
        (MPI_INT, MPI_INT) => MPI_2INT,
        (MPI_SHORT, MPI_INT) => MPI_SHORT_INT,
        (MPI_LONG_DOUBLE, MPI_INT) => MPI_LONG_DOUBLE_INT,
        (MPI_REAL, MPI_REAL) => MPI_2REAL,
        (MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION) => MPI_2DOUBLE_PRECISION,
        (MPI_INTEGER, MPI_INTEGER) => MPI_2INTEGER,
        _ => Datatype::NULL,
    })
}
