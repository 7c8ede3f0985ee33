//! The constructors of datatypes, except those of arrays; committing and freeing. Source: MPI 5.0, section 5.1.
//!
//! Each takes the arguments of both its C forms; `large` says that it was the one with large counts.

use super::construction::{Construction, TypeObject};
use super::datatypes::{Datatypes, unknown};
use super::predefined::predefined;
use super::type_layout::{Piece, TypeLayout};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::objects::Objects;
use crate::runtime::world::{self, CommError};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ffi::c_int;

/// Makes a datatype of a layout.
#[inline]
pub(super) fn make(
    make: impl FnOnce(&Datatypes) -> Result<(TypeLayout, Construction), Error>,
) -> Result<Datatype, CommError> {
    world::local(|Objects { datatypes, .. }| {
        let made = make(datatypes);
        Ok(add(datatypes, made)?)
    })
}

#[inline(never)]
fn add(
    datatypes: &mut Datatypes,
    made: Result<(TypeLayout, Construction), Error>,
) -> Result<Datatype, Error> {
    let (layout, construction) = made?;
    let object = TypeObject {
        layout: Rc::new(layout),
        construction,
    };
    Ok(datatypes.insert(Rc::new(object), false))
}

/// Checks a number of items or blocks.
pub(super) fn number(count: i64) -> Result<u64, Error> {
    u64::try_from(count).map_err(|_| Error::Count { got: count })
}

/// Multiplies a displacement in items with their extent.
fn scaled(items: i64, extent: i64) -> Result<i64, Error> {
    items.checked_mul(extent).ok_or(too_large())
}

/// Makes consecutive items, as `MPI_Type_contiguous`.
pub fn contiguous(count: i64, old: Datatype, large: bool) -> Result<Datatype, CommError> {
    make(|datatypes| {
        let layout = datatypes.layout(old)?;
        let made = Construction::new(MPI_COMBINER_CONTIGUOUS, large).counts(&[count]);
        let extent = layout.bounds().extent();
        Ok((
            layout.repeated(number(count)?, extent)?,
            made.datatype(datatypes.argument(old)?),
        ))
    })
}

/// Makes blocks at a stride in items, as `MPI_Type_vector`.
pub fn vector(
    count: i64,
    length: i64,
    stride: i64,
    old: Datatype,
    large: bool,
) -> Result<Datatype, CommError> {
    make(|datatypes| {
        let layout = datatypes.layout(old)?;
        let made = Construction::new(MPI_COMBINER_VECTOR, large).counts(&[count, length, stride]);
        let bytes = scaled(stride, layout.bounds().extent())?;
        Ok((
            strided(count, length, bytes, &layout)?,
            made.datatype(datatypes.argument(old)?),
        ))
    })
}

/// Makes blocks at a stride in bytes, as `MPI_Type_create_hvector`.
pub fn hvector(
    count: i64,
    length: i64,
    stride: i64,
    old: Datatype,
    large: bool,
) -> Result<Datatype, CommError> {
    make(|datatypes| {
        let layout = datatypes.layout(old)?;
        let made = Construction::new(MPI_COMBINER_HVECTOR, large)
            .counts(&[count, length])
            .addresses(&[stride]);
        Ok((
            strided(count, length, stride, &layout)?,
            made.datatype(datatypes.argument(old)?),
        ))
    })
}

fn strided(count: i64, length: i64, stride: i64, of: &TypeLayout) -> Result<TypeLayout, Error> {
    let (count, length) = (number(count)?, number(length)?);
    let block = of.repeated(length, of.bounds().extent())?;
    block.repeated(count, stride)
}

/// Makes blocks of several lengths, at displacements in items, as `MPI_Type_indexed`.
pub fn indexed(
    lengths: &[i64],
    displacements: &[i64],
    old: Datatype,
    large: bool,
) -> Result<Datatype, CommError> {
    let made = Construction::new(MPI_COMBINER_INDEXED, large)
        .counts(&[lengths.len() as i64])
        .counts(lengths)
        .counts(displacements);
    apart(lengths, displacements, true, old, made)
}

/// Makes blocks of several lengths, at displacements in bytes, as `MPI_Type_create_hindexed`.
pub fn hindexed(
    lengths: &[i64],
    displacements: &[i64],
    old: Datatype,
    large: bool,
) -> Result<Datatype, CommError> {
    let made = Construction::new(MPI_COMBINER_HINDEXED, large)
        .counts(&[lengths.len() as i64])
        .counts(lengths)
        .addresses(displacements);
    apart(lengths, displacements, false, old, made)
}

/// Makes blocks of one length, at displacements in items, as `MPI_Type_create_indexed_block`.
pub fn indexed_block(
    length: i64,
    displacements: &[i64],
    old: Datatype,
    large: bool,
) -> Result<Datatype, CommError> {
    let made = Construction::new(MPI_COMBINER_INDEXED_BLOCK, large)
        .counts(&[displacements.len() as i64, length])
        .counts(displacements);
    let lengths: Vec<i64> = displacements.iter().map(|_| length).collect();
    apart(&lengths, displacements, true, old, made)
}

/// Makes blocks of one length, at displacements in bytes, as `MPI_Type_create_hindexed_block`.
pub fn hindexed_block(
    length: i64,
    displacements: &[i64],
    old: Datatype,
    large: bool,
) -> Result<Datatype, CommError> {
    let made = Construction::new(MPI_COMBINER_HINDEXED_BLOCK, large)
        .counts(&[displacements.len() as i64, length])
        .addresses(displacements);
    let lengths: Vec<i64> = displacements.iter().map(|_| length).collect();
    apart(&lengths, displacements, false, old, made)
}

fn apart(
    lengths: &[i64],
    displacements: &[i64],
    in_items: bool,
    old: Datatype,
    made: Construction,
) -> Result<Datatype, CommError> {
    make(|datatypes| {
        let layout = datatypes.layout(old)?;
        let unit = if in_items {
            layout.bounds().extent()
        } else {
            1
        };
        let mut pieces = Vec::with_capacity(lengths.len());
        for (&length, &displacement) in lengths.iter().zip(displacements) {
            let offset = scaled(displacement, unit)?;
            pieces.push(Piece::items(offset, number(length)?, &layout));
        }
        Ok((
            TypeLayout::of_pieces(&pieces)?,
            made.datatype(datatypes.argument(old)?),
        ))
    })
}

/// Makes blocks of several datatypes, as `MPI_Type_create_struct`. As in C, its extent is a multiple of the largest
/// alignment of its values.
pub fn structure(
    lengths: &[i64],
    displacements: &[i64],
    olds: &[Datatype],
    large: bool,
) -> Result<Datatype, CommError> {
    make(|datatypes| {
        let mut made = Construction::new(MPI_COMBINER_STRUCT, large)
            .counts(&[lengths.len() as i64])
            .counts(lengths)
            .addresses(displacements);
        let mut layouts = Vec::with_capacity(olds.len());
        for &old in olds {
            layouts.push(datatypes.layout(old)?);
            made = made.datatype(datatypes.argument(old)?);
        }
        let mut pieces = Vec::with_capacity(lengths.len());
        for ((&length, &offset), layout) in lengths.iter().zip(displacements).zip(&layouts) {
            pieces.push(Piece::items(offset, number(length)?, layout));
        }
        let layout = TypeLayout::of_pieces(&pieces)?;
        Ok((layout.padded()?, made))
    })
}

/// Makes a datatype with other bounds, as `MPI_Type_create_resized`.
pub fn resized(old: Datatype, lower: i64, extent: i64, large: bool) -> Result<Datatype, CommError> {
    make(|datatypes| {
        let layout = datatypes.layout(old)?;
        let made = Construction::new(MPI_COMBINER_RESIZED, large).addresses(&[lower, extent]);
        Ok((
            layout.resized(lower, extent)?,
            made.datatype(datatypes.argument(old)?),
        ))
    })
}

/// Makes a copy, as `MPI_Type_dup`; it is committed if the original is.
pub(super) fn duplicate(old: Datatype) -> Result<Datatype, CommError> {
    world::local(|Objects { datatypes, .. }| {
        let layout = datatypes.layout(old)?;
        let committed = datatypes.is_committed(old)?;
        let combiner: c_int = MPI_COMBINER_DUP;
        let construction = Construction::new(combiner, false).datatype(datatypes.argument(old)?);
        let object = TypeObject {
            layout,
            construction,
        };
        Ok(datatypes.insert(Rc::new(object), committed))
    })
}

/// Makes a datatype ready for communication, as `MPI_Type_commit`.
pub fn commit(datatype: Datatype) -> Result<(), CommError> {
    world::local(|objects| {
        if predefined(datatype).is_none() {
            objects.datatypes.get_mut(datatype)?.committed = true;
        }
        Ok(())
    })
}

/// Frees a datatype, as `MPI_Type_free`. What is made of it, and messages under way, keep its layout.
pub(super) fn free(datatype: Datatype) -> Result<(), CommError> {
    world::local(|objects| {
        let entry = objects.datatypes.get(datatype);
        let is_unnamed = entry.is_ok_and(|entry| entry.object.is_unnamed());
        if predefined(datatype).is_some() || is_unnamed {
            let error = Error::Argument {
                class: Class::Type,
                name: "datatype",
                must: "one that the program has made: predefined ones are never freed",
            };
            return Err(error.into());
        }
        match objects.datatypes.remove_own(datatype) {
            true => Ok(()),
            false => Err(unknown(datatype).into()),
        }
    })
}

/// Returns the error of a displacement that does not fit.
pub(super) fn too_large() -> Error {
    Error::Argument {
        class: Class::Arg,
        name: "displacements or sizes",
        must: "so small that 63 bits hold them in bytes",
    }
}
