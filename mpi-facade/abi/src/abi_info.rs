//! What the binary interface leaves open, and the hardware that a process uses.

use crate::arguments::{Array, Out};
use core::ffi::{c_int, c_void};
use pombo_mpi::constants::*;
use pombo_mpi::error::Error;
use pombo_mpi::{abi_info, info};

mpi! {
    fn MPI_Abi_get_info(info: Out<Info>) {
        out!(info = abi_info::sizes());
        Ok(())
    }

    fn MPI_Abi_get_fortran_info(info: Out<Info>) {
        out!(info = abi_info::fortran());
        Ok(())
    }

    fn MPI_Abi_set_fortran_info(info: Info) {
        Ok(abi_info::set_fortran(info)?)
    }

    fn MPI_Abi_get_fortran_booleans(
        logical_size: c_int,
        logical_true: *mut c_void,
        logical_false: *mut c_void,
        is_set: Out<c_int>,
    ) {
        let (mut truth, mut lie) = logicals(logical_size, logical_true, logical_false)?;
        let found = abi_info::booleans(logical_size as usize)?;
        out!(is_set = c_int::from(found.is_some()));
        if let Some([yes, no]) = found {
            truth.write(yes);
            lie.write(no);
        }
        Ok(())
    }

    fn MPI_Abi_set_fortran_booleans(
        logical_size: c_int,
        logical_true: *mut c_void,
        logical_false: *mut c_void,
    ) {
        let (truth, lie) = logicals(logical_size, logical_true, logical_false)?;
        Ok(abi_info::set_booleans([truth.values(), lie.values()])?)
    }

    /// Returns no keys: the library does not know which hardware a process is bound to.
    fn MPI_Get_hw_resource_info(hw_info: Out<Info>) {
        out!(hw_info = info::create());
        Ok(())
    }
}

/// Returns the bytes of two logical values.
fn logicals(
    size: c_int,
    yes: *mut c_void,
    no: *mut c_void,
) -> Result<(Array<u8>, Array<u8>), Error> {
    abi_info::logical_size(size)?;
    Ok((
        Array::of(size, yes.cast(), "logical_true")?,
        Array::of(size, no.cast(), "logical_false")?,
    ))
}
