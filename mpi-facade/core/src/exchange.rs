//! Sends together with receives: `MPI_Sendrecv_replace`, `MPI_Isendrecv` and `MPI_Isendrecv_replace`. Source: MPI 5.0,
//! section 3.10.

use crate::compound;
use crate::constants::*;
use crate::kernel::Posted;
use crate::p2p::{self, Side};
use crate::packed_message::PackedMessage;
use crate::request;
use crate::runtime::world::{self, CommError, World};
use crate::status::Status;
use pombo_kernel::Mode;

/// Sends a buffer and receives into it, as `MPI_Sendrecv_replace`: what is sent is a copy. Both sides name the same
/// memory.
pub fn replace(
    send: Side<'_>,
    receive: Side<'_>,
    comm: Comm,
    status: &mut Status,
) -> Result<(), CommError> {
    world::with(|world| {
        // The copy lives longer than the send of it.
        let mut copy = None;
        let outgoing = post_copy(world, send, receive, comm, &mut copy)?;
        p2p::receive_beside(outgoing, receive, comm, status)
    })
}

/// Starts a send and a receive, as `MPI_Isendrecv`.
pub fn start(
    send: Side<'static>,
    receive: Side<'static>,
    comm: Comm,
) -> Result<Request, CommError> {
    world::with(|world| {
        check_receive(world, receive, comm)?;
        let Side {
            buf,
            count,
            datatype,
            partner,
            tag,
        } = send;
        let mode = Mode::Standard;
        let outgoing = p2p::post_send(world, buf, count, datatype, partner, tag, comm, mode);
        let parts = receive_and_hand_out(outgoing.begun()?, receive, comm)?;
        compound::add(world, parts, None, comm)
    })
}

/// Starts to send a buffer and to receive into it, as `MPI_Isendrecv_replace`. Both sides name the same memory.
pub fn start_replace(
    send: Side<'static>,
    receive: Side<'static>,
    comm: Comm,
) -> Result<Request, CommError> {
    world::with(|world| {
        let mut copy = None;
        let outgoing = post_copy(world, send, receive, comm, &mut copy)?;
        let parts = receive_and_hand_out(outgoing, receive, comm)?;
        compound::add(world, parts, copy, comm)
    })
}

/// Checks both sides, and posts the send of a copy.
fn post_copy<'w>(
    world: &'w mut World,
    send: Side<'_>,
    receive: Side<'_>,
    comm: Comm,
    copy: &mut Option<PackedMessage>,
) -> Result<Posted<'w>, CommError> {
    check_receive(world, receive, comm)?;
    let Side {
        buf,
        count,
        datatype,
        partner,
        tag,
    } = send;
    let Some((peer, header, region)) =
        p2p::check_send(world, buf, count, datatype, partner, tag, comm)?
    else {
        return Ok(Posted::over(world, request::SENT));
    };
    let copied = copy.insert(PackedMessage::of(&region).map_err(CommError::on(comm))?);
    let message = (peer, header, copied.region());
    p2p::post_checked_send(world, message, comm, Mode::Standard).begun()
}

/// Checks the receive, before anything is sent.
fn check_receive(world: &mut World, receive: Side<'_>, comm: Comm) -> Result<(), CommError> {
    let Side {
        buf,
        count,
        datatype,
        partner,
        tag,
    } = receive;
    p2p::check_receive(world, buf, count, datatype, partner, tag, comm).map(drop)
}

/// Posts the receive, and returns the requests of both.
fn receive_and_hand_out(
    mut outgoing: Posted<'_>,
    receive: Side<'_>,
    comm: Comm,
) -> Result<[Request; 2], CommError> {
    let Side {
        buf,
        count,
        datatype,
        partner,
        tag,
    } = receive;
    let world = outgoing.world();
    let incoming = p2p::post_receive(world, buf, count, datatype, partner, tag, comm);
    let incoming = incoming.begun()?.hand_out();
    Ok([incoming, outgoing.hand_out()])
}
