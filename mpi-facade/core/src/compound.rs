//! Requests of a receive and a send together, as `MPI_Isendrecv` makes them: complete when both are. Source: MPI 5.0,
//! section 3.10.

use crate::constants::*;
use crate::errhandler;
use crate::error::{Class, Error};
use crate::kernel::Posted;
use crate::packed_message::PackedMessage;
use crate::request::{Activity, RequestKind, RequestSlots, RequestState, test_one};
use crate::request_status::free_later;
use crate::runtime::world::{CommError, RequestOps, World};
use crate::stall_recovery;
use crate::status::Status;

/// A receive and a send under way.
pub(crate) struct Compound {
    /// The receive and the send; null when they are over.
    parts: [Request; 2],
    /// The status of the receive, once it is over.
    status: Status,
    /// The first failure.
    failed: Option<CommError>,
    /// What is sent, if it is a copy.
    _copy: Option<PackedMessage>,
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
            must: "of one operation: a send with a receive cannot be cancelled",
        };
        Err(error.into())
    },
    free: free_later,
};

/// Makes one request of a receive and a send.
pub(crate) fn add(
    world: &mut World,
    parts: [Request; 2],
    copy: Option<PackedMessage>,
    comm: Comm,
) -> Result<Request, CommError> {
    let compound = Compound {
        parts,
        status: Status::EMPTY,
        failed: None,
        _copy: copy,
    };
    world.set_request_ops(RequestKind::Compound, &REQUEST_OPS);
    let added = slots(world).insert(RequestKind::Compound, compound);
    added.map_err(|error| {
        // The program gets no handle, so both operations are withdrawn.
        for part in parts {
            drop(Posted::over(world, part));
        }
        CommError::new(error, comm)
    })
}

/// Ends the parts that are complete, and returns whether all are. A fatal failure does not wait for the other part.
#[cold]
fn settle(world: &mut World, request: Request) -> Result<bool, CommError> {
    for part in 0..2 {
        let mut under_way = slots(world).get(request)?.parts[part];
        if under_way == Request::NULL {
            continue;
        }
        let mut status = Status::EMPTY;
        let standing = test_one(world, &mut under_way, &mut status)?;
        let compound = slots(world).get(request)?;
        compound.parts[part] = under_way;
        if let RequestState::Failed(failure) = standing {
            compound.failed.get_or_insert(failure);
        }
        if part == 0 && under_way == Request::NULL {
            compound.status = status;
        }
    }
    let compound = slots(world).get(request)?;
    let (failed, over) = (
        compound.failed.clone(),
        compound.parts == [Request::NULL; 2],
    );
    Ok(over || failed.is_some_and(|failure| errhandler::is_fatal(world, &failure)))
}

#[cold]
fn activity(world: &mut World, request: Request) -> Result<Activity, CommError> {
    Ok(match settle(world, request)? {
        true => Activity::Over,
        false => Activity::Pending,
    })
}

#[cold]
fn peek(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    if !settle(world, request)? {
        return Ok(RequestState::Pending);
    }
    let compound = slots(world).get(request)?;
    *status = compound.status;
    let failed = compound.failed.clone();
    Ok(failed.map_or(RequestState::Complete, RequestState::Failed))
}

#[cold]
fn test(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    let standing = peek(world, request, status)?;
    if !matches!(standing, RequestState::Pending) {
        let Compound { parts, _copy, .. } = slots(world).remove(request)?;
        for part in parts {
            // Nothing refers to the copy afterwards; the part of a request that has failed may not be complete.
            drop(Posted::over(world, part));
        }
    }
    Ok(standing)
}

#[cold]
fn recover_stalled(world: &mut World, request: Request) {
    if let Ok(&mut Compound { parts, .. }) = slots(world).get(request) {
        stall_recovery::check(world, &parts);
    }
}

fn slots(world: &mut World) -> &mut RequestSlots<Compound> {
    world.objects.extensions.get()
}
