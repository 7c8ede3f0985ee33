//! Completion of any or some of several requests, and cancelling.

use crate::arguments::{Array, InOut, Out, Place, StatusWriter, Statuses};
use crate::requests::handles;
use core::ffi::c_int;
use pombo_mpi::Fault;
use pombo_mpi::constants::*;
use pombo_mpi::error::Error;
use pombo_mpi::fault::in_status;
use pombo_mpi::several::{self, Look};
use pombo_mpi::status::Status;

/// What `MPI_Waitany` and `MPI_Testany` tell: the index, the status, and whether anything is left to wait for.
pub(crate) fn one(
    seen: Look,
    found: Status,
    index: Place<c_int>,
    status: StatusWriter,
) -> Result<bool, Fault> {
    let place = match seen {
        Look::Over(place, _) => place as c_int,
        _ => MPI_UNDEFINED,
    };
    give!(index = place);
    match seen {
        Look::Open => return Ok(false),
        Look::Over(_, Some(fault)) => return Err(fault),
        _ => {}
    }
    status.store(found);
    Ok(true)
}

/// What `MPI_Waitsome` and `MPI_Testsome` write.
pub(crate) struct Found {
    indices: Array<c_int>,
    statuses: Statuses,
    pub(crate) count: usize,
    failed: Option<Fault>,
}

impl Found {
    /// For as many as there are requests.
    pub(crate) fn new(
        requests: c_int,
        indices: *mut c_int,
        statuses: *mut Status,
    ) -> Result<Self, Error> {
        Ok(Found {
            indices: Array::of(requests, indices, "array_of_indices")?,
            statuses: Statuses::of(requests as usize, statuses),
            count: 0,
            failed: None,
        })
    }

    /// One more that is over.
    pub(crate) fn add(&mut self, index: usize, status: Status, fault: Option<Fault>) {
        self.indices.set(self.count, index as c_int);
        self.statuses.set(self.count, &status, fault);
        self.count += 1;
        self.failed = self.failed.or(fault);
    }

    /// Those from `first` on.
    fn rest(&mut self, requests: &mut [Request], first: usize) -> Result<(), Fault> {
        several::all_over(requests, first, |index, status, fault| {
            self.add(index, status, fault);
        })
    }

    pub(crate) fn end(self) -> Result<(), Fault> {
        self.failed.map_or(Ok(()), |fault| Err(in_status(fault)))
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
        let seen = several::wait_any(requests, &mut found)?;
        one(seen, found, index, status).map(drop)
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
        let seen = several::test_any(requests, &mut found)?;
        give!(flag = c_int::from(!matches!(seen, Look::Open)));
        one(seen, found, index, status).map(drop)
    }

    fn MPI_Waitsome(
        incount: c_int,
        array_of_requests: *mut Request,
        outcount: Out<c_int>,
        array_of_indices: *mut c_int,
        array_of_statuses: *mut Status,
    ) {
        let requests = handles(incount, array_of_requests)?;
        let mut found = Found::new(incount, array_of_indices, array_of_statuses)?;
        let mut status = Status::EMPTY;
        let Look::Over(first, fault) = several::wait_any(requests, &mut status)? else {
            give!(outcount = MPI_UNDEFINED);
            return Ok(());
        };
        found.add(first, status, fault);
        let rest = found.rest(requests, first + 1);
        give!(outcount = found.count as c_int);
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
        let mut found = Found::new(incount, array_of_indices, array_of_statuses)?;
        let mut status = Status::EMPTY;
        let rest = match several::test_any(requests, &mut status)? {
            Look::Over(first, fault) => {
                found.add(first, status, fault);
                found.rest(requests, first + 1)
            }
            Look::Open => Ok(()),
            Look::Nothing => {
                give!(outcount = MPI_UNDEFINED);
                return Ok(());
            }
        };
        give!(outcount = found.count as c_int);
        rest?;
        found.end()
    }

    fn MPI_Cancel(request: InOut<Request>) {
        several::cancel(request.get())
    }
}
