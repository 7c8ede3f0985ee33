//! Buffered sends: each copies its message and is complete on return. Source: MPI 5.0, section 3.6.
//!
//! The copies are in the library's own memory. The attached buffer bounds their size as the standard counts it: the
//! bytes of each and `MPI_BSEND_OVERHEAD`. Beyond that a send fails with `MPI_ERR_BUFFER`. Sends on a communicator with a
//! buffer of its own use that alone.

mod flush_request;
mod pool;

pub use pool::Attached;

use crate::constants::*;
use crate::p2p::{self, CheckedSend};
use crate::packed_message::PackedMessage;
use crate::request;
use crate::runtime::world::{self, CommError, World};
use crate::user_buffer::UserAddress;
use core::ffi::c_int;
use pombo_kernel::{Mode, Source};
use pool::{Owner, refused};

/// Whose buffer a call names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferOf {
    /// The buffer of the process.
    Process,
    /// The buffer of a communicator.
    Communicator(Comm),
}

/// Sends as `MPI_Bsend` and `MPI_Ibsend`: the send is complete on return.
pub fn send(
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<(), CommError> {
    world::with(|world| {
        match p2p::check_send(world, buf, count, datatype, to, tag, comm)? {
            Some(message) => post(world, message, comm),
            // A send to `MPI_PROC_NULL` needs no copy.
            None => Ok(()),
        }
    })
}

/// Sends a checked message as [`send`] does.
pub(crate) fn post(
    world: &mut World,
    (peer, header, region): CheckedSend,
    comm: Comm,
) -> Result<(), CommError> {
    let takes = region.len().saturating_add(MPI_BSEND_OVERHEAD as usize);
    let owner = pool::of_sends(world, Owner::Context(header.context.get() / 2));
    receive_and_reap(world, owner)?;
    pool::reserve(world, owner, takes).map_err(CommError::on(comm))?;
    let mut copy = PackedMessage::of(&region).map_err(CommError::on(comm))?;
    let message = (peer, header, copy.region());
    let posted = p2p::post_checked_send(world, message, comm, Mode::Standard);
    let request = posted.begun()?.hand_out();
    if request != request::SENT {
        pool::add(world, owner, request, takes, copy);
    }
    Ok(())
}

/// Attaches a buffer, as `MPI_Buffer_attach` and `MPI_Comm_attach_buffer`.
pub fn attach(of: BufferOf, buffer: Attached) -> Result<(), CommError> {
    world::with(|world| {
        let owner = owner(world, of)?;
        world.objects.flush_buffers = Some(flush_all);
        pool::attach(world, owner, buffer).map_err(|error| failure(of, error))
    })
}

/// Detaches a buffer after all its copies are sent, as `MPI_Buffer_detach` and `MPI_Comm_detach_buffer`.
pub fn detach(of: BufferOf) -> Result<Attached, CommError> {
    flush(of)?;
    world::with(|world| {
        let owner = owner(world, of)?;
        let attached = pool::detach(world, owner);
        attached.ok_or(failure(of, refused("attached before it is detached")))
    })
}

/// Waits until every copy of a buffer is sent, as `MPI_Buffer_flush` and `MPI_Comm_flush_buffer`.
pub fn flush(of: BufferOf) -> Result<(), CommError> {
    world::with(|world| {
        let owner = owner(world, of)?;
        flush_one(world, owner)
    })
}

/// Waits until every copy of all buffers is sent.
fn flush_all() -> Result<(), CommError> {
    world::with(|world| {
        for owner in pool::owners(world) {
            flush_one(world, owner)?;
        }
        Ok(())
    })
}

/// Makes a request that is complete when every copy that a buffer has now is sent, as `MPI_Buffer_iflush` and
/// `MPI_Comm_iflush_buffer`.
pub fn start_flush(of: BufferOf) -> Result<Request, CommError> {
    world::with(|world| {
        let owner = owner(world, of)?;
        flush_request::add(world, owner).map_err(|error| failure(of, error))
    })
}

fn flush_one(world: &mut World, owner: Owner) -> Result<(), CommError> {
    world.until(|world| {
        receive_and_reap(world, owner)?;
        Ok(pool::oldest(world, owner).is_none().then_some(()))
    })
}

/// Frees the oldest copies, after a look for the messages that complete their sends.
fn receive_and_reap(world: &mut World, owner: Owner) -> Result<(), CommError> {
    if pool::oldest(world, owner).is_some() {
        world.kernel.check_messages()?;
        pool::reap(world, owner);
    }
    Ok(())
}

fn owner(world: &mut World, of: BufferOf) -> Result<Owner, CommError> {
    Ok(match of {
        BufferOf::Process => Owner::Process,
        BufferOf::Communicator(comm) => Owner::Context(world.objects.comms.get(comm)?.context),
    })
}

fn failure(of: BufferOf, error: crate::error::Error) -> CommError {
    match of {
        BufferOf::Process => error.into(),
        BufferOf::Communicator(comm) => CommError::new(error, comm),
    }
}
