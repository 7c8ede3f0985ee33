//! The values of a status, and functions that change them.

use crate::arguments::{In, Out};
use crate::export::{count, int};
use core::ffi::c_int;
use core::mem::MaybeUninit;
use pombo_mpi::CommError;
use pombo_mpi::c_arguments::OutPointer;
use pombo_mpi::constants::*;
use pombo_mpi::datatype;
use pombo_mpi::error::{Class, Error};
use pombo_mpi::status::Status;

mpi! {
    fn MPI_Get_count(status: In<Status>, datatype: Datatype, number: Out<c_int>) {
        out!(number = int(datatype::count(datatype, Status::load_bytes(status))?));
        Ok(())
    }

    fn MPI_Get_count_c(status: In<Status>, datatype: Datatype, number: Out<Count>) {
        out!(number = count(datatype::count(datatype, Status::load_bytes(status))?));
        Ok(())
    }

    fn MPI_Get_elements(status: In<Status>, datatype: Datatype, number: Out<c_int>) {
        out!(number = int(datatype::elements(datatype, Status::load_bytes(status))?));
        Ok(())
    }

    fn MPI_Get_elements_c(status: In<Status>, datatype: Datatype, number: Out<Count>) {
        out!(number = count(datatype::elements(datatype, Status::load_bytes(status))?));
        Ok(())
    }

    fn MPI_Get_elements_x(status: In<Status>, datatype: Datatype, number: Out<Count>) {
        out!(number = count(datatype::elements(datatype, Status::load_bytes(status))?));
        Ok(())
    }

    fn MPI_Test_cancelled(status: In<Status>, flag: Out<c_int>) {
        out!(flag = c_int::from(Status::load_cancelled(status)));
        Ok(())
    }

    fn MPI_Status_get_source(status: In<Status>, source: Out<c_int>) {
        copy::<{ Status::SOURCE }>(status, source);
        Ok(())
    }

    fn MPI_Status_get_tag(status: In<Status>, tag: Out<c_int>) {
        copy::<{ Status::TAG }>(status, tag);
        Ok(())
    }

    fn MPI_Status_get_error(status: In<Status>, err: Out<c_int>) {
        copy::<{ Status::ERROR }>(status, err);
        Ok(())
    }

    fn MPI_Status_set_source(status: Out<Status>, source: c_int) {
        status.part::<c_int, { Status::SOURCE }>().set(source);
        Ok(())
    }

    fn MPI_Status_set_tag(status: Out<Status>, tag: c_int) {
        status.part::<c_int, { Status::TAG }>().set(tag);
        Ok(())
    }

    fn MPI_Status_set_error(status: Out<Status>, err: c_int) {
        status.part::<c_int, { Status::ERROR }>().set(err);
        Ok(())
    }

    fn MPI_Status_set_cancelled(status: Out<Status>, flag: c_int) {
        Status::store_cancelled(status, flag != 0);
        Ok(())
    }

    fn MPI_Status_set_elements(status: Out<Status>, datatype: Datatype, number: c_int) {
        set_elements(status, datatype, number.into())
    }

    fn MPI_Status_set_elements_c(status: Out<Status>, datatype: Datatype, number: Count) {
        set_elements(status, datatype, number)
    }

    fn MPI_Status_set_elements_x(status: Out<Status>, datatype: Datatype, number: Count) {
        set_elements(status, datatype, number)
    }
}

/// Copies a field of a status that may be uninitialised, as calls that complete one operation do not write the error.
fn copy<const AT: usize>(status: OutPointer<Status>, to: OutPointer<c_int>) {
    let number = status.part::<MaybeUninit<c_int>, AT>().get();
    to.part::<MaybeUninit<c_int>, 0>().set(number);
}

fn set_elements(
    status: OutPointer<Status>,
    datatype: Datatype,
    number: Count,
) -> Result<(), CommError> {
    let elements = u64::try_from(number).map_err(|_| Error::Count { got: number })?;
    let bytes = datatype::element_bytes(datatype, elements)?.ok_or(Error::Argument {
        class: Class::Count,
        name: "count",
        must: "so small that 64 bits count the bytes",
    })?;
    Status::store_bytes(status, bytes);
    Ok(())
}
