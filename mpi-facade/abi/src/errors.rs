//! Error handlers, error codes and their texts.

use crate::arguments::{InOut, Out, OutText, Text, UserFunction};
use core::ffi::c_int;
use pombo_mpi::c_arguments::ErrorFunction;
use pombo_mpi::constants::*;
use pombo_mpi::{errhandler, error_codes};

mpi! {
    fn MPI_Comm_create_errhandler(
        comm_errhandler_fn: UserFunction<ErrorFunction>,
        errhandler: Out<Errhandler>,
    ) {
        out!(errhandler = errhandler::create(comm_errhandler_fn)?);
        Ok(())
    }

    fn MPI_Errhandler_free(errhandler: InOut<Errhandler>) {
        errhandler::free(errhandler.get())?;
        out!(errhandler = Errhandler::NULL);
        Ok(())
    }

    fn MPI_Comm_set_errhandler(comm: Comm, errhandler: Errhandler) {
        errhandler::set_handler(comm, errhandler)
    }

    fn MPI_Comm_get_errhandler(comm: Comm, errhandler: Out<Errhandler>) {
        out!(errhandler = errhandler::get_handler(comm)?);
        Ok(())
    }

    fn MPI_Comm_call_errhandler(comm: Comm, errorcode: c_int) {
        errhandler::call(comm, errorcode)
    }

    fn MPI_Error_class(errorcode: c_int, errorclass: Out<c_int>) {
        out!(errorclass = error_codes::class(errorcode)?);
        Ok(())
    }

    fn MPI_Error_string(errorcode: c_int, string: OutText<{ MPI_MAX_ERROR_STRING as usize }>, resultlen: Out<c_int>) {
        out!(resultlen = error_codes::with_text(errorcode, |text| string.set_text(text))?);
        Ok(())
    }

    fn MPI_Add_error_class(errorclass: Out<c_int>) {
        out!(errorclass = error_codes::add_class());
        Ok(())
    }

    fn MPI_Add_error_code(errorclass: c_int, errorcode: Out<c_int>) {
        out!(errorcode = error_codes::add_code(errorclass)?);
        Ok(())
    }

    fn MPI_Add_error_string(errorcode: c_int, string: Text) {
        Ok(error_codes::set_text(errorcode, string.text())?)
    }

    fn MPI_Remove_error_class(errorclass: c_int) {
        Ok(error_codes::remove_class(errorclass)?)
    }

    fn MPI_Remove_error_code(errorcode: c_int) {
        Ok(error_codes::remove_code(errorcode)?)
    }

    fn MPI_Remove_error_string(errorcode: c_int) {
        Ok(error_codes::remove_text(errorcode)?)
    }
}
