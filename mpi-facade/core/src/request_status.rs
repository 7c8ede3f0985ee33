//! Tests that keep the handles, tests of all requests together, and freed requests. Source: MPI 5.0, sections 3.7.3 to
//! 3.7.6.

use crate::any_source_failure;
use crate::constants::*;
use crate::error::{Error, Kind};
use crate::request::{self, RequestState, test_one};
use crate::request_some::Completion;
use crate::runtime::world::{self, CommError, World};
use crate::stall_recovery;
use crate::status::Status;
use alloc::vec::Vec;

/// Requests that were freed while they were under way.
#[derive(Default)]
struct Freed {
    requests: Vec<Request>,
    /// Number of requests at which complete ones are removed: twice the number that the last removal left.
    most: usize,
}

/// Fewest freed requests at which complete ones are removed.
const FEW: usize = 16;

/// Called for each request with its index, its status and its failure.
pub type OnComplete<'a> = &'a mut dyn FnMut(usize, &Status, Option<CommError>);

/// Tests all requests, as `MPI_Testall`: returns false and changes nothing while one is not complete. Else all handles
/// that are not persistent become null, and `over` is called for each.
pub fn test_all(requests: &mut [Request], over: OnComplete<'_>) -> Result<bool, CommError> {
    world::with(|world| {
        let all = are_complete(world, requests)?;
        if all {
            for (index, request) in requests.iter_mut().enumerate() {
                let mut status = Status::EMPTY;
                let standing = test_one(world, request, &mut status)?;
                over(index, &status, failure(standing));
            }
        }
        Ok(all)
    })
}

/// Makes progress, and returns whether none of the requests is pending.
fn are_complete(world: &mut World, requests: &[Request]) -> Result<bool, CommError> {
    world.make_progress()?;
    if any_source_failure::is_due_once(world) {
        stall_recovery::check(world, requests);
    }
    let mut all = true;
    for &request in requests {
        all &= !request::is_pending(world, request)?;
    }
    if !all {
        world.test_backoff()?;
    }
    Ok(all)
}

fn failure(standing: RequestState) -> Option<CommError> {
    match standing {
        RequestState::Failed(failure) => Some(failure),
        _ => None,
    }
}

/// Tests all requests and keeps the handles, as `MPI_Request_get_status_all`: returns false while one is not complete.
/// Else `over` is called as in [`test_all`].
pub fn get_status_all(requests: &[Request], over: OnComplete<'_>) -> Result<bool, CommError> {
    world::with(|world| {
        let all = are_complete(world, requests)?;
        if all {
            for (index, &request) in requests.iter().enumerate() {
                let mut status = Status::EMPTY;
                let standing = request::peek(world, request, &mut status)?;
                over(index, &status, failure(standing));
            }
        }
        Ok(all)
    })
}

/// Tests one request and keeps the handle, as `MPI_Request_get_status`; for its `_any` form it returns the first
/// complete one from `first` on.
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
            if request::is_inactive(world, request) {
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
        if let (Completion::Pending, 0) = (&seen, first) {
            world.test_backoff()?;
        }
        Ok(seen)
    })
}

/// Frees a request, as `MPI_Request_free`: the operation continues, and its failure is not reported.
pub fn free(request: Request) -> Result<(), CommError> {
    world::with(|world| match world.request_ops(request) {
        Some(ops) => (ops.free)(world, request),
        None if request == Request::NULL => {
            let (kind, got) = (Kind::Request, request.0);
            Err(Error::Handle { kind, got }.into())
        }
        None => free_later(world, request),
    })
}

/// Ends a request once its operation is complete, now or later; nobody gets its result.
pub(crate) fn free_later(world: &mut World, request: Request) -> Result<(), CommError> {
    if let RequestState::Pending = test_one(world, &mut { request }, &mut { Status::EMPTY })? {
        let mut freed = core::mem::take(world.objects.extensions.get::<Freed>());
        if freed.requests.len() >= freed.most {
            freed.requests.retain_mut(|request| {
                let standing = test_one(world, request, &mut { Status::EMPTY });
                matches!(standing, Ok(RequestState::Pending))
            });
            freed.most = FEW.max(2 * freed.requests.len());
        }
        freed.requests.push(request);
        *world.objects.extensions.get() = freed;
    }
    Ok(())
}
