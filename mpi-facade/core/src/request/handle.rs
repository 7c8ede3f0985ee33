//! The values of a request handle: the kernel's ticket as an integer, an operation with its own
//! [`RequestOps`](crate::runtime::world::RequestOps), or a complete operation.

use crate::constants::{FIRST_OWN_HANDLE, Request};
use crate::error::CommError;
use pombo_kernel::Ticket;
use static_assertions::{const_assert, const_assert_eq};

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
#[derive(Clone, Debug)]
pub(crate) enum RequestState {
    /// It is not complete.
    Pending,
    /// It is complete, and the handle is invalid.
    Complete,
    /// It has failed, and the handle is invalid; the failure names the communicator whose handler receives it.
    Failed(CommError),
}

/// What an operation with its own `RequestOps` is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Activity {
    /// It is a persistent request that is not started.
    Inactive,
    /// It is not complete.
    Pending,
    /// It is complete or has failed; nobody has got its status.
    Over,
}

/// The first handle of an operation with [`RequestOps`](crate::runtime::world::RequestOps). They are below tickets
/// (2^32) and above the small values without an operation.
pub(crate) const FIRST_WITH_OPS: usize = FIRST_OWN_HANDLE + 16;

/// The kinds of operations with their own `RequestOps`. Each kind has a range of handles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RequestKind {
    /// A non-blocking collective operation.
    Collective,
    /// A persistent request.
    Persistent,
    /// A request of several operations (`MPI_Isendrecv`).
    Compound,
    /// A generalized request of the program.
    Generalized,
    /// A non-blocking neighbourhood collective operation.
    Neighbourhood,
    /// A flush of a buffer of buffered sends.
    Flush,
    /// A partitioned request.
    Partitioned,
}

impl RequestKind {
    /// Number of kinds.
    pub(crate) const COUNT: usize = Self::Partitioned as usize + 1;
    /// Handles of the collective kind.
    const COLLECTIVE: usize = 1 << 31;
    /// Handles of each other kind.
    pub(crate) const HANDLES: usize = 1 << 28;

    /// Returns the first handle of the kind.
    pub(crate) const fn first(self) -> usize {
        FIRST_WITH_OPS
            + match self {
                Self::Collective => 0,
                _ => Self::COLLECTIVE + (self as usize - 1) * Self::HANDLES,
            }
    }

    /// Returns the kind of a handle, if it may name an operation with its own `RequestOps`.
    pub(crate) fn of(request: Request) -> Option<RequestKind> {
        let descending = [
            Self::Partitioned,
            Self::Flush,
            Self::Neighbourhood,
            Self::Generalized,
            Self::Compound,
            Self::Persistent,
            Self::Collective,
        ];
        let mut kinds = descending.into_iter().filter(|_| request.0 < END);
        kinds.find(|kind| request.0 >= kind.first())
    }
}

/// The end of the handles of all kinds.
const END: usize = RequestKind::Partitioned.first() + RequestKind::HANDLES;

// Values from 2^32 are those of point-to-point tickets.
const_assert!(END <= 1 << 32);
