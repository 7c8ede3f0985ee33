//! Predefined datatypes: sizes, bounds and names; and arithmetic on addresses.

use crate::arguments::{Out, OutText};
use core::ffi::{c_int, c_void};
use pombo_mpi::constants::*;
use pombo_mpi::datatype::{self, Family, Predefined};
use pombo_mpi::error::{Class, Error, Kind};

/// Returns the datatype of a handle.
pub(crate) fn known(datatype: Datatype) -> Result<&'static Predefined, Error> {
    datatype::predefined(datatype).ok_or(Error::Handle {
        kind: Kind::Datatype,
        got: datatype.0,
    })
}

mpi! {
    fn MPI_Type_size(datatype: Datatype, size: Out<c_int>) {
        out!(size = known(datatype)?.size() as c_int);
        Ok(())
    }

    fn MPI_Type_size_c(datatype: Datatype, size: Out<Count>) {
        out!(size = known(datatype)?.size() as Count);
        Ok(())
    }

    fn MPI_Type_size_x(datatype: Datatype, size: Out<Count>) {
        out!(size = known(datatype)?.size() as Count);
        Ok(())
    }

    fn MPI_Type_get_extent(datatype: Datatype, lb: Out<Aint>, extent: Out<Aint>) {
        out!(extent = known(datatype)?.extent() as Aint, lb = 0);
        Ok(())
    }

    fn MPI_Type_get_extent_c(datatype: Datatype, lb: Out<Count>, extent: Out<Count>) {
        out!(extent = known(datatype)?.extent() as Count, lb = 0);
        Ok(())
    }

    fn MPI_Type_get_extent_x(datatype: Datatype, lb: Out<Count>, extent: Out<Count>) {
        out!(extent = known(datatype)?.extent() as Count, lb = 0);
        Ok(())
    }

    fn MPI_Type_get_true_extent(datatype: Datatype, true_lb: Out<Aint>, true_extent: Out<Aint>) {
        out!(true_extent = known(datatype)?.true_extent() as Aint, true_lb = 0);
        Ok(())
    }

    fn MPI_Type_get_true_extent_c(datatype: Datatype, true_lb: Out<Count>, true_extent: Out<Count>) {
        out!(true_extent = known(datatype)?.true_extent() as Count, true_lb = 0);
        Ok(())
    }

    fn MPI_Type_get_true_extent_x(datatype: Datatype, true_lb: Out<Count>, true_extent: Out<Count>) {
        out!(true_extent = known(datatype)?.true_extent() as Count, true_lb = 0);
        Ok(())
    }

    fn MPI_Type_get_name(
        datatype: Datatype,
        type_name: OutText<{ MPI_MAX_OBJECT_NAME as usize }>,
        resultlen: Out<c_int>,
    ) {
        let name = match datatype {
            Datatype::NULL => "MPI_DATATYPE_NULL",
            _ => known(datatype)?.name,
        };
        out!(resultlen = type_name.set_text(name.as_bytes()));
        Ok(())
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
