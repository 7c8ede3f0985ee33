//! The values of a request handle: the kernel's ticket as an integer, an operation with its own
//! [`RequestOps`](crate::runtime::world::RequestOps), or a complete operation.

use crate::constants::{FIRST_OWN_HANDLE, Request};
use crate::error::CommError;
use pombo_kernel::Ticket;
use static_assertions::const_assert_eq;

const_assert_eq!(usize::BITS, 64);

/// A send that is complete from the start. No ticket is below 2^32.
pub const SENT: Request = Request(FIRST_OWN_HANDLE);
/// A receive from `MPI_PROC_NULL`, which is complete from the start.
pub const RECEIVED_FROM_NOBODY: Request = Request(FIRST_OWN_HANDLE + 1);

/// Returns the handle of a ticket.
pub fn handle(ticket: Ticket) -> Request {
    Request(ticket.to_bits() as usize)
}

/// Returns the kernel's ticket of a handle, if it has one.
pub(crate) fn ticket(request: Request) -> Option<Ticket> {
    let is_ticket = request.0 > u32::MAX as usize;
    is_ticket.then(|| Ticket::from_bits(request.0 as u64))
}

/// The state of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestState {
    /// It is not complete.
    Pending,
    /// It is complete, and the handle is invalid.
    Complete,
    /// It has failed, and the handle is invalid; the failure names the communicator whose handler receives it.
    Failed(CommError),
}

/// The first handle of an operation with [`RequestOps`](crate::runtime::world::RequestOps). They are below tickets
/// (2^32) and above the small values without an operation.
pub(crate) const FIRST_WITH_OPS: usize = FIRST_OWN_HANDLE + 16;

/// Returns whether this handle may name an operation with its own `RequestOps`.
pub(crate) fn has_request_ops(request: Request) -> bool {
    (FIRST_WITH_OPS..=u32::MAX as usize).contains(&request.0)
}
