//! Requests: a handle is the kernel's ticket as a number, so there is no table of requests.

use crate::collective;
use crate::comm::Comms;
use crate::constants::*;
use crate::error::{Error, Kind};
use crate::header::{Composition, Envelope};
use crate::status::Status;
use crate::world::{self, Fault, World};
use pombo_kernel::{Loan, Operate, Ticket};

const _: () = assert!(usize::BITS == 64, "a request handle needs 64 bits");

/// A send that is over from the start. No ticket is below 2^32.
pub const SENT: Request = Request(FIRST_OWN_HANDLE);
/// A receive from `MPI_PROC_NULL`: over from the start.
pub const RECEIVED_FROM_NOBODY: Request = Request(FIRST_OWN_HANDLE + 1);

/// The handle of an operation.
pub fn handle(ticket: Ticket) -> Request {
    Request(ticket.to_bits() as usize)
}

/// Where a request stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Standing {
    /// Not over.
    Open,
    /// Over, and the handle is dead.
    Over,
    /// The same, and something went wrong: which communicator hears of it is in the fault.
    Failed(Fault),
}

/// Looks whether a request is over and if so writes its status. `MPI_REQUEST_NULL` is always over. Makes no progress.
/// An error is the handle's.
#[inline(always)]
pub(crate) fn test_one(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<Standing, Fault> {
    match request {
        Request::NULL | SENT => {
            *status = Status::EMPTY;
            return Ok(Standing::Over);
        }
        RECEIVED_FROM_NOBODY => {
            *status = Status::PROC_NULL;
            return Ok(Standing::Over);
        }
        _ if collective::is_request(request) => return collective::test(world, request, status),
        _ => {}
    }
    let World { kernel, comms, .. } = world;
    let ticket = Ticket::from_bits(request.0 as u64);
    let settled = kernel.claim_with(ticket, |loan, envelope, outcome| {
        let received = matches!(loan, Loan::Received(_));
        settle(comms, received, envelope, outcome, status)
    });
    match settled {
        Ok(None) => Ok(Standing::Open),
        Ok(Some(standing)) => Ok(standing),
        Err(error) => Err(unknown(request, error)),
    }
}

#[cold]
fn unknown(request: Request, error: pombo_kernel::Error) -> Fault {
    match error {
        pombo_kernel::Error::UnknownTicket => Error::Handle {
            kind: Kind::Request,
            got: request.0,
        }
        .into(),
        error => error.into(),
    }
}

/// Waits for one request; its error is the call's error.
#[inline]
pub(crate) fn wait_one(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<(), Fault> {
    match wait_standing(world, request, status)? {
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

#[inline]
fn wait_standing(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<Option<Fault>, Fault> {
    let mut idle = 0;
    loop {
        match test_one(world, request, status)? {
            Standing::Open => {
                collective::progress(world);
                world.kernel.advance(&mut idle)?;
            }
            Standing::Over => return Ok(None),
            Standing::Failed(fault) => return Ok(Some(fault)),
        }
    }
}

/// `MPI_Wait`.
#[inline]
pub fn wait(request: Request, status: &mut Status) -> Result<(), Fault> {
    world::with(|world| wait_one(world, request, status))
}

/// `MPI_Test`: false while the request is not over.
pub fn test(request: Request, status: &mut Status) -> Result<bool, Fault> {
    world::with(|world| {
        world.kernel.check_messages()?;
        collective::progress(world);
        match test_one(world, request, status)? {
            Standing::Open => Ok(false),
            Standing::Over => Ok(true),
            Standing::Failed(fault) => Err(fault),
        }
    })
}

/// Waits for one request and gives its own error apart from the call's: for calls that complete several.
#[inline]
pub fn wait_for(request: Request, status: &mut Status) -> Result<Option<Fault>, Fault> {
    world::with(|world| wait_standing(world, request, status))
}

#[inline]
fn settle(
    comms: &mut Comms,
    received: bool,
    envelope: Option<&pombo_kernel::Envelope<Envelope, Composition>>,
    outcome: &Result<usize, pombo_kernel::Error>,
    status: &mut Status,
) -> Standing {
    *status = Status::EMPTY;
    let Some(envelope) = envelope else {
        return standing(outcome, MPI_COMM_WORLD, status);
    };
    let context = envelope.header().context.get();
    if received {
        tell(comms, envelope, status);
        if let Ok(bytes) = *outcome {
            status.set_bytes(bytes as u64);
        }
    }
    let standing = match outcome {
        Ok(_) => Standing::Over,
        Err(_) => {
            let comm = comms.of_context(context);
            let comm = comm.map_or(MPI_COMM_WORLD, |(comm, _)| comm);
            standing(outcome, comm, status)
        }
    };
    // Collective traffic is not a user's request.
    if context.is_multiple_of(2) {
        comms.settled(context);
    }
    standing
}

/// Cancellation is not an error in MPI.
#[cold]
fn standing(
    outcome: &Result<usize, pombo_kernel::Error>,
    comm: Comm,
    status: &mut Status,
) -> Standing {
    match *outcome {
        Ok(_) => Standing::Over,
        Err(pombo_kernel::Error::Cancelled) => {
            status.set_cancelled(true);
            Standing::Over
        }
        Err(error) => Standing::Failed(Fault {
            error: error.into(),
            comm,
        }),
    }
}

/// Writes the status that tells of a message.
#[inline]
pub(crate) fn tell(
    comms: &mut Comms,
    envelope: &pombo_kernel::Envelope<Envelope, Composition>,
    status: &mut Status,
) {
    let header = envelope.header();
    let node = envelope.node();
    let source = match comms.of_context(header.context.get()) {
        Some((_, group)) => group.rank_of(node),
        None => node.0.into(),
    };
    *status = Status::received(source, header.tag.get() as i32, envelope.len() as u64);
}
