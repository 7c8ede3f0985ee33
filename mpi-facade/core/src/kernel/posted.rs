//! An operation that a call has posted with the program's memory.

use crate::constants::{Comm, Request};
use crate::message_header::{MpiHeader, MpiPattern};
use crate::request;
use crate::runtime::world::{CommError, World};
use crate::status::Status;
use crate::user_buffer::Region;
use core::mem::ManuallyDrop;
use pombo_kernel::{Error, Mode, Peer, Ticket};

/// A send or a receive under way. The program gets it as a request ([`Posted::hand_out`]), or the call waits for it
/// ([`Posted::wait`]). Dropping it otherwise withdraws the operation: the program may reuse its memory, and the kernel
/// no longer writes there.
#[must_use]
pub(crate) struct Posted<'w> {
    world: &'w mut World,
    request: Request,
}

impl<'w> Posted<'w> {
    /// Lends memory for a send on a communicator.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn send(
        world: &'w mut World,
        mode: Mode,
        to: Peer,
        header: MpiHeader,
        message: Region,
        comm: Comm,
    ) -> Self {
        let posted = world.kernel.send(mode, to, header, message);
        Self::of(world, posted, comm)
    }

    /// Lends memory for a receive on a communicator.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn receive(
        world: &'w mut World,
        pattern: MpiPattern,
        into: Region,
        comm: Comm,
    ) -> Self {
        let posted = world.kernel.receive(pattern, into);
        Self::of(world, posted, comm)
    }

    /// Does so where the communicator counts the receive already.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn receive_counted(
        world: &'w mut World,
        pattern: MpiPattern,
        into: Region,
        comm: Comm,
    ) -> Self {
        match world.kernel.receive(pattern, into) {
            Ok(ticket) => {
                let request = request::handle(ticket);
                Posted { world, request }
            }
            Err(error) => {
                world.objects.comms.settled(pattern.context());
                Self::refuse(world, CommError::new(error, comm))
            }
        }
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn of(world: &'w mut World, posted: Result<Ticket, Error>, comm: Comm) -> Self {
        match posted {
            Ok(ticket) => {
                // The communicator exists, as the post was checked against it.
                if let Ok(record) = world.objects.comms.get(comm) {
                    record.pending += 1;
                }
                let request = request::handle(ticket);
                Posted { world, request }
            }
            Err(error) => Self::refuse(world, CommError::new(error, comm)),
        }
    }

    /// Lends memory for a message that a matched probe has taken. The message's handle is that of the operation.
    pub(crate) fn receive_matched(
        world: &'w mut World,
        message: Ticket,
        into: Region,
    ) -> Result<Self, Error> {
        world.kernel.receive_matched(message, into)?;
        let request = request::handle(message);
        Ok(Posted { world, request })
    }

    /// Returns an operation that is complete from the start, see [`request`].
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn over(world: &'w mut World, request: Request) -> Self {
        Posted { world, request }
    }

    /// Returns a refused operation. The failure is kept in the world, so that the result fits a register: see
    /// [`Posted::begun`].
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(world: &'w mut World, failure: CommError) -> Self {
        world.refused = Some(failure);
        let request = Request::NULL;
        Posted { world, request }
    }

    /// Returns the operation, or the failure of a refused one.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn begun(self) -> Result<Self, CommError> {
        if self.request == Request::NULL {
            return Err(self.refused());
        }
        Ok(self)
    }

    #[cold]
    fn refused(self) -> CommError {
        let nothing_said = CommError::from(Error::UnknownTicket);
        self.world.refused.take().unwrap_or(nothing_said)
    }

    /// Returns the world, for another post of the same call.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn world(&mut self) -> &mut World {
        self.world
    }

    /// Makes the operation the program's request.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn hand_out(self) -> Request {
        ManuallyDrop::new(self).request
    }

    /// Waits for the end of a send, which has no status.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn wait_sent(self) -> Result<(), CommError> {
        match self.request {
            request::SENT => {
                self.hand_out();
                Ok(())
            }
            _ => self.wait(&mut { Status::EMPTY }),
        }
    }

    /// Waits for the end of the operation. Not inlined: it is long, and every blocking call uses it.
    #[inline(never)]
    pub(crate) fn wait(mut self, status: &mut Status) -> Result<(), CommError> {
        request::wait_one(self.world, &mut self.request, status)
    }
}

impl Drop for Posted<'_> {
    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn drop(&mut self) {
        // The handle of a completed operation is null.
        if self.request != Request::NULL {
            withdraw(self.world, self.request);
        }
    }
}

#[cold]
#[inline(never)]
fn withdraw(world: &mut World, request: Request) {
    if let Some(ticket) = request::ticket(request)
        && let Some(context) = world.kernel.release(ticket)
    {
        world.objects.comms.settled(context);
    }
}
