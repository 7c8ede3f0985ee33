//! Requests that are complete when the copies that a buffer had when they were made are sent.

use super::pool::{self, Owner};
use crate::constants::Request;
use crate::error::{Class, Error};
use crate::request::{Activity, RequestKind, RequestSlots, RequestState};
use crate::runtime::world::{CommError, RequestOps, World};
use crate::stall_recovery;
use crate::status::Status;

/// A flush under way.
#[derive(Clone, Copy)]
struct Flush {
    owner: Owner,
    /// The number of the first copy that it does not concern.
    end: u64,
}

/// The functions of such a request.
static REQUEST_OPS: RequestOps = RequestOps {
    start: None,
    is_inactive: None,
    activity,
    test,
    peek,
    recover_stalled,
    cancel: |_, _| {
        let error = Error::Argument {
            class: Class::Request,
            name: "request",
            must: "of a message: a flush cannot be cancelled",
        };
        Err(error.into())
    },
    free: |world, request| {
        slots(world).remove(request)?;
        Ok(())
    },
};

/// Makes a request for the copies that a buffer has now.
pub(super) fn add(world: &mut World, owner: Owner) -> Result<Request, Error> {
    let end = pool::next(world);
    world.set_request_ops(RequestKind::Flush, &REQUEST_OPS);
    slots(world).insert(RequestKind::Flush, Flush { owner, end })
}

#[cold]
fn activity(world: &mut World, request: Request) -> Result<Activity, CommError> {
    let Flush { owner, end } = *slots(world).get(request)?;
    pool::reap(world, owner);
    Ok(match pool::oldest(world, owner) {
        Some(oldest) if oldest < end => Activity::Pending,
        _ => Activity::Over,
    })
}

#[cold]
fn peek(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    if let Activity::Pending = activity(world, request)? {
        return Ok(RequestState::Pending);
    }
    *status = Status::SENT;
    Ok(RequestState::Complete)
}

#[cold]
fn test(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    let standing = peek(world, request, status)?;
    if let RequestState::Complete = standing {
        slots(world).remove(request)?;
    }
    Ok(standing)
}

#[cold]
fn recover_stalled(world: &mut World, request: Request) {
    if let Ok(&mut Flush { owner, .. }) = slots(world).get(request) {
        let requests = pool::requests(world, owner);
        stall_recovery::check(world, &requests);
    }
}

fn slots(world: &mut World) -> &mut RequestSlots<Flush> {
    world.objects.extensions.get()
}
