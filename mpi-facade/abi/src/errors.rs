//! Error codes and their texts.

use crate::arguments::{Out, OutText};
use core::ffi::c_int;
use pombo_mpi::constants::MPI_MAX_ERROR_STRING;
use pombo_mpi::error::{Class, Error, error_string};

/// The error for a code that is no class's.
const UNKNOWN_CODE: Error = Error::Argument {
    class: Class::Arg,
    name: "errorcode",
    must: "a code that an MPI call returned",
};

mpi! {
    fn MPI_Error_class(errorcode: c_int, errorclass: Out<c_int>) {
        let class = Class::from_code(errorcode).ok_or(UNKNOWN_CODE)?;
        out!(errorclass = class as c_int);
        Ok(())
    }

    fn MPI_Error_string(errorcode: c_int, string: OutText<{ MPI_MAX_ERROR_STRING as usize }>, resultlen: Out<c_int>) {
        let text = error_string(errorcode).ok_or(UNKNOWN_CODE)?;
        out!(resultlen = string.set_text(text.as_bytes()));
        Ok(())
    }
}
