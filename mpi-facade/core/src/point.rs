//! Point-to-point calls: check, build a header, call the kernel. Source: MPI 5.0, chapter 3.

use crate::comm::Group;
use crate::constants::*;
use crate::datatype;
use crate::error::{Error, Kind};
use crate::forsaken;
use crate::header::{Envelope, Wanted};
use crate::memory::{self, Region, Shape};
use crate::request;
use crate::status::Status;
use crate::world::{self, Fault, World};
use core::ffi::{c_int, c_void};
use pombo_kernel::{Mode, Node, Operate};

/// `MPI_Send` and `MPI_Ssend`.
///
/// # Safety
/// `buf` holds `count` items of `datatype`.
#[inline]
pub unsafe fn send(
    mode: Mode,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<(), Fault> {
    // SAFETY: the caller's promise; the call does not return before the kernel is done with the buffer.
    match unsafe { isend(mode, buf, count, datatype, to, tag, comm) }? {
        request::SENT => Ok(()),
        request => request::wait(request, &mut { Status::EMPTY }),
    }
}

/// `MPI_Isend` and `MPI_Issend`.
///
/// # Safety
/// `buf` holds `count` items of `datatype`, until the request is over.
#[inline]
pub unsafe fn isend(
    mode: Mode,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request, Fault> {
    // SAFETY: the caller's promise.
    world::begun(unsafe { post_send(buf, count, datatype, to, tag, comm, mode) })
}

/// `MPI_Recv`.
///
/// # Safety
/// `buf` has room for `count` items of `datatype`.
#[inline]
pub unsafe fn receive(
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
    status: &mut Status,
) -> Result<(), Fault> {
    // SAFETY: the caller's promise; the call does not return before the kernel is done with the buffer.
    let request = unsafe { ireceive(buf, count, datatype, from, tag, comm) }?;
    request::wait(request, status)
}

/// `MPI_Irecv`.
///
/// # Safety
/// `buf` has room for `count` items of `datatype`, until the request is over.
#[inline]
pub unsafe fn ireceive(
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request, Fault> {
    // SAFETY: the caller's promise.
    world::begun(unsafe { post_receive(buf, count, datatype, from, tag, comm) })
}

/// One side of an exchange: memory, partner, tag.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// Address of the items.
    pub buf: *mut c_void,
    /// How many.
    pub count: i64,
    /// Of what.
    pub datatype: Datatype,
    /// Destination or source.
    pub partner: c_int,
    /// The tag.
    pub tag: c_int,
}

/// `MPI_Sendrecv`.
///
/// # Safety
/// Both buffers hold what their sides say and do not overlap.
pub unsafe fn exchange(
    send: Side,
    receive: Side,
    comm: Comm,
    status: &mut Status,
) -> Result<(), Fault> {
    // The send is checked before the receive is posted, so a refused call leaves nothing behind.
    world::with(|world| {
        let group = world.comms.get(comm)?;
        check_tag(send.tag).map_err(Fault::on(comm))?;
        let to = partner(group, send.partner).map_err(Fault::on(comm))?;
        let sent = match to {
            None => memory::items(send.count).map(drop),
            // SAFETY: the caller's promise.
            Some(_) => unsafe { region(send.buf, send.count, send.datatype) }.map(drop),
        };
        sent.map_err(Fault::on(comm))
    })?;
    let Side {
        buf,
        count,
        datatype,
        partner,
        tag,
    } = receive;
    // SAFETY: the caller's promise; the call does not return before the kernel is done with the buffers.
    let incoming = unsafe { ireceive(buf, count, datatype, partner, tag, comm) }?;
    let Side {
        buf,
        count,
        datatype,
        partner,
        tag,
    } = send;
    // SAFETY: as above.
    let outgoing = unsafe { isend(Mode::Standard, buf, count, datatype, partner, tag, comm) }?;
    let sent = request::wait(outgoing, &mut { Status::EMPTY });
    request::wait(incoming, status)?;
    sent
}

/// `MPI_Iprobe`: the status of the first message that matches.
pub fn iprobe(from: c_int, tag: c_int, comm: Comm) -> Result<Option<Status>, Fault> {
    world::with(|world| {
        if from == MPI_PROC_NULL {
            world.comms.get(comm)?;
            return Ok(Some(Status::PROC_NULL));
        }
        let wanted = wanted(world, from, tag, comm)?;
        world.glance()?;
        let found = look(world, wanted).map_err(Fault::on(comm))?;
        if found.is_none() {
            if forsaken::is_due_once(world) {
                forsaken::check(world, wanted)?;
            }
            world.in_vain()?;
        }
        Ok(found)
    })
}

/// `MPI_Probe`.
pub fn probe(from: c_int, tag: c_int, comm: Comm) -> Result<Status, Fault> {
    world::with(|world| {
        if from == MPI_PROC_NULL {
            world.comms.get(comm)?;
            return Ok(Status::PROC_NULL);
        }
        let wanted = wanted(world, from, tag, comm)?;
        world.until(|world| {
            let found = look(world, wanted).map_err(Fault::on(comm))?;
            if found.is_none() && forsaken::is_due(world.vain) {
                forsaken::check(world, wanted)?;
            }
            Ok(found)
        })
    })
}

fn look(world: &mut World, wanted: Wanted) -> Result<Option<Status>, pombo_kernel::Error> {
    let found = world.kernel.probe(wanted)?;
    Ok(found.map(|envelope| {
        let mut status = Status::EMPTY;
        request::tell(&mut world.comms, &envelope, &mut status);
        status
    }))
}

/// A user's buffer, checked.
///
/// # Safety
/// `buf` holds, or has room for, `count` items of `datatype` for as long as the region is lent.
#[inline(always)]
pub(crate) unsafe fn region(
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
) -> Result<Region, Error> {
    let items = memory::items(count)?;
    let known = datatype::predefined(datatype).ok_or(Error::Handle {
        kind: Kind::Datatype,
        got: datatype.0,
    })?;
    memory::present(buf, items)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { Region::new(buf, items, Shape::of(known)) })
}

/// # Safety
/// As for [`region`], until the request is over.
#[inline(never)]
unsafe fn post_send(
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
    mode: Mode,
) -> Request {
    world::request(|world| {
        let fault = Fault::on(comm);
        let group = world.comms.get(comm)?;
        let tag = check_tag(tag).map_err(&fault)?;
        let Some(node) = partner(group, to).map_err(&fault)? else {
            // Nobody looks at the buffer and its type.
            memory::items(count).map_err(&fault)?;
            return Ok(request::SENT);
        };
        // SAFETY: the caller's promise.
        let region = unsafe { region(buf.cast_mut(), count, datatype) }.map_err(&fault)?;
        let header = Envelope::new(group.context * 2, tag);
        world.count(pombo_kernel::Source::len(&region));
        if mode == Mode::Standard {
            match world.kernel.send_now(node, header, &region) {
                Ok(true) => return Ok(request::SENT),
                Ok(false) => {}
                Err(error) => return Err(Fault::new(error, comm)),
            }
        }
        if let Ok(group) = world.comms.get(comm) {
            group.pending += 1;
        }
        match world.kernel.send_as(mode, node, header, region) {
            Ok(ticket) => Ok(request::handle(ticket)),
            Err(refused) => {
                forget(world, comm);
                Err(Fault::new(refused.error, comm))
            }
        }
    })
}

/// # Safety
/// As for [`region`], until the request is over.
#[inline(never)]
unsafe fn post_receive(
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
) -> Request {
    world::request(|world| {
        let fault = Fault::on(comm);
        let group = world.comms.get(comm)?;
        let wanted = wanted_of(group, from, tag).map_err(&fault)?;
        if from == MPI_PROC_NULL {
            memory::items(count).map_err(&fault)?;
            return Ok(request::RECEIVED_FROM_NOBODY);
        }
        // SAFETY: the caller's promise.
        let region = unsafe { region(buf, count, datatype) }.map_err(&fault)?;
        group.pending += 1;
        match world.kernel.receive_here(wanted, region) {
            Ok(ticket) => Ok(request::handle(ticket)),
            Err(refused) => {
                forget(world, comm);
                Err(Fault::new(refused.error, comm))
            }
        }
    })
}

fn forget(world: &mut World, comm: Comm) {
    if let Ok(group) = world.comms.get(comm) {
        group.pending = group.pending.saturating_sub(1);
    }
}

/// What a receive or a probe asks for.
pub(crate) fn wanted(
    world: &mut World,
    from: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Wanted, Fault> {
    let group = world.comms.get(comm)?;
    wanted_of(group, from, tag).map_err(Fault::on(comm))
}

#[inline]
fn wanted_of(group: &Group, from: c_int, tag: c_int) -> Result<Wanted, Error> {
    let source = match from {
        MPI_ANY_SOURCE => None,
        rank => partner(group, rank)?,
    };
    let tag = match tag {
        MPI_ANY_TAG => None,
        tag => Some(check_tag(tag)?),
    };
    Ok(Wanted::new(group.context * 2, source, tag))
}

/// The node of a partner; none for `MPI_PROC_NULL`.
#[inline]
fn partner(group: &Group, rank: c_int) -> Result<Option<Node>, Error> {
    match rank {
        MPI_PROC_NULL => Ok(None),
        rank => group.node(rank).map(Some),
    }
}

/// The value of `MPI_TAG_UB`.
pub const LARGEST_TAG: c_int = c_int::MAX;

fn check_tag(tag: c_int) -> Result<u32, Error> {
    u32::try_from(tag).map_err(|_| Error::Tag {
        got: tag,
        largest: LARGEST_TAG,
    })
}
