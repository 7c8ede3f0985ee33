//! Datatypes: sizes, bounds, names, their life, and arithmetic on addresses.

use crate::arguments::{InOut, Out, OutText, Text};
use core::ffi::{c_int, c_void};
use pombo_mpi::CommError;
use pombo_mpi::c_arguments::OutPointer;
use pombo_mpi::constants::*;
use pombo_mpi::datatype::{self, Family};
use pombo_mpi::error::{Class, Error};

/// Writes bounds as MPI_Aint or MPI_Count.
fn bounds<T: Copy>(
    lower: OutPointer<T>,
    extent: OutPointer<T>,
    (begin, bytes): (i64, i64),
    convert: impl Fn(i64) -> T,
) -> Result<(), CommError> {
    lower.set(convert(begin));
    extent.set(convert(bytes));
    Ok(())
}

/// Converts a size to C's `int`; `MPI_UNDEFINED` where it is too large.
fn small(size: u64) -> c_int {
    c_int::try_from(size).unwrap_or(MPI_UNDEFINED)
}

mpi! {
    fn MPI_Type_size(datatype: Datatype, size: Out<c_int>) {
        out!(size = small(datatype::size(datatype)?));
        Ok(())
    }

    fn MPI_Type_size_c(datatype: Datatype, size: Out<Count>) {
        out!(size = datatype::size(datatype)? as Count);
        Ok(())
    }

    fn MPI_Type_size_x(datatype: Datatype, size: Out<Count>) {
        out!(size = datatype::size(datatype)? as Count);
        Ok(())
    }

    fn MPI_Type_get_extent(datatype: Datatype, lb: Out<Aint>, extent: Out<Aint>) {
        bounds(lb, extent, datatype::extent(datatype)?, |bytes| bytes as Aint)
    }

    fn MPI_Type_get_extent_c(datatype: Datatype, lb: Out<Count>, extent: Out<Count>) {
        bounds(lb, extent, datatype::extent(datatype)?, |bytes| bytes)
    }

    fn MPI_Type_get_extent_x(datatype: Datatype, lb: Out<Count>, extent: Out<Count>) {
        bounds(lb, extent, datatype::extent(datatype)?, |bytes| bytes)
    }

    fn MPI_Type_get_true_extent(datatype: Datatype, true_lb: Out<Aint>, true_extent: Out<Aint>) {
        bounds(true_lb, true_extent, datatype::true_extent(datatype)?, |bytes| bytes as Aint)
    }

    fn MPI_Type_get_true_extent_c(datatype: Datatype, true_lb: Out<Count>, true_extent: Out<Count>) {
        bounds(true_lb, true_extent, datatype::true_extent(datatype)?, |bytes| bytes)
    }

    fn MPI_Type_get_true_extent_x(datatype: Datatype, true_lb: Out<Count>, true_extent: Out<Count>) {
        bounds(true_lb, true_extent, datatype::true_extent(datatype)?, |bytes| bytes)
    }

    fn MPI_Type_commit(datatype: InOut<Datatype>) {
        datatype::commit(datatype.get())
    }

    fn MPI_Type_free(datatype: InOut<Datatype>) {
        datatype::free(datatype.get())?;
        out!(datatype = Datatype::NULL);
        Ok(())
    }

    fn MPI_Type_get_name(
        datatype: Datatype,
        type_name: OutText<{ MPI_MAX_OBJECT_NAME as usize }>,
        resultlen: Out<c_int>,
    ) {
        out!(resultlen = type_name.set_text(&datatype::name(datatype)?));
        Ok(())
    }

    fn MPI_Type_set_name(datatype: Datatype, type_name: Text) {
        datatype::set_name(datatype, type_name.text())
    }

    fn MPI_Type_match_size(typeclass: c_int, size: c_int, datatype: Out<Datatype>) {
        let family = match typeclass {
            MPI_TYPECLASS_INTEGER => Family::FortranInteger,
            MPI_TYPECLASS_REAL => Family::Floating,
            MPI_TYPECLASS_COMPLEX => Family::Complex,
            _ => return Err(invalid("typeclass", "one of MPI_TYPECLASS_INTEGER, _REAL and _COMPLEX").into()),
        };
        // The last match is the type with its size in its name, where there is one.
        let (found, _) = datatype::all()
            .filter(|(_, known)| known.family == family && known.size() as c_int == size)
            .last()
            .ok_or(invalid("size", "the size of a Fortran datatype of that class"))?;
        out!(datatype = found);
        Ok(())
    }

    fn MPI_Type_get_value_index(value_type: Datatype, index_type: Datatype, pair_type: Out<Datatype>) {
        out!(pair_type = datatype::value_index(value_type, index_type)?);
        Ok(())
    }

    fn MPI_Get_address(location: *const c_void, address: Out<Aint>) {
        out!(address = location as Aint);
        Ok(())
    }

    fn MPI_Aint_add(base: Aint, disp: Aint) -> Aint {
        base.wrapping_add(disp)
    }

    fn MPI_Aint_diff(addr1: Aint, addr2: Aint) -> Aint {
        addr1.wrapping_sub(addr2)
    }
}

fn invalid(name: &'static str, must: &'static str) -> Error {
    Error::Argument {
        class: Class::Arg,
        name,
        must,
    }
}
