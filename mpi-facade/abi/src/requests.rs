//! Completion of requests.

use core::ffi::c_int;
use pombo_mpi::constants::*;
use pombo_mpi::error::Error;
use pombo_mpi::fault::in_status;
use pombo_mpi::request;
use pombo_mpi::status::Status;

/// The requests of an array.
///
/// # Safety
/// `requests` are `count` handles that stay where they are.
pub(crate) unsafe fn handles<'a>(
    count: c_int,
    requests: *mut Request,
) -> Result<&'a mut [Request], Error> {
    let count = usize::try_from(count).map_err(|_| Error::Count { got: count.into() })?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: the caller's promise; handles are plain numbers.
    Ok(unsafe { core::slice::from_raw_parts_mut(requests, count) })
}

/// Writes a status of an array, its error included.
///
/// # Safety
/// `statuses` is `MPI_STATUSES_IGNORE` or has a place `index`.
pub(crate) unsafe fn store_at(status: Status, statuses: *mut Status, index: usize, error: c_int) {
    if !statuses.is_null() {
        // SAFETY: the caller's promise.
        unsafe { statuses.add(index).write(status.with_error(error)) };
    }
}

mpi! {
    fn MPI_Wait(request: *mut Request, status: *mut Status) {
        let mut found = Status::EMPTY;
        // SAFETY: the caller's handle.
        request::wait(unsafe { &mut *request }, &mut found)?;
        // SAFETY: the caller's status, or MPI_STATUS_IGNORE.
        unsafe { found.store(status) };
        Ok(())
    }

    fn MPI_Test(request: *mut Request, flag: *mut c_int, status: *mut Status) {
        let mut found = Status::EMPTY;
        // SAFETY: the caller's handle.
        let outcome = request::test(unsafe { &mut *request }, &mut found);
        // A request that failed is over.
        give!(flag = c_int::from(!matches!(outcome, Ok(false))));
        if outcome? {
            // SAFETY: the caller's status, or MPI_STATUS_IGNORE.
            unsafe { found.store(status) };
        }
        Ok(())
    }

    fn MPI_Waitall(count: c_int, array_of_requests: *mut Request, array_of_statuses: *mut Status) {
        // SAFETY: the caller's array.
        let requests = unsafe { handles(count, array_of_requests) }?;
        let (mut failed, wanted) = (None, !array_of_statuses.is_null());
        request::wait_all(requests, wanted, |index, status, fault| {
            let error = fault.map_or(0, |fault| fault.error.code());
            // SAFETY: the caller's array, or MPI_STATUSES_IGNORE.
            unsafe { store_at(*status, array_of_statuses, index, error) };
            failed = failed.or(fault);
        })?;
        failed.map_or(Ok(()), |fault| Err(in_status(fault)))
    }
}
