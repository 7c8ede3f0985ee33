//! Requests: a handle is the kernel's ticket as an integer, so there is no table of requests.

mod handle;
mod slots;

pub(crate) use handle::{Activity, RequestKind, RequestState, ticket};
pub use handle::{RECEIVED_FROM_NOBODY, SENT, handle};
pub(crate) use slots::RequestSlots;

use crate::any_source_failure;
use crate::comm::Comms;
use crate::constants::*;
use crate::errhandler;
use crate::error::{Error, Kind};
use crate::kernel::MpiEnvelope;
use crate::message_header::{MpiComposition, MpiHeader};
use crate::objects::Objects;
use crate::runtime::world::{self, CommError, World};
use crate::stall_recovery;
use crate::status::Status;
use pombo_kernel::Ticket;
use pombo_kernel::facade::Received;

/// Tests whether a request is complete; then writes its status and ends it: the handle becomes null unless the request
/// is persistent. `MPI_REQUEST_NULL` is always complete. It makes no progress. `Err` means an invalid handle.
pub(crate) fn test_one(
    world: &mut World,
    request: &mut Request,
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
    if ticket(request).is_none() {
        return match world.request_ops(request) {
            Some(ops) => (ops.peek)(world, request, status),
            // Such a request has no state that could end.
            None => test_one(world, &mut { request }, status),
        };
    }
    let World {
        kernel,
        objects: Objects { comms, .. },
        ..
    } = world;
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

/// Returns whether a request is pending, without effect on its result.
pub(crate) fn is_pending(world: &mut World, request: Request) -> Result<bool, CommError> {
    if ticket(request).is_none()
        && let Some(ops) = world.request_ops(request)
    {
        return Ok((ops.activity)(world, request)? == Activity::Pending);
    }
    let standing = peek(world, request, &mut { Status::EMPTY })?;
    Ok(matches!(standing, RequestState::Pending))
}

/// Returns whether a handle is null or that of an inactive persistent request: calls that complete some of several
/// requests skip it.
#[inline]
pub(crate) fn is_inactive(world: &mut World, request: Request) -> bool {
    #[cold]
    fn is_other_inactive(world: &mut World, request: Request) -> bool {
        let is_inactive = world.request_ops(request).and_then(|ops| ops.is_inactive);
        is_inactive.is_some_and(|is_inactive| is_inactive(world, request))
    }
    match request {
        Request::NULL => true,
        _ => ticket(request).is_none() && is_other_inactive(world, request),
    }
}

/// Tests whether a request is complete, and ends it: the handle becomes null unless the request is persistent. Writes
/// the operation's failure, if any, to `failed`.
#[cfg_attr(feature = "fast-paths", inline(always))]
fn is_complete(
    world: &mut World,
    handle: &mut Request,
    status: Option<&mut Status>,
    failed: &mut Option<CommError>,
) -> Result<bool, CommError> {
    if *handle == SENT {
        end_sent(handle, status);
        return Ok(true);
    }
    if handle.0 <= u32::MAX as usize {
        return is_other_complete(world, handle, status, failed);
    }
    let over = is_ticket_complete(world, *handle, status, failed)?;
    if over {
        *handle = Request::NULL;
    }
    Ok(over)
}

/// Ends the request [`SENT`].
#[cfg_attr(feature = "fast-paths", inline(always))]
fn end_sent(handle: &mut Request, status: Option<&mut Status>) {
    if let Some(status) = status {
        *status = Status::SENT;
    }
    *handle = Request::NULL;
}

/// Tests whether a request that is a ticket is complete, and ends it; the caller makes the handle null.
#[cfg_attr(feature = "fast-paths", inline(always))]
fn is_ticket_complete(
    world: &mut World,
    request: Request,
    status: Option<&mut Status>,
    failed: &mut Option<CommError>,
) -> Result<bool, CommError> {
    let World {
        kernel,
        objects: Objects { comms, .. },
        ..
    } = world;
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
    handle: &mut Request,
    status: Option<&mut Status>,
    failed: &mut Option<CommError>,
) -> Result<bool, CommError> {
    let mut unwanted = Status::EMPTY;
    let status = status.unwrap_or(&mut unwanted);
    let request = *handle;
    let mut is_persistent = false;
    match request {
        Request::NULL => *status = Status::EMPTY,
        RECEIVED_FROM_NOBODY => *status = Status::PROC_NULL,
        _ => {
            let Some(ops) = world.request_ops(request) else {
                return Err(unknown(request, pombo_kernel::Error::UnknownTicket));
            };
            match (ops.test)(world, request, status)? {
                RequestState::Pending => return Ok(false),
                RequestState::Complete => {}
                RequestState::Failed(failure) => *failed = Some(failure),
            }
            is_persistent = ops.start.is_some();
        }
    }
    if !is_persistent {
        *handle = Request::NULL;
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

/// Waits for one request and returns its failure. The handle becomes null if, and only if, the operation is complete
/// and the request is not persistent.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(crate) fn wait_one(
    world: &mut World,
    request: &mut Request,
    status: &mut Status,
) -> Result<(), CommError> {
    let mut failed = None;
    let waited = *request;
    let attend = |world: &mut World, idle| stall_recovery::attend(world, idle, &[waited]);
    wait_until_over(world, request, Some(status), &mut failed, attend)?;
    match failed {
        None => Ok(()),
        Some(failure) => Err(failure),
    }
}

/// Waits for one request. `attend` is called at intervals while polls find nothing.
#[cfg_attr(feature = "fast-paths", inline(always))]
fn wait_until_over(
    world: &mut World,
    request: &mut Request,
    mut status: Option<&mut Status>,
    failed: &mut Option<CommError>,
    attend: impl Fn(&mut World, u32),
) -> Result<(), CommError> {
    let (waited, mut idle) = (*request, 0);
    if waited == SENT {
        end_sent(request, status);
        return Ok(());
    }
    if waited.0 <= u32::MAX as usize {
        return wait_until_other_over(world, request, status, failed, &attend);
    }
    world.begin_wait();
    while !is_ticket_complete(world, waited, status.as_deref_mut(), failed)? {
        world.progress(&mut idle);
        world.kernel.advance(&mut idle)?;
        if any_source_failure::is_due(idle) {
            attend(world, idle);
        }
    }
    *request = Request::NULL;
    Ok(())
}

/// Waits for a request that is not a ticket.
#[cold]
#[inline(never)]
fn wait_until_other_over(
    world: &mut World,
    request: &mut Request,
    mut status: Option<&mut Status>,
    failed: &mut Option<CommError>,
    attend: &dyn Fn(&mut World, u32),
) -> Result<(), CommError> {
    let mut idle = 0;
    world.begin_wait();
    while !is_other_complete(world, request, status.as_deref_mut(), failed)? {
        world.progress(&mut idle);
        world.kernel.advance(&mut idle)?;
        if any_source_failure::is_due(idle) {
            attend(world, idle);
        }
    }
    Ok(())
}

/// Waits for a request, as `MPI_Wait`. The handle becomes null if the request is complete, with or without an error,
/// and not persistent.
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
        world.until(|world| match test_one(world, request, status)? {
            RequestState::Pending => {
                let idle = world.idle_counts.waiting;
                if any_source_failure::is_due(idle) {
                    stall_recovery::attend(world, idle, &[*request]);
                }
                Ok(None)
            }
            RequestState::Complete => Ok(Some(())),
            RequestState::Failed(failure) => Err(failure),
        })
    })
}

/// Tests a request, as `MPI_Test`: returns false while it is not complete. The handle becomes null if it is, with or
/// without an error, and not persistent.
pub fn test(request: &mut Request, status: &mut Status) -> Result<bool, CommError> {
    world::with(|world| {
        world.make_progress()?;
        if any_source_failure::is_due_once(world) {
            stall_recovery::check(world, &[*request]);
        }
        match test_one(world, request, status)? {
            RequestState::Pending => world.test_backoff().map(|()| false),
            RequestState::Complete => Ok(true),
            RequestState::Failed(failure) => Err(failure),
        }
    })
}

/// Waits for requests one after the other, as `MPI_Waitall`; each handle that is not persistent becomes null. `over` is called with the index,
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
            let mut request = left[0];
            let attend = |world: &mut World, idle| stall_recovery::attend(world, idle, left);
            wait_until_over(world, &mut request, status_of, &mut failed, attend)?;
            left[0] = request;
            let index = next;
            next += 1;
            // A fatal error does not wait for the other requests, which may never complete.
            if let Some(failure) = failed.take_if(|failure| errhandler::is_fatal(world, failure)) {
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
    let World {
        kernel,
        objects: Objects { comms, .. },
        ..
    } = world;
    // Most requests of a call belong to one communicator.
    let (mut last, mut many, mut ended) = (0, 0, 0);
    for request in requests {
        if *request != SENT {
            let ticket = Ticket::from_bits(request.0 as u64);
            let Some(header) = kernel.take_completed(ticket) else {
                break;
            };
            let context = header.context.get();
            if context != last {
                comms.settled_many(last, many);
                (last, many) = (context, 0);
            }
            // Requests of collective operations are not counted.
            many += usize::from(context.is_multiple_of(2));
        }
        *request = Request::NULL;
        ended += 1;
    }
    comms.settled_many(last, many);
    ended
}

/// Writes the status of a message that was received without a request, and returns its failure.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(crate) fn end_received(
    world: &mut World,
    received: &Received<MpiHeader, MpiComposition>,
    status: &mut Status,
) -> Result<(), CommError> {
    let (envelope, outcome) = (Some(&received.envelope), received.outcome.as_ref().copied());
    let mut failed = None;
    let comms = &mut world.objects.comms;
    write_status(comms, true, envelope, outcome, Some(status), &mut failed);
    failed.map_or(Ok(()), Err)
}

#[cfg_attr(feature = "fast-paths", inline(always))]
fn write_status(
    comms: &mut Comms,
    received: bool,
    envelope: Option<&MpiEnvelope>,
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
    if let Err(error) = outcome {
        *failed = failure_of(comms, error, envelope);
        // Cancellation is a status and no error in MPI.
        if let (None, Some(status)) = (&failed, status) {
            status.set_cancelled(true);
        }
    }
}

/// Returns the failure of an operation; `None` if it was cancelled.
#[cold]
#[inline(never)]
fn failure_of(
    comms: &mut Comms,
    &error: &pombo_kernel::Error,
    envelope: Option<&MpiEnvelope>,
) -> Option<CommError> {
    if error == pombo_kernel::Error::Cancelled {
        return None;
    }
    let message = envelope.map(|envelope| (envelope.peer(), envelope.header()));
    let known = message.and_then(|(peer, header)| {
        let (comm, record) = comms.of_context(header.context.get())?;
        let (source, tag) = (record.rank_of(peer), header.tag.get() as i32);
        let error = Error::from(error).of_message(source, Some(tag));
        Some(CommError::with_handler(error, comm, record.handler))
    });
    Some(known.unwrap_or(error.into()))
}

/// Writes source and tag of a message to the status.
#[inline]
pub(crate) fn write_source(comms: &mut Comms, envelope: &MpiEnvelope, status: &mut Status) {
    let header = envelope.header();
    let peer = envelope.peer();
    let source = match comms.of_context(header.context.get()) {
        Some((_, record)) => record.rank_of(peer),
        None => peer.0.into(),
    };
    *status = Status::received(source, header.tag.get() as i32, envelope.len() as u64);
}
