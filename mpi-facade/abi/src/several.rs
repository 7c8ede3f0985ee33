//! Completion of any or some of several requests, and cancelling.

use crate::requests::{handles, store_at};
use core::ffi::c_int;
use pombo_mpi::Fault;
use pombo_mpi::constants::*;
use pombo_mpi::fault::in_status;
use pombo_mpi::several::{self, Look};
use pombo_mpi::status::Status;

/// What `MPI_Waitany` and `MPI_Testany` tell: the index, the status, and whether anything is left to wait for.
///
/// # Safety
/// `index` is the caller's, `status` too or `MPI_STATUS_IGNORE`.
pub(crate) unsafe fn one(
    seen: Look,
    found: Status,
    index: *mut c_int,
    status: *mut Status,
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
    // SAFETY: the caller's promise.
    unsafe { found.store(status) };
    Ok(true)
}

/// What `MPI_Waitsome` and `MPI_Testsome` write.
pub(crate) struct Found {
    indices: *mut c_int,
    statuses: *mut Status,
    pub(crate) count: usize,
    failed: Option<Fault>,
}

impl Found {
    pub(crate) fn new(indices: *mut c_int, statuses: *mut Status) -> Self {
        Found {
            indices,
            statuses,
            count: 0,
            failed: None,
        }
    }

    /// One more that is over.
    ///
    /// # Safety
    /// Both arrays have another place; `statuses` may be `MPI_STATUSES_IGNORE`.
    pub(crate) unsafe fn add(&mut self, index: usize, status: Status, fault: Option<Fault>) {
        let error = fault.map_or(0, |fault| fault.error.code());
        // SAFETY: the caller's promise.
        unsafe {
            self.indices.add(self.count).write(index as c_int);
            store_at(status, self.statuses, self.count, error);
        }
        self.count += 1;
        self.failed = self.failed.or(fault);
    }

    /// Those from `first` on.
    ///
    /// # Safety
    /// As for [`Found::add`], for each of them.
    unsafe fn rest(&mut self, requests: &mut [Request], first: usize) -> Result<(), Fault> {
        several::all_over(requests, first, |index, status, fault| {
            // SAFETY: the caller's promise; no request is told of twice.
            unsafe { self.add(index, status, fault) };
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
        index: *mut c_int,
        status: *mut Status,
    ) {
        // SAFETY: the caller's array.
        let requests = unsafe { handles(count, array_of_requests) }?;
        let mut found = Status::EMPTY;
        let seen = several::wait_any(requests, &mut found)?;
        // SAFETY: the caller's memory.
        unsafe { one(seen, found, index, status) }.map(drop)
    }

    fn MPI_Testany(
        count: c_int,
        array_of_requests: *mut Request,
        index: *mut c_int,
        flag: *mut c_int,
        status: *mut Status,
    ) {
        // SAFETY: the caller's array.
        let requests = unsafe { handles(count, array_of_requests) }?;
        let mut found = Status::EMPTY;
        let seen = several::test_any(requests, &mut found)?;
        give!(flag = c_int::from(!matches!(seen, Look::Open)));
        // SAFETY: the caller's memory.
        unsafe { one(seen, found, index, status) }.map(drop)
    }

    fn MPI_Waitsome(
        incount: c_int,
        array_of_requests: *mut Request,
        outcount: *mut c_int,
        array_of_indices: *mut c_int,
        array_of_statuses: *mut Status,
    ) {
        // SAFETY: the caller's array.
        let requests = unsafe { handles(incount, array_of_requests) }?;
        let mut status = Status::EMPTY;
        let Look::Over(first, fault) = several::wait_any(requests, &mut status)? else {
            give!(outcount = MPI_UNDEFINED);
            return Ok(());
        };
        let mut found = Found::new(array_of_indices, array_of_statuses);
        // SAFETY: the caller's arrays have as many places as there are requests.
        let rest = unsafe {
            found.add(first, status, fault);
            found.rest(requests, first + 1)
        };
        give!(outcount = found.count as c_int);
        rest?;
        found.end()
    }

    fn MPI_Testsome(
        incount: c_int,
        array_of_requests: *mut Request,
        outcount: *mut c_int,
        array_of_indices: *mut c_int,
        array_of_statuses: *mut Status,
    ) {
        // SAFETY: the caller's array.
        let requests = unsafe { handles(incount, array_of_requests) }?;
        let mut status = Status::EMPTY;
        let mut found = Found::new(array_of_indices, array_of_statuses);
        let rest = match several::test_any(requests, &mut status)? {
            // SAFETY: the caller's arrays have as many places as there are requests.
            Look::Over(first, fault) => unsafe {
                found.add(first, status, fault);
                found.rest(requests, first + 1)
            },
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

    fn MPI_Cancel(request: *mut Request) {
        // SAFETY: the caller's handle.
        several::cancel(unsafe { request.read() })
    }
}
