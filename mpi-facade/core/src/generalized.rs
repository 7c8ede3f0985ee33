//! Generalized requests: the program starts and completes their operations, and its functions say how they end. Source:
//! MPI 5.0, section 13.2.
//!
//! The functions run while their call lends the world, so they may call all of MPI, except `MPI_Finalize`.

use crate::constants::Request;
use crate::error::{Class, Error};
use crate::explanation;
use crate::request::{Activity, RequestKind, RequestSlots, RequestState};
use crate::runtime::world::{self, CommError, RequestOps, World};
use crate::status::Status;
use core::ffi::{c_int, c_void};

/// The function that writes the status of a complete operation. The C caller of `MPI_Grequest_start` promises for this
/// type and the next ones: it is such a function, which may be called with its extra state.
pub type QueryFunction = extern "C" fn(extra_state: *mut c_void, status: &mut Status) -> c_int;
/// The function that frees what an operation has.
pub type FreeFunction = extern "C" fn(extra_state: *mut c_void) -> c_int;
/// The function that cancels an operation; it learns whether the operation is complete.
pub type CancelFunction = extern "C" fn(extra_state: *mut c_void, complete: c_int) -> c_int;

/// The functions of a generalized request.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// Writes the status.
    pub query: QueryFunction,
    /// Frees the extra state.
    pub free: FreeFunction,
    /// Cancels the operation.
    pub cancel: CancelFunction,
    /// What all of them get.
    pub extra_state: *mut c_void,
}

/// A generalized request.
#[derive(Clone, Copy)]
struct Generalized {
    functions: Functions,
    is_complete: bool,
    /// Whether the program has freed the request before its operation was complete.
    is_freed: bool,
}

/// The table's functions of a generalized request.
static REQUEST_OPS: RequestOps = RequestOps {
    start: None,
    is_inactive: None,
    activity,
    test,
    peek,
    recover_stalled: |world, _| explanation::add_generalized(world),
    cancel,
    free,
};

/// Makes a request, as `MPI_Grequest_start`.
pub fn start(functions: Functions) -> Result<Request, CommError> {
    world::with(|world| {
        let generalized = Generalized {
            functions,
            is_complete: false,
            is_freed: false,
        };
        world.set_request_ops(RequestKind::Generalized, &REQUEST_OPS);
        Ok(slots(world).insert(RequestKind::Generalized, generalized)?)
    })
}

/// Says that the operation of a request is complete, as `MPI_Grequest_complete`.
pub fn complete(request: Request) -> Result<(), CommError> {
    world::with(|world| {
        if RequestKind::of(request) != Some(RequestKind::Generalized) {
            return Err(refused("what MPI_Grequest_start made").into());
        }
        let generalized = slots(world).get(request)?;
        if generalized.is_complete {
            return Err(refused("one whose operation is not complete yet").into());
        }
        generalized.is_complete = true;
        match generalized.is_freed {
            true => end(world, request),
            false => Ok(()),
        }
    })
}

#[cold]
fn activity(world: &mut World, request: Request) -> Result<Activity, CommError> {
    Ok(match slots(world).get(request)?.is_complete {
        true => Activity::Over,
        false => Activity::Pending,
    })
}

/// Writes the status of a complete operation and frees the request.
#[cold]
fn test(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    let queried = peek(world, request, status)?;
    if let RequestState::Pending = queried {
        return Ok(queried);
    }
    Ok(match (queried, end(world, request)) {
        (RequestState::Complete, Err(failure)) => RequestState::Failed(failure),
        (queried, _) => queried,
    })
}

/// Writes the status of a complete operation.
#[cold]
fn peek(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    let Generalized {
        functions,
        is_complete,
        ..
    } = *slots(world).get(request)?;
    if !is_complete {
        return Ok(RequestState::Pending);
    }
    *status = Status::EMPTY;
    let code = world.lend(|| (functions.query)(functions.extra_state, status));
    // The error is the call's, not the function's.
    *status = status.with_error(Status::SENT.error);
    Ok(outcome(code).map_or_else(RequestState::Failed, |()| RequestState::Complete))
}

/// Removes a request and frees its extra state.
fn end(world: &mut World, request: Request) -> Result<(), CommError> {
    let Generalized { functions, .. } = slots(world).remove(request)?;
    outcome(world.lend(|| (functions.free)(functions.extra_state)))
}

#[cold]
fn cancel(world: &mut World, request: Request) -> Result<(), CommError> {
    let Generalized {
        functions,
        is_complete,
        ..
    } = *slots(world).get(request)?;
    let complete = c_int::from(is_complete);
    outcome(world.lend(|| (functions.cancel)(functions.extra_state, complete)))
}

/// Frees a request once its operation is complete.
#[cold]
fn free(world: &mut World, request: Request) -> Result<(), CommError> {
    let generalized = slots(world).get(request)?;
    generalized.is_freed = true;
    match generalized.is_complete {
        true => end(world, request),
        false => Ok(()),
    }
}

/// Returns the failure that a function of the program reports.
fn outcome(code: c_int) -> Result<(), CommError> {
    match code {
        0 => Ok(()),
        code => Err(Error::Program { code }.into()),
    }
}

fn slots(world: &mut World) -> &mut RequestSlots<Generalized> {
    world.objects.extensions.get()
}

fn refused(must: &'static str) -> Error {
    Error::Argument {
        class: Class::Request,
        name: "request",
        must,
    }
}
