//! Persistent requests: the arguments are checked once, and each start posts the operation that they describe. Source:
//! MPI 5.0, sections 3.9 and 6.13.
//!
//! A request of a point-to-point operation refers to its communicator as an operation under way does: it can be started
//! after `MPI_Comm_free`.

use crate::buffered;
use crate::constants::*;
use crate::error::{Class, Error, Kind};
use crate::kernel::Posted;
use crate::message_header::MpiPattern;
use crate::objects::Objects;
use crate::p2p::{self, CheckedSend};
use crate::request::{self, Activity, RequestKind, RequestSlots, RequestState, test_one};
use crate::request_some::cancel_one;
use crate::request_status::free_later;
use crate::runtime::world::{self, CommError, RequestOps, World};
use crate::stall_recovery;
use crate::status::Status;
use crate::user_buffer::{Region, UserAddress};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ffi::c_int;
use pombo_kernel::Mode;

/// A persistent request.
struct Persistent {
    operation: Operation,
    comm: Comm,
    /// The context of its messages.
    context: u32,
    /// The request of the operation under way; null while there is none.
    active: Request,
}

/// What a start posts.
#[derive(Clone)]
enum Operation {
    /// An operation with `MPI_PROC_NULL`, which is complete at once.
    Nothing(Request),
    Send(Mode, CheckedSend),
    BufferedSend(CheckedSend),
    Receive(MpiPattern, Region),
    /// A collective operation: what starts it, and handles that it keeps.
    Collective(Start, Rc<Kept>),
}

/// What starts an operation and returns its request.
pub(crate) type Start = Rc<dyn Fn(&mut World) -> Result<Request, CommError>>;

/// Handles of its own that a persistent request keeps, as the program may free its handles before it frees the request.
#[derive(Debug, Default)]
pub struct Kept {
    datatypes: Vec<Datatype>,
    operations: Vec<Op>,
}

impl Kept {
    /// Returns a handle of a datatype that lasts as long as the request. What names no datatype stays as it is, as
    /// calls ignore some of their arguments, beside `MPI_IN_PLACE` for example.
    pub fn datatype(&mut self, datatype: Datatype) -> Result<Datatype, CommError> {
        world::local(|Objects { datatypes, .. }| {
            let kept = datatypes.keep(datatype).unwrap_or(datatype);
            self.datatypes.extend((kept != datatype).then_some(kept));
            Ok(kept)
        })
    }

    /// Returns a handle of an operation that lasts as long as the request.
    pub fn operation(&mut self, op: Op) -> Result<Op, CommError> {
        world::local(|Objects { operations, .. }| {
            let kept = operations.keep(op);
            self.operations.extend((kept != op).then_some(kept));
            Ok(kept)
        })
    }

    /// Removes the handles.
    pub(crate) fn free(&self, objects: &mut Objects) {
        for &datatype in &self.datatypes {
            objects.datatypes.remove(datatype);
        }
        for &op in &self.operations {
            objects.operations.remove(op);
        }
    }
}

/// The mode of a persistent send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PersistentMode {
    /// That of `MPI_Send_init`, `MPI_Rsend_init` and `MPI_Ssend_init`.
    Plain(Mode),
    /// That of `MPI_Bsend_init`.
    Buffered,
}

/// The functions of a persistent request.
static REQUEST_OPS: RequestOps = RequestOps {
    start: Some(start_one),
    is_inactive: Some(is_inactive),
    activity,
    test,
    peek,
    recover_stalled,
    cancel,
    free,
};

/// Makes a request for sends, as `MPI_Send_init` and its like.
pub fn send(
    mode: PersistentMode,
    buf: UserAddress<'static>,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request, CommError> {
    world::with(|world| {
        let message = p2p::check_send(world, buf, count, datatype, to, tag, comm)?;
        let operation = match (message, mode) {
            (None, _) => Operation::Nothing(request::SENT),
            (Some(message), PersistentMode::Plain(mode)) => Operation::Send(mode, message),
            (Some(message), PersistentMode::Buffered) => Operation::BufferedSend(message),
        };
        add(world, operation, comm)
    })
}

/// Makes a request for receives, as `MPI_Recv_init`.
pub fn receive(
    buf: UserAddress<'static>,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request, CommError> {
    world::with(|world| {
        let message = p2p::check_receive(world, buf, count, datatype, from, tag, comm)?;
        let operation = match message {
            None => Operation::Nothing(request::RECEIVED_FROM_NOBODY),
            Some((pattern, into)) => Operation::Receive(pattern, into),
        };
        add(world, operation, comm)
    })
}

/// Makes a request for collective operations.
pub(crate) fn collective(
    world: &mut World,
    start: Start,
    kept: Kept,
    comm: Comm,
) -> Result<Request, CommError> {
    add(world, Operation::Collective(start, Rc::new(kept)), comm)
}

fn add(world: &mut World, operation: Operation, comm: Comm) -> Result<Request, CommError> {
    let context = 2 * world.objects.comms.get(comm)?.context;
    let persistent = Persistent {
        operation,
        comm,
        context,
        active: Request::NULL,
    };
    let added = slots(world).insert(RequestKind::Persistent, persistent);
    let request = added.map_err(CommError::on(comm))?;
    world.objects.comms.get(comm)?.pending += 1;
    world.set_request_ops(RequestKind::Persistent, &REQUEST_OPS);
    Ok(request)
}

/// Starts inactive persistent requests of any kind, as `MPI_Start` and `MPI_Startall`: none of them if one cannot be.
pub fn start(requests: &[Request]) -> Result<(), CommError> {
    world::with(|world| {
        for &request in requests {
            check_start(world, request)?;
        }
        for &request in requests {
            if let Some(start) = world.request_ops(request).and_then(|ops| ops.start) {
                start(world, request)?;
            }
        }
        Ok(())
    })
}

fn check_start(world: &mut World, request: Request) -> Result<(), CommError> {
    let ops = world.request_ops(request);
    let Some(ops) = ops.filter(|ops| ops.start.is_some()) else {
        return Err(match request::is_pending(world, request) {
            Ok(_) if request != Request::NULL => refused("a persistent one").into(),
            _ => Error::Handle {
                kind: Kind::Request,
                got: request.0,
            }
            .into(),
        });
    };
    match (ops.activity)(world, request)? {
        Activity::Inactive => Ok(()),
        _ => Err(refused("inactive: complete it before it is started again").into()),
    }
}

fn start_one(world: &mut World, request: Request) -> Result<(), CommError> {
    let persistent = slots(world).get(request)?;
    let Persistent {
        comm,
        context,
        active,
        ..
    } = *persistent;
    let operation = persistent.operation.clone();
    // `MPI_Startall` may name a request twice.
    if active != Request::NULL {
        return Err(refused("inactive: it is started twice").into());
    }
    let posted = match operation {
        Operation::Nothing(over) => Posted::over(world, over),
        Operation::Send(mode, message) => p2p::post_checked_send(world, message, comm, mode),
        Operation::BufferedSend(message) => {
            buffered::post(world, message, comm)?;
            Posted::over(world, request::SENT)
        }
        Operation::Receive(pattern, into) => Posted::receive(world, pattern, into, comm),
        Operation::Collective(start, _) => {
            let active = start(world)?;
            slots(world).get(request)?.active = active;
            return Ok(());
        }
    };
    let active = posted.begun()?.hand_out();
    let comms = &mut world.objects.comms;
    // The handle of a freed communicator names nothing, so the operation was not counted there.
    if request::ticket(active).is_some()
        && comms.get(comm).is_err()
        && let Some((_, record)) = comms.of_context(context)
    {
        record.pending += 1;
    }
    slots(world).get(request)?.active = active;
    Ok(())
}

#[cold]
fn activity(world: &mut World, request: Request) -> Result<Activity, CommError> {
    let active = slots(world).get(request)?.active;
    Ok(match active {
        Request::NULL => Activity::Inactive,
        active if request::is_pending(world, active)? => Activity::Pending,
        _ => Activity::Over,
    })
}

/// Returns whether there is no operation under way: of many requests, most may be inactive.
#[cold]
fn is_inactive(world: &mut World, request: Request) -> bool {
    let persistent = slots(world).get(request);
    persistent.is_ok_and(|it| it.active == Request::NULL)
}

/// Tests the operation under way; the request is inactive when it is over. An inactive one is complete, with an empty
/// status, as the null request is.
#[cold]
fn test(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    let mut active = slots(world).get(request)?.active;
    let was = active;
    let standing = test_one(world, &mut active, status);
    // Most looks of a wait find nothing.
    if active != was {
        slots(world).get(request)?.active = active;
    }
    standing
}

#[cold]
fn peek(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    let active = slots(world).get(request)?.active;
    request::peek(world, active, status)
}

#[cold]
fn recover_stalled(world: &mut World, request: Request) {
    if let Ok(&mut Persistent { active, .. }) = slots(world).get(request) {
        stall_recovery::check(world, &[active]);
    }
}

/// Cancels the operation under way.
#[cold]
fn cancel(world: &mut World, request: Request) -> Result<(), CommError> {
    match slots(world).get(request)?.active {
        Request::NULL => Err(refused("active, as only an operation can be cancelled").into()),
        active => cancel_one(world, active),
    }
}

/// Frees the request; its operation under way continues.
#[cold]
fn free(world: &mut World, request: Request) -> Result<(), CommError> {
    let Persistent {
        operation,
        active,
        context,
        ..
    } = slots(world).remove(request)?;
    world.objects.comms.settled(context);
    if let Operation::Collective(_, kept) = operation {
        kept.free(&mut world.objects);
    }
    match active {
        Request::NULL => Ok(()),
        active => free_later(world, active),
    }
}

fn slots(world: &mut World) -> &mut RequestSlots<Persistent> {
    world.objects.extensions.get()
}

fn refused(must: &'static str) -> Error {
    Error::Argument {
        class: Class::Request,
        name: "request",
        must,
    }
}
