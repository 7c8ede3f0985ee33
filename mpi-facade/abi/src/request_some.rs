//! Completion of any or some of several requests, and cancellation.

use crate::arguments::{Array, InOut, Out, StatusWriter, Statuses};
use crate::requests::handles;
use core::ffi::c_int;
use pombo_mpi::CommError;
use pombo_mpi::c_arguments::OutPointer;
use pombo_mpi::constants::*;
use pombo_mpi::errhandler::in_status;
use pombo_mpi::error::Error;
use pombo_mpi::request_some::{self, Completion};
use pombo_mpi::status::Status;

/// Writes the results of `MPI_Waitany` and `MPI_Testany`: the index and the status. Returns false if all active
/// requests are pending.
pub(crate) fn write_any(
    seen: Completion,
    found: Status,
    index: OutPointer<c_int>,
    status: StatusWriter,
) -> Result<bool, CommError> {
    let place = match seen {
        Completion::Complete(place, _) => place as c_int,
        _ => MPI_UNDEFINED,
    };
    out!(index = place);
    match seen {
        Completion::Pending => return Ok(false),
        Completion::Complete(_, Some(failure)) => return Err(failure),
        _ => {}
    }
    status.store(found);
    Ok(true)
}

/// The results of `MPI_Waitsome` and `MPI_Testsome`.
pub(crate) struct SomeStatuses {
    indices: Array<c_int>,
    statuses: Statuses,
    pub(crate) count: usize,
    failed: Option<CommError>,
}

impl SomeStatuses {
    /// Makes the writer of results for `requests` requests.
    pub(crate) fn new(
        requests: c_int,
        indices: *mut c_int,
        statuses: *mut Status,
    ) -> Result<Self, Error> {
        Ok(SomeStatuses {
            indices: Array::of(requests, indices, "array_of_indices")?,
            statuses: Statuses::of(requests as usize, statuses),
            count: 0,
            failed: None,
        })
    }

    /// Adds a complete request.
    pub(crate) fn add(&mut self, index: usize, status: Status, failure: Option<CommError>) {
        self.indices.set(self.count, index as c_int);
        self.statuses.set(self.count, &status, failure.as_ref());
        self.count += 1;
        self.failed = self.failed.take().or(failure);
    }

    /// Adds the complete requests from `first` on.
    fn rest(&mut self, requests: &mut [Request], first: usize) -> Result<(), CommError> {
        request_some::each_complete(requests, first, |index, status, failure| {
            self.add(index, status, failure);
        })
    }

    pub(crate) fn end(self) -> Result<(), CommError> {
        self.failed
            .map_or(Ok(()), |failure| Err(in_status(failure)))
    }
}

mpi! {
    fn MPI_Waitany(
        count: c_int,
        array_of_requests: *mut Request,
        index: Out<c_int>,
        status: StatusWriter,
    ) {
        let requests = handles(count, array_of_requests)?;
        let mut found = Status::EMPTY;
        let seen = request_some::wait_any(requests, &mut found)?;
        write_any(seen, found, index, status).map(drop)
    }

    fn MPI_Testany(
        count: c_int,
        array_of_requests: *mut Request,
        index: Out<c_int>,
        flag: Out<c_int>,
        status: StatusWriter,
    ) {
        let requests = handles(count, array_of_requests)?;
        let mut found = Status::EMPTY;
        let seen = request_some::test_any(requests, &mut found)?;
        out!(flag = c_int::from(!matches!(seen, Completion::Pending)));
        write_any(seen, found, index, status).map(drop)
    }

    fn MPI_Waitsome(
        incount: c_int,
        array_of_requests: *mut Request,
        outcount: Out<c_int>,
        array_of_indices: *mut c_int,
        array_of_statuses: *mut Status,
    ) {
        let requests = handles(incount, array_of_requests)?;
        let mut found = SomeStatuses::new(incount, array_of_indices, array_of_statuses)?;
        let mut status = Status::EMPTY;
        let Completion::Complete(first, failure) = request_some::wait_first(requests, &mut status)? else {
            out!(outcount = MPI_UNDEFINED);
            return Ok(());
        };
        found.add(first, status, failure);
        let rest = found.rest(requests, first + 1);
        out!(outcount = found.count as c_int);
        rest?;
        found.end()
    }

    fn MPI_Testsome(
        incount: c_int,
        array_of_requests: *mut Request,
        outcount: Out<c_int>,
        array_of_indices: *mut c_int,
        array_of_statuses: *mut Status,
    ) {
        let requests = handles(incount, array_of_requests)?;
        let mut found = SomeStatuses::new(incount, array_of_indices, array_of_statuses)?;
        let mut status = Status::EMPTY;
        let rest = match request_some::test_any(requests, &mut status)? {
            Completion::Complete(first, failure) => {
                found.add(first, status, failure);
                found.rest(requests, first + 1)
            }
            Completion::Pending => Ok(()),
            Completion::NoneActive => {
                out!(outcount = MPI_UNDEFINED);
                return Ok(());
            }
        };
        out!(outcount = found.count as c_int);
        rest?;
        found.end()
    }

    fn MPI_Cancel(request: InOut<Request>) {
        request_some::cancel(request.get())
    }
}
