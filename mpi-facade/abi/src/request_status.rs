//! Tests that keep the handles, tests of all requests together, and freed requests.

use crate::arguments::{InOut, Out, StatusWriter, Statuses};
use crate::request_some::{SomeStatuses, write_any};
use crate::requests::handles;
use core::ffi::c_int;
use pombo_mpi::CommError;
use pombo_mpi::constants::*;
use pombo_mpi::errhandler::in_status;
use pombo_mpi::request_some::Completion;
use pombo_mpi::request_status;
use pombo_mpi::status::Status;

/// Writes the statuses of requests that complete together.
struct AllStatuses {
    statuses: Statuses,
    failed: Option<CommError>,
}

impl AllStatuses {
    fn new(statuses: Statuses) -> Self {
        AllStatuses {
            statuses,
            failed: None,
        }
    }

    fn add(&mut self, index: usize, status: &Status, failure: Option<CommError>) {
        self.statuses.set(index, status, failure.as_ref());
        self.failed = self.failed.take().or(failure);
    }

    fn end(self) -> Result<(), CommError> {
        self.failed
            .map_or(Ok(()), |failure| Err(in_status(failure)))
    }
}

mpi! {
    fn MPI_Testall(
        count: c_int,
        array_of_requests: *mut Request,
        flag: Out<c_int>,
        array_of_statuses: *mut Status,
    ) {
        let requests = handles(count, array_of_requests)?;
        let mut all_statuses = AllStatuses::new(Statuses::of(requests.len(), array_of_statuses));
        let all = request_status::test_all(requests, &mut |index, status, failure| {
            all_statuses.add(index, status, failure);
        })?;
        out!(flag = c_int::from(all));
        all_statuses.end()
    }

    fn MPI_Request_get_status(request: Request, flag: Out<c_int>, status: StatusWriter) {
        let mut found = Status::EMPTY;
        let seen = request_status::get_status(&[request], 0, &mut found)?;
        out!(flag = c_int::from(!matches!(seen, Completion::Pending)));
        match seen {
            Completion::Pending => {}
            Completion::Complete(_, Some(failure)) => return Err(failure),
            _ => status.store(found),
        }
        Ok(())
    }

    fn MPI_Request_get_status_all(
        count: c_int,
        array_of_requests: *const Request,
        flag: Out<c_int>,
        array_of_statuses: *mut Status,
    ) {
        let requests = handles(count, array_of_requests.cast_mut())?;
        let mut all_statuses = AllStatuses::new(Statuses::of(requests.len(), array_of_statuses));
        let all = request_status::get_status_all(requests, &mut |index, status, failure| {
            all_statuses.add(index, status, failure);
        })?;
        out!(flag = c_int::from(all));
        all_statuses.end()
    }

    fn MPI_Request_get_status_any(
        count: c_int,
        array_of_requests: *const Request,
        index: Out<c_int>,
        flag: Out<c_int>,
        status: StatusWriter,
    ) {
        let requests = handles(count, array_of_requests.cast_mut())?;
        let mut found = Status::EMPTY;
        let seen = request_status::get_status(requests, 0, &mut found)?;
        out!(flag = c_int::from(!matches!(seen, Completion::Pending)));
        write_any(seen, found, index, status).map(drop)
    }

    fn MPI_Request_get_status_some(
        incount: c_int,
        array_of_requests: *const Request,
        outcount: Out<c_int>,
        array_of_indices: *mut c_int,
        array_of_statuses: *mut Status,
    ) {
        let requests = handles(incount, array_of_requests.cast_mut())?;
        let mut found = SomeStatuses::new(incount, array_of_indices, array_of_statuses)?;
        let (mut first, mut status) = (0, Status::EMPTY);
        let last = loop {
            match request_status::get_status(requests, first, &mut status)? {
                Completion::Complete(index, failure) => {
                    found.add(index, status, failure);
                    first = index + 1;
                }
                last => break last,
            }
        };
        let none = first == 0 && matches!(last, Completion::NoneActive);
        out!(outcount = if none { MPI_UNDEFINED } else { found.count as c_int });
        found.end()
    }

    fn MPI_Request_free(request: InOut<Request>) {
        request_status::free(request.get())?;
        out!(request = Request::NULL);
        Ok(())
    }
}
