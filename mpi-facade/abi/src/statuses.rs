//! What a status says, and how to change it.

use crate::export::{count, int};
use crate::types::known;
use core::ffi::c_int;
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error};
use pombo_mpi::status::Status;

mpi! {
    fn MPI_Get_count(status: *const Status, datatype: Datatype, number: *mut c_int) {
        give!(number = int(known(datatype)?.count(bytes(status))));
        Ok(())
    }

    fn MPI_Get_count_c(status: *const Status, datatype: Datatype, number: *mut Count) {
        give!(number = count(known(datatype)?.count(bytes(status))));
        Ok(())
    }

    fn MPI_Get_elements(status: *const Status, datatype: Datatype, number: *mut c_int) {
        give!(number = int(known(datatype)?.elements(bytes(status))));
        Ok(())
    }

    fn MPI_Get_elements_c(status: *const Status, datatype: Datatype, number: *mut Count) {
        give!(number = count(known(datatype)?.elements(bytes(status))));
        Ok(())
    }

    fn MPI_Get_elements_x(status: *const Status, datatype: Datatype, number: *mut Count) {
        give!(number = count(known(datatype)?.elements(bytes(status))));
        Ok(())
    }

    fn MPI_Test_cancelled(status: *const Status, flag: *mut c_int) {
        // SAFETY: the caller's status has been filled in.
        let cancelled = unsafe { Status::load(status) }.cancelled();
        give!(flag = c_int::from(cancelled));
        Ok(())
    }

    fn MPI_Status_get_source(status: *const Status, source: *mut c_int) {
        // SAFETY: as above.
        give!(source = unsafe { (*status).source });
        Ok(())
    }

    fn MPI_Status_get_tag(status: *const Status, tag: *mut c_int) {
        // SAFETY: as above.
        give!(tag = unsafe { (*status).tag });
        Ok(())
    }

    fn MPI_Status_get_error(status: *const Status, err: *mut c_int) {
        // SAFETY: as above, by a call that fills in the error too.
        give!(err = unsafe { (*status).error });
        Ok(())
    }

    fn MPI_Status_set_source(status: *mut Status, source: c_int) {
        // SAFETY: the caller's status is writable.
        unsafe { (*status).source = source };
        Ok(())
    }

    fn MPI_Status_set_tag(status: *mut Status, tag: c_int) {
        // SAFETY: as above.
        unsafe { (*status).tag = tag };
        Ok(())
    }

    fn MPI_Status_set_error(status: *mut Status, err: c_int) {
        // SAFETY: as above.
        unsafe { (*status).error = err };
        Ok(())
    }

    fn MPI_Status_set_cancelled(status: *mut Status, flag: c_int) {
        change(status, |status| status.set_cancelled(flag != 0));
        Ok(())
    }

    fn MPI_Status_set_elements(status: *mut Status, datatype: Datatype, number: c_int) {
        Ok(set_elements(status, datatype, number.into())?)
    }

    fn MPI_Status_set_elements_c(status: *mut Status, datatype: Datatype, number: Count) {
        Ok(set_elements(status, datatype, number)?)
    }

    fn MPI_Status_set_elements_x(status: *mut Status, datatype: Datatype, number: Count) {
        Ok(set_elements(status, datatype, number)?)
    }
}

fn bytes(status: *const Status) -> u64 {
    // SAFETY: the caller of C passes a status that has been filled in.
    unsafe { Status::load(status) }.bytes()
}

fn change(status: *mut Status, change: impl FnOnce(&mut Status)) {
    // SAFETY: the caller of C passes a status that is initialised, `error` apart, and writable.
    unsafe {
        let mut changed = Status::load(status);
        change(&mut changed);
        changed.store(status);
    }
}

fn set_elements(status: *mut Status, datatype: Datatype, number: Count) -> Result<(), Error> {
    let elements = u64::try_from(number).map_err(|_| Error::Count { got: number })?;
    let bytes = known(datatype)?
        .element_bytes(elements)
        .ok_or(Error::Argument {
            class: Class::Count,
            name: "count",
            must: "so small that 64 bits count the bytes",
        })?;
    change(status, |status| status.set_bytes(bytes));
    Ok(())
}
