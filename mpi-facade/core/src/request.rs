//! Requests: a handle is the kernel's ticket as an integer, so there is no table of requests.

mod handle;

pub(crate) use handle::{FIRST_WITH_OPS, RequestState, has_request_ops, ticket};
pub use handle::{RECEIVED_FROM_NOBODY, SENT, handle};

use crate::any_source_failure;
use crate::comm::Comms;
use crate::constants::*;
use crate::errhandler;
use crate::error::{Error, Kind};
use crate::message_header::{MpiComposition, MpiHeader};
use crate::runtime::world::{self, CommError, World};
use crate::stall_recovery;
use crate::status::Status;
use pombo_kernel::Ticket;

/// Tests whether a request is complete; then writes its status and ends it. `MPI_REQUEST_NULL` is always complete. It
/// makes no progress. `Err` means an invalid handle.
pub(crate) fn test_one(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    let mut failed = None;
    let over = is_complete(world, request, Some(status), &mut failed)?;
    Ok(match failed {
        Some(failure) => RequestState::Failed(failure),
        None if over => RequestState::Complete,
        None => RequestState::Pending,
    })
}

/// Does what [`test_one`] does, but keeps the handle.
pub(crate) fn peek(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    if has_request_ops(request)
        && let Some(ops) = world.request_ops
    {
        return (ops.peek)(world, request, status);
    }
    if ticket(request).is_none() {
        // Such a request has no state that could end.
        return test_one(world, request, status);
    }
    let World { kernel, comms, .. } = world;
    let seen = kernel.look(Ticket::from_bits(request.0 as u64));
    let Some(seen) = seen.map_err(|error| unknown(request, error))? else {
        return Ok(RequestState::Pending);
    };
    let mut failed = None;
    write_status(
        comms,
        seen.received,
        seen.envelope,
        seen.outcome,
        Some(status),
        &mut failed,
    );
    Ok(failed.map_or(RequestState::Complete, RequestState::Failed))
}

/// Tests whether a request is complete, and ends it. Writes the operation's failure, if any, to `failed`.
#[inline(always)]
fn is_complete(
    world: &mut World,
    request: Request,
    status: Option<&mut Status>,
    failed: &mut Option<CommError>,
) -> Result<bool, CommError> {
    if request == SENT {
        if let Some(status) = status {
            *status = Status::SENT;
        }
        return Ok(true);
    }
    if request.0 <= u32::MAX as usize {
        return is_other_complete(world, request, status, failed);
    }
    let World { kernel, comms, .. } = world;
    let ticket = Ticket::from_bits(request.0 as u64);
    match kernel.look(ticket) {
        Ok(None) => return Ok(false),
        Err(error) => return Err(unknown(request, error)),
        Ok(Some(over)) => {
            let (received, envelope) = (over.received, over.envelope);
            write_status(comms, received, envelope, over.outcome, status, failed);
            // Requests of collective operations are not counted.
            if let Some(context) = envelope.map(|envelope| envelope.header().context.get())
                && context.is_multiple_of(2)
            {
                comms.settled(context);
            }
        }
    }
    // The operation is complete, so its ticket is freed.
    let _ = kernel.claim(ticket);
    Ok(true)
}

/// Tests a request that is not a ticket.
#[cold]
fn is_other_complete(
    world: &mut World,
    request: Request,
    status: Option<&mut Status>,
    failed: &mut Option<CommError>,
) -> Result<bool, CommError> {
    let mut unwanted = Status::EMPTY;
    let status = status.unwrap_or(&mut unwanted);
    match request {
        Request::NULL => *status = Status::EMPTY,
        RECEIVED_FROM_NOBODY => *status = Status::PROC_NULL,
        _ => {
            let ops = world.request_ops.filter(|_| has_request_ops(request));
            let Some(ops) = ops else {
                return Err(unknown(request, pombo_kernel::Error::UnknownTicket));
            };
            match (ops.test)(world, request, status)? {
                RequestState::Pending => return Ok(false),
                RequestState::Complete => {}
                RequestState::Failed(failure) => *failed = Some(failure),
            }
        }
    }
    Ok(true)
}

#[cold]
fn unknown(request: Request, error: pombo_kernel::Error) -> CommError {
    match error {
        pombo_kernel::Error::UnknownTicket => Error::Handle {
            kind: Kind::Request,
            got: request.0,
        }
        .into(),
        error => error.into(),
    }
}

/// Waits for one request and returns its failure. The handle becomes null if, and only if, the operation is complete.
#[inline(always)]
pub(crate) fn wait_one(
    world: &mut World,
    request: &mut Request,
    status: &mut Status,
) -> Result<(), CommError> {
    let mut failed = None;
    let waited = *request;
    let attend = |world: &mut World| stall_recovery::check(world, &[waited]);
    wait_until_over(world, waited, Some(status), &mut failed, attend)?;
    *request = Request::NULL;
    match failed {
        None => Ok(()),
        Some(failure) => Err(failure),
    }
}

/// Waits for one request. `attend` is called at intervals while polls find nothing.
#[inline(always)]
fn wait_until_over(
    world: &mut World,
    request: Request,
    mut status: Option<&mut Status>,
    failed: &mut Option<CommError>,
    attend: impl Fn(&mut World),
) -> Result<(), CommError> {
    let mut idle = 0;
    while !is_complete(world, request, status.as_deref_mut(), failed)? {
        world.progress(&mut idle);
        world.kernel.advance(&mut idle)?;
        if any_source_failure::is_due(idle) {
            attend(world);
        }
    }
    Ok(())
}

/// Waits for a request, as `MPI_Wait`. The handle becomes null if the request is complete, with or without an error.
pub fn wait(request: &mut Request, status: &mut Status) -> Result<(), CommError> {
    world::with_fast(
        (request, status),
        |world, (request, status)| wait_one(world, request, status),
        |(request, status)| wait_in_turn(request, status),
    )
}

#[cold]
#[inline(never)]
fn wait_in_turn(request: &mut Request, status: &mut Status) -> Result<(), CommError> {
    world::with(|world| {
        world.until(|world| {
            let outcome = match test_one(world, *request, status)? {
                RequestState::Pending => {
                    if any_source_failure::is_due(world.idle_counts.waiting) {
                        stall_recovery::check(world, &[*request]);
                    }
                    return Ok(None);
                }
                RequestState::Complete => Ok(Some(())),
                RequestState::Failed(failure) => Err(failure),
            };
            *request = Request::NULL;
            outcome
        })
    })
}

/// Tests a request, as `MPI_Test`: returns false while it is not complete. The handle becomes null if it is, with or
/// without an error.
pub fn test(request: &mut Request, status: &mut Status) -> Result<bool, CommError> {
    world::with(|world| {
        world.make_progress()?;
        if any_source_failure::is_due_once(world) {
            stall_recovery::check(world, &[*request]);
        }
        let standing = test_one(world, *request, status)?;
        if let RequestState::Pending = standing {
            return world.test_backoff().map(|()| false);
        }
        *request = Request::NULL;
        match standing {
            RequestState::Failed(failure) => Err(failure),
            _ => Ok(true),
        }
    })
}

/// Waits for requests one after the other, as `MPI_Waitall`; each handle becomes null. `over` is called with the index,
/// status and failure of each one that failed, and of all if the caller wants the statuses.
pub fn wait_all(
    requests: &mut [Request],
    wanted: bool,
    mut over: impl FnMut(usize, &Status, Option<CommError>),
) -> Result<(), CommError> {
    world::with(|world| {
        let (mut status, mut failed) = (Status::EMPTY, None);
        let mut next = 0;
        while next < requests.len() {
            if !wanted {
                next += test_all_inline(world, &mut requests[next..]);
            }
            let Some(left) = requests.get_mut(next..).filter(|left| !left.is_empty()) else {
                break;
            };
            let status_of = wanted.then_some(&mut status);
            let request = left[0];
            let attend = |world: &mut World| stall_recovery::check(world, left);
            wait_until_over(world, request, status_of, &mut failed, attend)?;
            left[0] = Request::NULL;
            let index = next;
            next += 1;
            // A fatal error does not wait for the other requests, which may never complete.
            if let Some(failure) = failed
                && errhandler::is_fatal(world, &failure)
            {
                return Err(failure);
            }
            if wanted || failed.is_some() {
                over(index, &status, failed.take());
            }
        }
        Ok(())
    })
}

/// Ends requests from the start of an array while they are complete, without a failure and without a status to write.
/// Returns how many.
#[inline(never)]
fn test_all_inline(world: &mut World, requests: &mut [Request]) -> usize {
    let World { kernel, comms, .. } = world;
    let over = |request: &&mut Request| {
        if **request == SENT {
            return true;
        }
        match kernel.take_completed(Ticket::from_bits(request.0 as u64)) {
            // Requests of collective operations are not counted.
            Some(header) if header.context.get().is_multiple_of(2) => {
                comms.settled(header.context.get());
                true
            }
            header => header.is_some(),
        }
    };
    let ended = requests.iter_mut().take_while(over);
    ended.map(|request| *request = Request::NULL).count()
}

#[inline(always)]
fn write_status(
    comms: &mut Comms,
    received: bool,
    envelope: Option<&pombo_kernel::Envelope<MpiHeader, MpiComposition>>,
    outcome: Result<usize, &pombo_kernel::Error>,
    mut status: Option<&mut Status>,
    failed: &mut Option<CommError>,
) {
    if let Some(status) = status.as_deref_mut() {
        *status = Status::SENT;
        if received && let Some(envelope) = envelope {
            match outcome {
                Ok(bytes) => {
                    write_source(comms, envelope, status);
                    status.set_bytes(bytes as u64);
                }
                Err(pombo_kernel::Error::Truncated { .. }) => write_source(comms, envelope, status),
                // There may have been no message.
                Err(_) => {}
            }
        }
    }
    if let Err(&error) = outcome {
        let context = envelope.map(|envelope| envelope.header().context.get());
        let comm = context.and_then(|context| comms.of_context(context));
        let failure = comm.map_or(CommError::from(error), |(comm, record)| CommError {
            handler: record.handler,
            ..CommError::new(error, comm)
        });
        end_with_errors(error, failure, status, failed);
    }
}

/// Notes a failure; cancellation is a status and no error in MPI.
#[cold]
fn end_with_errors(
    error: pombo_kernel::Error,
    failure: CommError,
    status: Option<&mut Status>,
    failed: &mut Option<CommError>,
) {
    if error != pombo_kernel::Error::Cancelled {
        *failed = Some(failure);
    } else if let Some(status) = status {
        status.set_cancelled(true);
    }
}

/// Writes source and tag of a message to the status.
#[inline]
pub(crate) fn write_source(
    comms: &mut Comms,
    envelope: &pombo_kernel::Envelope<MpiHeader, MpiComposition>,
    status: &mut Status,
) {
    let header = envelope.header();
    let peer = envelope.peer();
    let source = match comms.of_context(header.context.get()) {
        Some((_, record)) => record.rank_of(peer),
        None => peer.0.into(),
    };
    *status = Status::received(source, header.tag.get() as i32, envelope.len() as u64);
}
