//! Completion of requests.

use crate::arguments::{Array, InOut, Out, StatusWriter, Statuses};
use core::ffi::c_int;
use pombo_mpi::constants::*;
use pombo_mpi::errhandler::in_status;
use pombo_mpi::error::Error;
use pombo_mpi::request;
use pombo_mpi::status::Status;

/// Returns the requests of an array.
#[inline(always)]
pub(crate) fn handles<'a>(
    count: c_int,
    requests: *mut Request,
) -> Result<&'a mut [Request], Error> {
    Array::of(count, requests, "array_of_requests").map(Array::all)
}

mpi! {
    fn MPI_Wait(request: InOut<Request>, status: StatusWriter) {
        let mut found = Status::EMPTY;
        let mut handle = request.get();
        let outcome = request::wait(&mut handle, &mut found);
        out!(request = handle);
        outcome?;
        status.store(found);
        Ok(())
    }

    fn MPI_Test(request: InOut<Request>, flag: Out<c_int>, status: StatusWriter) {
        let mut found = Status::EMPTY;
        let mut handle = request.get();
        let outcome = request::test(&mut handle, &mut found);
        out!(request = handle);
        // A failed request is complete.
        out!(flag = c_int::from(!matches!(outcome, Ok(false))));
        if outcome? {
            status.store(found);
        }
        Ok(())
    }

    fn MPI_Waitall(count: c_int, array_of_requests: *mut Request, array_of_statuses: *mut Status) {
        let requests = handles(count, array_of_requests)?;
        let mut statuses = Statuses::of(requests.len(), array_of_statuses);
        let (mut failed, wanted) = (None, statuses.are_wanted());
        request::wait_all(requests, wanted, |index, status, failure| {
            statuses.set(index, status, failure.as_ref());
            failed = failed.take().or(failure);
        })?;
        failed.map_or(Ok(()), |failure| Err(in_status(failure)))
    }
}
