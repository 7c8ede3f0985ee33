//! Requests that are looked at and stay, requests that end together or not at all, and handles that are given up.
//! Source: MPI 5.0, sections 3.7.3 to 3.7.6.

use crate::any_source_failure;
use crate::constants::*;
use crate::error::{Error, Kind};
use crate::request::{self, RequestState, test_one};
use crate::request_some::Completion;
use crate::runtime::world::{self, CommError};
use crate::stall_recovery;
use crate::status::Status;
use alloc::vec::Vec;

/// Requests whose handles were given up while they were under way.
#[derive(Default)]
struct Freed {
    requests: Vec<Request>,
    /// When there are so many, those that are over go. Twice as many as were left the last time.
    most: usize,
}

/// Fewer freed requests than this are never gone through.
const FEW: usize = 16;

/// Hears of each request: its index, its status, what went wrong with it.
pub type OnComplete<'a> = &'a mut dyn FnMut(usize, &Status, Option<CommError>);

/// `MPI_Testall`: false, and nothing has changed, while one of them is not over. Else all handles become null, and
/// `over` hears of each with its index, its status and what went wrong with it.
pub fn test_all(requests: &mut [Request], over: OnComplete<'_>) -> Result<bool, CommError> {
    let all = get_status_all(requests, over)?;
    if all {
        world::with(|world| {
            for request in requests {
                test_one(world, *request, &mut { Status::EMPTY })?;
                *request = Request::NULL;
            }
            Ok(())
        })?;
    }
    Ok(all)
}

/// `MPI_Request_get_status_all`: false while one of them is not over. Else `over` hears of each as in [`test_all`],
/// and the handles stay.
pub fn get_status_all(requests: &[Request], over: OnComplete<'_>) -> Result<bool, CommError> {
    world::with(|world| {
        world.make_progress()?;
        if any_source_failure::is_due_once(world) {
            stall_recovery::check(world, requests);
        }
        let (mut status, mut all) = (Status::EMPTY, true);
        for &request in requests {
            all &= !matches!(
                request::peek(world, request, &mut status)?,
                RequestState::Pending
            );
        }
        if all {
            for (index, &request) in requests.iter().enumerate() {
                let failure = match request::peek(world, request, &mut status)? {
                    RequestState::Failed(failure) => Some(failure),
                    _ => None,
                };
                over(index, &status, failure);
            }
        } else {
            world.test_backoff()?;
        }
        Ok(all)
    })
}

/// `MPI_Request_get_status` of one request, and `_any` of several: the first from `first` on that is over; its handle
/// stays.
pub fn get_status(
    requests: &[Request],
    first: usize,
    status: &mut Status,
) -> Result<Completion, CommError> {
    world::with(|world| {
        if first == 0 {
            world.make_progress()?;
            if any_source_failure::is_due_once(world) {
                stall_recovery::check(world, requests);
            }
        }
        let mut seen = Completion::NoneActive;
        *status = Status::EMPTY;
        for (index, &request) in requests.iter().enumerate().skip(first) {
            if request == Request::NULL {
                continue;
            }
            match request::peek(world, request, status)? {
                RequestState::Pending => seen = Completion::Pending,
                RequestState::Complete => return Ok(Completion::Complete(index, None)),
                RequestState::Failed(failure) => {
                    return Ok(Completion::Complete(index, Some(failure)));
                }
            }
        }
        if let (Completion::Pending, 0) = (seen, first) {
            world.test_backoff()?;
        }
        Ok(seen)
    })
}

/// `MPI_Request_free`: the operation goes on, and nobody hears how it ends.
pub fn free(request: Request) -> Result<(), CommError> {
    world::with(|world| {
        if request == Request::NULL || request::has_request_ops(request) {
            let (kind, got) = (Kind::Request, request.0);
            return Err(Error::Handle { kind, got }.into());
        }
        if let RequestState::Pending = test_one(world, request, &mut { Status::EMPTY })? {
            let mut freed = core::mem::take(world.extensions.get::<Freed>());
            if freed.requests.len() >= freed.most {
                freed.requests.retain(|&request| {
                    let standing = test_one(world, request, &mut { Status::EMPTY });
                    matches!(standing, Ok(RequestState::Pending))
                });
                freed.most = FEW.max(2 * freed.requests.len());
            }
            freed.requests.push(request);
            *world.extensions.get() = freed;
        }
        Ok(())
    })
}
