//! Requests: a handle is the kernel's ticket as a number, so there is no table of requests.

use crate::constants::*;
use crate::error::{Error, Kind};
use crate::header::{Composition, Envelope};
use crate::memory::Foreign;
use crate::status::Status;
use crate::world::{self, Fault, World};
use pombo_kernel::{Completed, Loan, Operate, Ticket};

const _: () = assert!(usize::BITS == 64, "a request handle needs 64 bits");

/// A send to `MPI_PROC_NULL`: over from the start. No ticket is below 2^32.
pub const SENT_TO_NOBODY: Request = Request(FIRST_OWN_HANDLE);
/// A receive from `MPI_PROC_NULL`: over from the start.
pub const RECEIVED_FROM_NOBODY: Request = Request(FIRST_OWN_HANDLE + 1);

/// The handle of an operation.
pub fn handle(ticket: Ticket) -> Request {
    Request(ticket.to_bits() as usize)
}

/// A request that is over: its status, and what went wrong.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// What a status shows.
    pub status: Status,
    /// An error, with the communicator that hears of it.
    pub fault: Option<Fault>,
}

impl Outcome {
    const fn good(status: Status) -> Self {
        Outcome {
            status,
            fault: None,
        }
    }
}

/// If the request is over: its outcome; the handle is dead then. `MPI_REQUEST_NULL` is always over.
/// Makes no progress.
pub(crate) fn test_one(world: &mut World, request: Request) -> Result<Option<Outcome>, Fault> {
    match request {
        Request::NULL | SENT_TO_NOBODY => return Ok(Some(Outcome::good(Status::EMPTY))),
        RECEIVED_FROM_NOBODY => return Ok(Some(Outcome::good(Status::PROC_NULL))),
        _ => {}
    }
    let ticket = Ticket::from_bits(request.0 as u64);
    match world.kernel.claim(ticket) {
        Ok(None) => Ok(None),
        Ok(Some(completed)) => Ok(Some(settle(world, completed))),
        Err(pombo_kernel::Error::UnknownTicket) => Err(Error::Handle {
            kind: Kind::Request,
            got: request.0,
        }
        .into()),
        Err(error) => Err(error.into()),
    }
}

/// Waits for one request; its error is the call's error.
#[inline]
pub(crate) fn wait_one(world: &mut World, request: Request) -> Result<Status, Fault> {
    let outcome = world.until(|world| test_one(world, request))?;
    match outcome.fault {
        Some(fault) => Err(fault),
        None => Ok(outcome.status),
    }
}

/// `MPI_Wait`.
pub fn wait(request: Request) -> Result<Status, Fault> {
    world::with(|world| wait_one(world, request))
}

/// `MPI_Test`: `None` while the request is not over.
pub fn test(request: Request) -> Result<Option<Status>, Fault> {
    world::with(|world| {
        world.kernel.check_messages()?;
        match test_one(world, request)? {
            None => Ok(None),
            Some(Outcome {
                fault: Some(fault), ..
            }) => Err(fault),
            Some(outcome) => Ok(Some(outcome.status)),
        }
    })
}

/// Waits for one request, its own error being part of the outcome: for calls that complete several.
pub fn wait_for(request: Request) -> Result<Outcome, Fault> {
    world::with(|world| world.until(|world| test_one(world, request)))
}

fn settle(world: &mut World, completed: Completed<Envelope, Foreign, Composition>) -> Outcome {
    let Some(envelope) = completed.envelope else {
        let mut status = Status::EMPTY;
        status.set_cancelled(completed.outcome == Err(pombo_kernel::Error::Cancelled));
        let fault = fault_of(MPI_COMM_WORLD, completed.outcome.err());
        return Outcome { status, fault };
    };
    let context = envelope.header().context.get();
    let comm = world
        .comms
        .of_context(context)
        .map_or(MPI_COMM_WORLD, |(comm, _)| comm);
    let mut status = match completed.loan {
        Loan::Sent(_) => Status::EMPTY,
        Loan::Received(_) => status_of(world, &envelope),
    };
    if let Ok(bytes) = completed.outcome
        && matches!(completed.loan, Loan::Received(_))
    {
        status.set_bytes(bytes as u64);
    }
    status.set_cancelled(completed.outcome == Err(pombo_kernel::Error::Cancelled));
    let fault = fault_of(comm, completed.outcome.err());
    // Collective traffic is not a user's request.
    if context % 2 == 0 {
        world.comms.settled(context);
    }
    Outcome { status, fault }
}

/// Cancellation is not an error in MPI.
fn fault_of(comm: Comm, error: Option<pombo_kernel::Error>) -> Option<Fault> {
    let error = error.filter(|error| *error != pombo_kernel::Error::Cancelled)?;
    Some(Fault {
        error: error.into(),
        comm,
    })
}

/// The status that tells of a message.
pub(crate) fn status_of(
    world: &mut World,
    envelope: &pombo_kernel::Envelope<Envelope, Composition>,
) -> Status {
    let header = envelope.header();
    let node = envelope.node();
    let source = match world.comms.of_context(header.context.get()) {
        Some((_, group)) => group.rank_of(node),
        None => node.0.into(),
    };
    Status::received(source, header.tag.get() as i32, envelope.len() as u64)
}
