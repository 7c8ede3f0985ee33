//! Matched probes and receives: a message's handle is the kernel's ticket. Source: MPI 5.0, section 3.8.2.

use crate::constants::*;
use crate::datatype;
use crate::error::{Error, Kind};
use crate::kernel::Posted;
use crate::message_header::MpiPattern;
use crate::p2p::{pattern, wait_for};
use crate::request;
use crate::runtime::world::{self, CommError, World};
use crate::status::Status;
use crate::user_buffer::UserAddress;
use core::ffi::c_int;
use pombo_kernel::Ticket;

/// Waits for a message and takes it, as `MPI_Mprobe`.
pub fn probe(
    from: c_int,
    tag: c_int,
    comm: Comm,
    status: &mut Status,
) -> Result<Message, CommError> {
    world::with(|world| match pattern(world, from, tag, comm)? {
        Some(pattern) => wait_for(world, pattern, |world| look(world, pattern, comm, status)),
        None => Ok(nobody(status)),
    })
}

/// Takes a message, as `MPI_Improbe`; `None` while there is none.
pub fn iprobe(
    from: c_int,
    tag: c_int,
    comm: Comm,
    status: &mut Status,
) -> Result<Option<Message>, CommError> {
    world::with(|world| match pattern(world, from, tag, comm)? {
        Some(pattern) => world.probe_for(pattern, |world| look(world, pattern, comm, status)),
        None => Ok(Some(nobody(status))),
    })
}

fn nobody(status: &mut Status) -> Message {
    *status = Status::PROC_NULL;
    MPI_MESSAGE_NO_PROC
}

fn look(
    world: &mut World,
    pattern: MpiPattern,
    comm: Comm,
    status: &mut Status,
) -> Result<Option<Message>, CommError> {
    let Some((ticket, envelope)) = world
        .kernel
        .matched_probe(pattern)
        .map_err(CommError::on(comm))?
    else {
        return Ok(None);
    };
    request::write_source(&mut world.objects.comms, &envelope, status);
    // Until it is received, the message refers to its communicator as a request does.
    if let Ok(record) = world.objects.comms.get(comm) {
        record.pending += 1;
    }
    Ok(Some(Message(ticket.to_bits() as usize)))
}

/// Receives a taken message, as `MPI_Mrecv`. The message's handle becomes null once its receive is posted.
pub fn receive(
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    message: &mut Message,
    status: &mut Status,
) -> Result<(), CommError> {
    world::with(|world| post(world, buf, count, datatype, message)?.wait(status))
}

/// Starts to receive a taken message, as `MPI_Imrecv`.
pub fn ireceive(
    buf: UserAddress<'static>,
    count: i64,
    datatype: Datatype,
    message: &mut Message,
) -> Result<Request, CommError> {
    world::with(|world| Ok(post(world, buf, count, datatype, message)?.hand_out()))
}

fn post<'w>(
    world: &'w mut World,
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    message: &mut Message,
) -> Result<Posted<'w>, CommError> {
    let handle = *message;
    if handle == MPI_MESSAGE_NO_PROC {
        // Without a message the buffer and its datatype are not checked.
        datatype::items(count)?;
        *message = Message::NULL;
        return Ok(Posted::over(world, request::RECEIVED_FROM_NOBODY));
    }
    let region = buf.checked(&world.objects.datatypes, count, datatype)?;
    let ticket = Ticket::from_bits(handle.0 as u64);
    let posted = Posted::receive_matched(world, ticket, region);
    let posted = posted.map_err(|error| unknown(handle, error))?;
    *message = Message::NULL;
    Ok(posted)
}

fn unknown(message: Message, error: pombo_kernel::Error) -> Error {
    match error {
        pombo_kernel::Error::UnknownTicket => Error::Handle {
            kind: Kind::Message,
            got: message.0,
        },
        error => error.into(),
    }
}
