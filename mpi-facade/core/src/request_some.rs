//! Waiting and testing for some of several requests, and cancellation. Source: MPI 5.0, sections 3.7.5 and 3.8.4.

use crate::any_source_failure;
use crate::constants::*;
use crate::error::{Error, Kind};
use crate::request::{self, RequestState, test_one};
use crate::runtime::world::{self, CommError, World};
use crate::stall_recovery;
use crate::status::Status;
use pombo_kernel::Ticket;

/// The result of testing several requests.
#[derive(Clone, Debug)]
pub enum Completion {
    /// None of them is active.
    NoneActive,
    /// None of them is complete.
    Pending,
    /// The one at this index is complete, with its failure if it has one.
    Complete(usize, Option<CommError>),
}

/// Waits for the first complete request, as `MPI_Waitany`. Its handle becomes null unless it is persistent. Never
/// returns [`Completion::Pending`].
pub fn wait_any(requests: &mut [Request], status: &mut Status) -> Result<Completion, CommError> {
    world::with(|world| {
        world.until(|world| match first_complete(world, requests, status)? {
            Completion::Pending => {
                let idle = world.idle_counts.waiting;
                if any_source_failure::is_due(idle) {
                    stall_recovery::attend(world, idle, requests);
                }
                Ok(None)
            }
            seen => Ok(Some(seen)),
        })
    })
}

/// Waits as [`wait_any`], as `MPI_Waitsome` begins: it takes what has arrived first, so that the call completes more
/// requests than the one that was complete before it.
pub fn wait_first(requests: &mut [Request], status: &mut Status) -> Result<Completion, CommError> {
    world::with(World::make_progress)?;
    wait_any(requests, status)
}

/// Tests as [`wait_any`] without waiting, as `MPI_Testany`.
pub fn test_any(requests: &mut [Request], status: &mut Status) -> Result<Completion, CommError> {
    world::with(|world| {
        world.make_progress()?;
        if any_source_failure::is_due_once(world) {
            stall_recovery::check(world, requests);
        }
        let seen = first_complete(world, requests, status)?;
        if let Completion::Pending = seen {
            world.test_backoff()?;
        }
        Ok(seen)
    })
}

/// Tests all requests, as `MPI_Testsome`, and as `MPI_Waitsome` after it has waited for one: `over` is called for each
/// complete one, with its index from `first` on. It makes no progress.
pub fn each_complete(
    requests: &mut [Request],
    first: usize,
    mut over: impl FnMut(usize, Status, Option<CommError>),
) -> Result<(), CommError> {
    world::with(|world| {
        let mut at = first;
        while let Some(rest) = requests.get_mut(at..) {
            let mut status = Status::EMPTY;
            let Completion::Complete(index, failure) = first_complete(world, rest, &mut status)?
            else {
                break;
            };
            over(at + index, status, failure);
            at += index + 1;
        }
        Ok(())
    })
}

fn first_complete(
    world: &mut World,
    requests: &mut [Request],
    status: &mut Status,
) -> Result<Completion, CommError> {
    let mut seen = Completion::NoneActive;
    *status = Status::EMPTY;
    for (index, request) in requests.iter_mut().enumerate() {
        if request::is_inactive(world, *request) {
            continue;
        }
        let failure = match test_one(world, request, status)? {
            RequestState::Pending => {
                seen = Completion::Pending;
                continue;
            }
            RequestState::Complete => None,
            RequestState::Failed(failure) => Some(failure),
        };
        return Ok(Completion::Complete(index, failure));
    }
    Ok(seen)
}

/// Cancels a request, as `MPI_Cancel`: the operation completes soon, with or without a message; its status says which.
pub fn cancel(request: Request) -> Result<(), CommError> {
    world::with(|world| cancel_one(world, request))
}

/// Cancels a request inside a call.
pub(crate) fn cancel_one(world: &mut World, request: Request) -> Result<(), CommError> {
    let unknown = Error::Handle {
        kind: Kind::Request,
        got: request.0,
    };
    if let Some(ops) = world.request_ops(request) {
        return (ops.cancel)(world, request);
    }
    match request {
        // A complete request stays as it is.
        request::SENT | request::RECEIVED_FROM_NOBODY => Ok(()),
        Request::NULL => Err(unknown.into()),
        _ => match world.kernel.cancel(Ticket::from_bits(request.0 as u64)) {
            Err(pombo_kernel::Error::UnknownTicket) => Err(unknown.into()),
            done => Ok(done?),
        },
    }
}
