//! Requests that are looked at and stay, requests that end together or not at all, and handles that are given up.

use crate::arguments::{InOut, Out, StatusWriter, Statuses};
use crate::requests::handles;
use crate::several::{Found, one};
use core::ffi::c_int;
use pombo_mpi::Fault;
use pombo_mpi::constants::*;
use pombo_mpi::fault::in_status;
use pombo_mpi::glance;
use pombo_mpi::several::Look;
use pombo_mpi::status::Status;

/// Hears of requests that end together, and writes their statuses.
struct Told {
    statuses: Statuses,
    failed: Option<Fault>,
}

impl Told {
    fn new(statuses: Statuses) -> Self {
        Told {
            statuses,
            failed: None,
        }
    }

    fn add(&mut self, index: usize, status: &Status, fault: Option<Fault>) {
        self.statuses.set(index, status, fault);
        self.failed = self.failed.or(fault);
    }

    fn end(self) -> Result<(), Fault> {
        self.failed.map_or(Ok(()), |fault| Err(in_status(fault)))
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
        let mut told = Told::new(Statuses::of(requests.len(), array_of_statuses));
        let all = glance::test_all(requests, &mut |index, status, fault| {
            told.add(index, status, fault);
        })?;
        give!(flag = c_int::from(all));
        told.end()
    }

    fn MPI_Request_get_status(request: Request, flag: Out<c_int>, status: StatusWriter) {
        let mut found = Status::EMPTY;
        let seen = glance::get_status(&[request], 0, &mut found)?;
        give!(flag = c_int::from(!matches!(seen, Look::Open)));
        match seen {
            Look::Open => {}
            Look::Over(_, Some(fault)) => return Err(fault),
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
        let mut told = Told::new(Statuses::of(requests.len(), array_of_statuses));
        let all = glance::get_status_all(requests, &mut |index, status, fault| {
            told.add(index, status, fault);
        })?;
        give!(flag = c_int::from(all));
        told.end()
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
        let seen = glance::get_status(requests, 0, &mut found)?;
        give!(flag = c_int::from(!matches!(seen, Look::Open)));
        one(seen, found, index, status).map(drop)
    }

    fn MPI_Request_get_status_some(
        incount: c_int,
        array_of_requests: *const Request,
        outcount: Out<c_int>,
        array_of_indices: *mut c_int,
        array_of_statuses: *mut Status,
    ) {
        let requests = handles(incount, array_of_requests.cast_mut())?;
        let mut found = Found::new(incount, array_of_indices, array_of_statuses)?;
        let (mut first, mut status) = (0, Status::EMPTY);
        let last = loop {
            match glance::get_status(requests, first, &mut status)? {
                Look::Over(index, fault) => {
                    found.add(index, status, fault);
                    first = index + 1;
                }
                last => break last,
            }
        };
        let none = first == 0 && matches!(last, Look::Nothing);
        give!(outcount = if none { MPI_UNDEFINED } else { found.count as c_int });
        found.end()
    }

    fn MPI_Request_free(request: InOut<Request>) {
        glance::free(request.get())?;
        give!(request = Request::NULL);
        Ok(())
    }
}
