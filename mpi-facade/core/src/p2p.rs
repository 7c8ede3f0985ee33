//! Point-to-point calls: they check arguments, build a header, and call the kernel. Source: MPI 5.0, chapter 3.

use crate::any_source_failure;
use crate::comm::CommRecord;
use crate::constants::*;
use crate::datatype;
use crate::errhandler;
use crate::error::Error;
use crate::explanation;
use crate::kernel::Posted;
use crate::message_header::{MpiHeader, MpiPattern};
use crate::objects::Objects;
use crate::request;
use crate::runtime::world::{self, CommError, World};
use crate::status::Status;
use crate::user_buffer::{Region, UserAddress};
use core::ffi::c_int;
use pombo_kernel::Error::NoCredit;
use pombo_kernel::{Mode, Peer};

/// Sends and waits, as `MPI_Send` and `MPI_Ssend`.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub fn send(
    mode: Mode,
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<(), CommError> {
    if cfg!(not(feature = "fast-paths")) {
        return send_in_turn(buf, count, datatype, to, tag, comm, mode);
    }
    let send = move |world: &mut World, ()| {
        with_room(world, |world| {
            let posted = post_send(world, buf, count, datatype, to, tag, comm, mode);
            posted.begun()?.wait_sent()
        })
    };
    let in_turn = move |()| send_in_turn(buf, count, datatype, to, tag, comm, mode);
    world::with_fast((), send, in_turn)
}

/// Sends as [`send`] does, where the fast path is not open. The arguments have [`post_send`]'s order, so that [`send`]
/// puts them in registers once.
#[cold]
#[inline(never)]
fn send_in_turn(
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
    mode: Mode,
) -> Result<(), CommError> {
    world::with(|world| {
        with_room(world, |world| {
            let posted = post_send(world, buf, count, datatype, to, tag, comm, mode);
            posted.begun()?.wait_sent()
        })
    })
}

/// Calls a function that sends and waits. Without rendezvous a message is refused while its receiver has no room for it:
/// it is sent again when there may be room.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(crate) fn with_room(
    world: &mut World,
    mut send: impl FnMut(&mut World) -> Result<(), CommError>,
) -> Result<(), CommError> {
    match cfg!(feature = "rendezvous") {
        true => send(world),
        false => until_room(world, &mut send),
    }
}

/// Does so; the function is no type parameter, as one instance serves all calls.
fn until_room(
    world: &mut World,
    send: &mut dyn FnMut(&mut World) -> Result<(), CommError>,
) -> Result<(), CommError> {
    world.until(|world| {
        let sent = world.sent;
        match send(world) {
            Err(failure) if matches!(failure.error, Error::Kernel(NoCredit(_))) => {
                world.sent = sent;
                Ok(None)
            }
            over => over.map(Some),
        }
    })
}

/// Starts a send, as `MPI_Isend` and `MPI_Issend`.
#[inline]
pub fn isend(
    mode: Mode,
    buf: UserAddress<'static>,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request, CommError> {
    let post =
        |world: &mut World| post_send(world, buf, count, datatype, to, tag, comm, mode).hand_out();
    match world::with_alone(post) {
        Some(Request::NULL) => Err(refused()),
        Some(request) => Ok(request),
        None => isend_in_turn(mode, buf, count, datatype, to, tag, comm),
    }
}

#[cold]
#[inline(never)]
fn isend_in_turn(
    mode: Mode,
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request, CommError> {
    world::with(|world| {
        let posted = post_send(world, buf, count, datatype, to, tag, comm, mode);
        Ok(posted.begun()?.hand_out())
    })
}

/// Returns why the last post was refused.
#[cold]
#[inline(never)]
fn refused() -> CommError {
    let why = world::with(|world| Ok(world.refused.take()));
    let unsaid = CommError::from(pombo_kernel::Error::UnknownTicket);
    why.map_or_else(|failure| failure, |why| why.unwrap_or(unsaid))
}

/// Receives and waits, as `MPI_Recv`.
#[inline]
pub fn receive(
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
    status: &mut Status,
) -> Result<(), CommError> {
    let side = Side {
        buf,
        count,
        datatype,
        partner: from,
        tag,
    };
    world::with(move |world| receive_in(world, side, comm, status))
}

/// Receives and waits: without a request if the message comes soon and nothing else is under way, and otherwise posted.
#[inline(never)]
fn receive_in(
    world: &mut World,
    side: Side<'_>,
    comm: Comm,
    status: &mut Status,
) -> Result<(), CommError> {
    let Side {
        buf,
        count,
        datatype,
        partner,
        tag,
    } = side;
    let checked = check_receive(world, buf, count, datatype, partner, tag, comm)?;
    let Some((pattern, mut region)) = checked else {
        *status = Status::PROC_NULL;
        return Ok(());
    };
    if !world.makes_progress_outside() {
        let mut received = None;
        let polled = world
            .kernel
            .receive_now(&pattern, &mut region, &mut received);
        polled.map_err(CommError::on(comm))?;
        if let Some(received) = &received {
            return request::end_received(world, received, status);
        }
    }
    Posted::receive(world, pattern, region, comm)
        .begun()?
        .wait(status)
}

/// Starts a receive, as `MPI_Irecv`.
#[inline]
pub fn ireceive(
    buf: UserAddress<'static>,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request, CommError> {
    let post =
        |world: &mut World| post_here(world, buf, count, datatype, from, tag, comm).hand_out();
    match world::with_alone(post) {
        Some(Request::NULL) => Err(refused()),
        Some(request) => Ok(request),
        None => ireceive_in_turn(buf, count, datatype, from, tag, comm),
    }
}

#[cold]
#[inline(never)]
fn ireceive_in_turn(
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request, CommError> {
    world::with(|world| {
        let posted = post_receive(world, buf, count, datatype, from, tag, comm);
        Ok(posted.begun()?.hand_out())
    })
}

/// One side of an exchange: memory, partner and tag.
#[derive(Clone, Copy, Debug)]
pub struct Side<'m> {
    /// Address of the items.
    pub buf: UserAddress<'m>,
    /// Number of items.
    pub count: i64,
    /// The datatype of each item.
    pub datatype: Datatype,
    /// The rank of the destination or the source.
    pub partner: c_int,
    /// The tag.
    pub tag: c_int,
}

/// Sends and receives, as `MPI_Sendrecv`.
pub fn exchange(
    send: Side<'_>,
    receive: Side<'_>,
    comm: Comm,
    status: &mut Status,
) -> Result<(), CommError> {
    world::with(move |world| {
        let (from, into) = (receive.partner, receive.tag);
        let Side {
            buf,
            count,
            datatype,
            ..
        } = receive;
        // The receive is checked before anything is sent.
        check_receive(world, buf, count, datatype, from, into, comm)?;
        let (to, tag, mode) = (send.partner, send.tag, Mode::Standard);
        with_room(world, |world| {
            let outgoing = post_send(
                world,
                send.buf,
                send.count,
                send.datatype,
                to,
                tag,
                comm,
                mode,
            );
            receive_beside(outgoing.begun()?, receive, comm, status)
        })
    })
}

/// Receives while a send is under way, and waits for both.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(crate) fn receive_beside(
    mut outgoing: Posted<'_>,
    receive: Side<'_>,
    comm: Comm,
    status: &mut Status,
) -> Result<(), CommError> {
    match receive_in(outgoing.world(), receive, comm, status) {
        // The error of this receive does not concern the receiver of the send, so the send completes first.
        Err(failure) if is_own(outgoing.world(), &failure) => {
            outgoing.wait_sent()?;
            Err(failure)
        }
        Err(failure) => Err(failure),
        Ok(()) => outgoing.wait_sent(),
    }
}

/// Returns whether a receive has failed because of its own buffer and the program continues.
#[cold]
fn is_own(world: &mut World, failure: &CommError) -> bool {
    matches!(failure.error, Error::Truncated { .. }) && !errhandler::is_fatal(world, failure)
}

/// Returns the status of the first message that matches, as `MPI_Iprobe`.
pub fn iprobe(from: c_int, tag: c_int, comm: Comm) -> Result<Option<Status>, CommError> {
    world::with(move |world| match pattern(world, from, tag, comm)? {
        Some(pattern) => world.probe_for(pattern, |world| look(world, pattern, comm)),
        None => Ok(Some(Status::PROC_NULL)),
    })
}

/// Waits for a message and returns its status, as `MPI_Probe`.
pub fn probe(from: c_int, tag: c_int, comm: Comm) -> Result<Status, CommError> {
    world::with(move |world| match pattern(world, from, tag, comm)? {
        Some(pattern) => wait_for(world, pattern, |world| look(world, pattern, comm)),
        None => Ok(Status::PROC_NULL),
    })
}

/// Waits for a message with the pattern, until no rank is left that could send it.
pub(crate) fn wait_for<R>(
    world: &mut World,
    pattern: MpiPattern,
    mut look: impl FnMut(&mut World) -> Result<Option<R>, CommError>,
) -> Result<R, CommError> {
    world.until(|world| {
        let found = look(world)?;
        if found.is_none() && any_source_failure::is_due(world.idle_counts.waiting) {
            any_source_failure::check(world, pattern)?;
            let idle = world.idle_counts.waiting;
            explanation::attend(world, idle, |world| {
                explanation::add_probe(world, pattern);
            });
        }
        Ok(found)
    })
}

fn look(world: &mut World, pattern: MpiPattern, comm: Comm) -> Result<Option<Status>, CommError> {
    let found = world.kernel.probe(pattern).map_err(CommError::on(comm))?;
    Ok(found.map(|envelope| {
        let mut status = Status::EMPTY;
        request::write_source(&mut world.objects.comms, &envelope, &mut status);
        status
    }))
}

#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "the standard's")]
pub(crate) fn post_send<'w>(
    world: &'w mut World,
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
    mode: Mode,
) -> Posted<'w> {
    match check_send(world, buf, count, datatype, to, tag, comm) {
        Ok(Some(message)) => post_message(world, message, comm, mode),
        Ok(None) => Posted::over(world, request::SENT),
        Err(failure) => Posted::refuse(world, failure),
    }
}

/// A checked send: destination, header and data.
pub(crate) type CheckedSend = (Peer, MpiHeader, Region);

/// Posts a checked send, for calls that have checked it earlier.
#[inline(never)]
pub(crate) fn post_checked_send(
    world: &mut World,
    message: CheckedSend,
    comm: Comm,
    mode: Mode,
) -> Posted<'_> {
    post_message(world, message, comm, mode)
}

#[cfg_attr(feature = "fast-paths", inline(always))]
fn post_message<'w>(
    world: &'w mut World,
    (peer, header, region): CheckedSend,
    comm: Comm,
    mode: Mode,
) -> Posted<'w> {
    world.count(pombo_kernel::Source::len(&region));
    // Alone, the usual way sends as well, but later.
    if cfg!(feature = "fast-paths") && mode == Mode::Standard {
        let now = match world.kernel.send_now(peer, header, &region) {
            Ok(false) => world.kernel.send_copy_behind(peer, header, &region),
            now => now,
        };
        match now {
            Ok(true) => return Posted::over(world, request::SENT),
            Ok(false) => {}
            Err(error) => return Posted::refuse(world, CommError::new(error, comm)),
        }
    }
    Posted::send(world, mode, peer, header, region, comm)
}

/// Returns a send's data and destination; `None` to `MPI_PROC_NULL`.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(crate) fn check_send(
    world: &mut World,
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Option<CheckedSend>, CommError> {
    let failure = CommError::on(comm);
    let Objects {
        comms, datatypes, ..
    } = &mut world.objects;
    let record = comms.get(comm)?;
    let tag = check_tag(tag).map_err(&failure)?;
    let Some(peer) = partner(record, to).map_err(&failure)? else {
        // For `MPI_PROC_NULL` the buffer and its datatype are not checked.
        datatype::items(count).map_err(&failure)?;
        return Ok(None);
    };
    let region = buf.checked(datatypes, count, datatype).map_err(&failure)?;
    Ok(Some((
        peer,
        MpiHeader::new(record.context * 2, tag),
        region,
    )))
}

#[inline(never)]
pub(crate) fn post_receive<'w>(
    world: &'w mut World,
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
) -> Posted<'w> {
    match check_receive(world, buf, count, datatype, from, tag, comm) {
        Ok(None) => Posted::over(world, request::RECEIVED_FROM_NOBODY),
        Ok(Some((pattern, region))) => Posted::receive(world, pattern, region, comm),
        Err(failure) => Posted::refuse(world, failure),
    }
}

/// Posts a receive as [`post_receive`] does, inlined into calls of which programs make many in a row: what is neither
/// refused nor unusual takes few instructions.
#[cfg_attr(feature = "fast-paths", inline(always))]
fn post_here<'w>(
    world: &'w mut World,
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
) -> Posted<'w> {
    let usual = world.objects.comms.get(comm).ok().and_then(|record| {
        let pattern = pattern_of(record, from, tag).ok()?;
        let region = buf.checked_dense(count, datatype)?;
        (from != MPI_PROC_NULL).then(|| {
            record.pending += 1;
            (pattern, region)
        })
    });
    match usual {
        Some((pattern, region)) => Posted::receive_counted(world, pattern, region, comm),
        None => post_receive(world, buf, count, datatype, from, tag, comm),
    }
}

/// Returns a receive's pattern and buffer; `None` from `MPI_PROC_NULL`.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(crate) fn check_receive(
    world: &mut World,
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Option<(MpiPattern, Region)>, CommError> {
    let failure = CommError::on(comm);
    let Objects {
        comms, datatypes, ..
    } = &mut world.objects;
    let pattern = pattern_of(comms.get(comm)?, from, tag).map_err(&failure)?;
    if from == MPI_PROC_NULL {
        datatype::items(count).map_err(&failure)?;
        return Ok(None);
    }
    let region = buf.checked(datatypes, count, datatype).map_err(&failure)?;
    Ok(Some((pattern, region)))
}

/// Returns a probe's pattern; `None` from `MPI_PROC_NULL`.
pub(crate) fn pattern(
    world: &mut World,
    from: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Option<MpiPattern>, CommError> {
    let record = world.objects.comms.get(comm)?;
    if from == MPI_PROC_NULL {
        return Ok(None);
    }
    let pattern = pattern_of(record, from, tag).map_err(CommError::on(comm))?;
    Ok(Some(pattern))
}

#[inline]
fn pattern_of(record: &CommRecord, from: c_int, tag: c_int) -> Result<MpiPattern, Error> {
    let source = match from {
        MPI_ANY_SOURCE => None,
        rank => partner(record, rank)?,
    };
    let tag = match tag {
        MPI_ANY_TAG => None,
        tag => Some(check_tag(tag)?),
    };
    Ok(MpiPattern::new(record.context * 2, source, tag))
}

/// Returns the peer of a partner; `None` for `MPI_PROC_NULL`.
#[inline]
fn partner(record: &CommRecord, rank: c_int) -> Result<Option<Peer>, Error> {
    match rank {
        MPI_PROC_NULL => Ok(None),
        rank => record.peer(rank).map(Some),
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
