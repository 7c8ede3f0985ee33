//! What a request's handle says: the kernel's ticket as a number, an operation with [`RequestOps`](crate::runtime::world::RequestOps) of its own, or that it is over.

use crate::constants::{FIRST_OWN_HANDLE, Request};
use crate::error::CommError;
use pombo_kernel::Ticket;
use static_assertions::const_assert_eq;

// A request handle needs 64 bits.
const_assert_eq!(usize::BITS, 64);

/// A send that is over from the start. No ticket is below 2^32.
pub const SENT: Request = Request(FIRST_OWN_HANDLE);
/// A receive from `MPI_PROC_NULL`: over from the start.
pub const RECEIVED_FROM_NOBODY: Request = Request(FIRST_OWN_HANDLE + 1);

/// The handle of an operation.
pub fn handle(ticket: Ticket) -> Request {
    Request(ticket.to_bits() as usize)
}

/// The kernel's ticket, if it is one.
pub(crate) fn ticket(request: Request) -> Option<Ticket> {
    let is_ticket = request.0 > u32::MAX as usize;
    is_ticket.then(|| Ticket::from_bits(request.0 as u64))
}

/// Where a request stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestState {
    /// Not over.
    Pending,
    /// Over, and the handle is dead.
    Complete,
    /// The same, and something went wrong: which communicator hears of it is in the fault.
    Failed(CommError),
}

/// Operations of others than the kernel have handles from here on, below tickets (2^32) and above the small ones
/// that mean nobody.
pub(crate) const FIRST_WITH_OPS: usize = FIRST_OWN_HANDLE + 16;

/// May this handle name an operation of another than the kernel?
pub(crate) fn has_request_ops(request: Request) -> bool {
    (FIRST_WITH_OPS..=u32::MAX as usize).contains(&request.0)
}
