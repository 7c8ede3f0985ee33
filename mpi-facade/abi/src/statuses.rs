//! What a status says, and how to change it.

use crate::arguments::{In, Out, OutPointer};
use crate::datatypes::known;
use crate::export::{count, int};
use core::ffi::c_int;
use core::mem::MaybeUninit;
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error};
use pombo_mpi::status::Status;

mpi! {
    fn MPI_Get_count(status: In<Status>, datatype: Datatype, number: Out<c_int>) {
        out!(number = int(known(datatype)?.count(bytes(status))));
        Ok(())
    }

    fn MPI_Get_count_c(status: In<Status>, datatype: Datatype, number: Out<Count>) {
        out!(number = count(known(datatype)?.count(bytes(status))));
        Ok(())
    }

    fn MPI_Get_elements(status: In<Status>, datatype: Datatype, number: Out<c_int>) {
        out!(number = int(known(datatype)?.elements(bytes(status))));
        Ok(())
    }

    fn MPI_Get_elements_c(status: In<Status>, datatype: Datatype, number: Out<Count>) {
        out!(number = count(known(datatype)?.elements(bytes(status))));
        Ok(())
    }

    fn MPI_Get_elements_x(status: In<Status>, datatype: Datatype, number: Out<Count>) {
        out!(number = count(known(datatype)?.elements(bytes(status))));
        Ok(())
    }

    fn MPI_Test_cancelled(status: In<Status>, flag: Out<c_int>) {
        // SAFETY: the caller's status has been filled in.
        let cancelled = unsafe { Status::load_cancelled(status.pointer()) };
        out!(flag = c_int::from(cancelled));
        Ok(())
    }

    fn MPI_Status_get_source(status: In<Status>, source: Out<c_int>) {
        // SAFETY: the caller's status.
        copy(unsafe { &raw const (*status.pointer()).source }, source);
        Ok(())
    }

    fn MPI_Status_get_tag(status: In<Status>, tag: Out<c_int>) {
        // SAFETY: the caller's status.
        copy(unsafe { &raw const (*status.pointer()).tag }, tag);
        Ok(())
    }

    fn MPI_Status_get_error(status: In<Status>, err: Out<c_int>) {
        // SAFETY: the caller's status.
        copy(unsafe { &raw const (*status.pointer()).error }, err);
        Ok(())
    }

    fn MPI_Status_set_source(status: Out<Status>, source: c_int) {
        // SAFETY: the caller's status is writable.
        unsafe { (&raw mut (*status.pointer()).source).write(source) };
        Ok(())
    }

    fn MPI_Status_set_tag(status: Out<Status>, tag: c_int) {
        // SAFETY: as above.
        unsafe { (&raw mut (*status.pointer()).tag).write(tag) };
        Ok(())
    }

    fn MPI_Status_set_error(status: Out<Status>, err: c_int) {
        // SAFETY: as above.
        unsafe { (&raw mut (*status.pointer()).error).write(err) };
        Ok(())
    }

    fn MPI_Status_set_cancelled(status: Out<Status>, flag: c_int) {
        // SAFETY: as above.
        unsafe { Status::store_cancelled(status.pointer(), flag != 0) };
        Ok(())
    }

    fn MPI_Status_set_elements(status: Out<Status>, datatype: Datatype, number: c_int) {
        Ok(set_elements(status, datatype, number.into())?)
    }

    fn MPI_Status_set_elements_c(status: Out<Status>, datatype: Datatype, number: Count) {
        Ok(set_elements(status, datatype, number)?)
    }

    fn MPI_Status_set_elements_x(status: Out<Status>, datatype: Datatype, number: Count) {
        Ok(set_elements(status, datatype, number)?)
    }
}

fn bytes(status: OutPointer<Status>) -> u64 {
    // SAFETY: the caller of C passes a status that has been filled in.
    unsafe { Status::load_bytes(status.pointer()) }
}

/// Copies a number that nobody may have written yet: calls that complete one operation leave the error alone.
fn copy(from: *const c_int, to: OutPointer<c_int>) {
    let to = to.pointer().cast::<MaybeUninit<c_int>>();
    // SAFETY: both lie in memory of the caller of C, and neither is null.
    unsafe { from.cast::<MaybeUninit<c_int>>().copy_to(to, 1) };
}

fn set_elements(
    status: OutPointer<Status>,
    datatype: Datatype,
    number: Count,
) -> Result<(), Error> {
    let elements = u64::try_from(number).map_err(|_| Error::Count { got: number })?;
    let bytes = known(datatype)?
        .element_bytes(elements)
        .ok_or(Error::Argument {
            class: Class::Count,
            name: "count",
            must: "so small that 64 bits count the bytes",
        })?;
    // SAFETY: the caller of C passes a status that is writable.
    unsafe { Status::store_bytes(status.pointer(), bytes) };
    Ok(())
}
