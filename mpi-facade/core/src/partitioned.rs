//! Partitioned point-to-point requests: a message whose parts become ready, and arrive, one by one. Source: MPI 5.0,
//! section 4.2.
//!
//! Both sides meet when their requests are made: the sender tells how it divides the data and which tags its partitions
//! have, in a context where the receivers of one communicator, source and tag are served in order. Each partition of the
//! sender is then a message of its own, at each start, whatever the partitions of the receiver.

mod endpoint;
mod meeting;

use crate::constants::*;
use crate::datatype;
use crate::error::{Class, Error, Kind};
use crate::p2p;
use crate::request::{Activity, RequestKind, RequestSlots, RequestState};
use crate::request_status::free_later;
use crate::runtime::world::{self, CommError, RequestOps, World};
use crate::stall_recovery;
use crate::status::Status;
use crate::user_buffer::UserAddress;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use endpoint::{Buffer, Endpoint, Side};
use meeting::Meeting;

/// The functions of a partitioned request.
static REQUEST_OPS: RequestOps = RequestOps {
    start: Some(start),
    is_inactive: Some(is_inactive),
    activity,
    test,
    peek,
    recover_stalled,
    cancel: |world, request| {
        let error = refused(
            "request",
            "of another kind: partitioned ones cannot be cancelled",
        );
        with(world, request, |_, endpoint| Err(endpoint.failure(error)))
    },
    free,
};

/// The requests; each is taken out while a call works on it.
#[derive(Default)]
struct Requests {
    slots: RequestSlots<Option<Box<Endpoint>>>,
    /// Those that are started and have not met their senders.
    unmet: Vec<Request>,
}

/// The data of one side, divided into partitions of equal sizes.
#[derive(Clone, Copy, Debug)]
pub struct Partitions {
    /// Address of the items.
    pub buf: UserAddress<'static>,
    /// Into how many the data is divided; it may be 0.
    pub partitions: c_int,
    /// Number of items of each.
    pub count: i64,
    /// The datatype of each item.
    pub datatype: Datatype,
}

/// Makes a request for sends, as `MPI_Psend_init`.
pub fn send(data: Partitions, to: c_int, tag: c_int, comm: Comm) -> Result<Request, CommError> {
    world::with(|world| add(world, Side::Send, data, to, tag, comm))
}

/// Makes a request for receives, as `MPI_Precv_init`: neither source nor tag may be any.
pub fn receive(
    data: Partitions,
    from: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request, CommError> {
    world::with(|world| add(world, Side::Receive, data, from, tag, comm))
}

fn add(
    world: &mut World,
    side: Side,
    data: Partitions,
    partner: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request, CommError> {
    let failure = CommError::on(comm);
    let wrong = refused("partitions", "0 or more");
    let partitions = usize::try_from(data.partitions).map_err(|_| failure(wrong))?;
    let items = datatype::items(data.count).map_err(&failure)?;
    let all = datatype::times(items, partitions).map_err(&failure)? as i64;
    let message = p2p::check_send(world, data.buf, all, data.datatype, partner, tag, comm)?;
    let context = 2 * world.objects.comms.get(comm)?.context;
    let buffer = match &message {
        None => Buffer::nothing(partitions),
        Some((.., region)) => {
            let shape = world.objects.datatypes.shape(data.datatype);
            let (region, shape) = (region.clone(), shape.map_err(&failure)?);
            Buffer::new(side, region, shape, items, partitions).map_err(&failure)?
        }
    };
    if !requests(world).slots.has_room() {
        return Err(failure(pombo_kernel::Error::Full.into()));
    }
    let meeting = match message {
        None => Meeting::with_nobody(),
        Some((peer, header, _)) => {
            let met = match side {
                Side::Send => Meeting::offer(world, peer, header, partitions, buffer.bytes()),
                Side::Receive => Meeting::await_offer(world, peer, header),
            };
            met.map_err(|refused| failure(refused.error))?
        }
    };
    world.objects.comms.get(comm)?.pending += 1;
    let endpoint = Endpoint::new(side, buffer, meeting, (partner, tag), (comm, context));
    world.set_request_ops(RequestKind::Partitioned, &REQUEST_OPS);
    let added = requests(world)
        .slots
        .insert(RequestKind::Partitioned, Some(Box::new(endpoint)));
    added.map_err(failure)
}

/// Says that partitions of an active send are ready, as `MPI_Pready` and its like.
pub fn ready(request: Request, partitions: &[c_int]) -> Result<(), CommError> {
    world::with(|world| {
        with(world, request, |world, endpoint| {
            endpoint.check_ready(partitions)?;
            for &partition in partitions {
                endpoint.send(world, partition as usize);
            }
            Ok(())
        })
    })
}

/// Says that the partitions from `low` to `high` are ready, as `MPI_Pready_range`.
pub fn ready_range(request: Request, low: c_int, high: c_int) -> Result<(), CommError> {
    if low > high {
        return Err(refused("partition_low", "at most partition_high").into());
    }
    world::with(|world| {
        with(world, request, |world, endpoint| {
            // Only the ends can be wrong by themselves; what lies between may be ready already.
            endpoint.check_ready(&[low, high][..1 + usize::from(low < high)])?;
            let all: Vec<c_int> = (low..=high).collect();
            endpoint.check_ready(&all)?;
            for partition in all {
                endpoint.send(world, partition as usize);
            }
            Ok(())
        })
    })
}

/// Returns whether a partition of a receive has arrived, as `MPI_Parrived`; of an inactive one all have.
pub fn has_arrived(request: Request, partition: c_int) -> Result<bool, CommError> {
    world::with(|world| {
        world.make_progress()?;
        let arrived = with(world, request, |world, endpoint| {
            endpoint.poll(world)?;
            endpoint.has_arrived(partition)
        })?;
        if !arrived {
            world.test_backoff()?;
        }
        Ok(arrived)
    })
}

#[cold]
fn start(world: &mut World, request: Request) -> Result<(), CommError> {
    let is_met = with(world, request, |world, endpoint| endpoint.start(world))?;
    if !is_met {
        let unmet = &mut requests(world).unmet;
        unmet.push(request);
        if unmet.len() == 1 {
            world.register(progress);
        }
    }
    Ok(())
}

/// Posts the receives of requests whose senders have come, also while the program waits for something else: the sender
/// may have to wait for the receives.
fn progress(world: &mut World, _: &mut u32, _: bool) -> bool {
    let mut unmet = core::mem::take(&mut requests(world).unmet);
    unmet.retain(|request| {
        let met = with(world, *request, |world, endpoint| {
            endpoint.poll(world)?;
            Ok(endpoint.is_met())
        });
        // What fails is over, and its own call reports it; what is freed is unknown.
        matches!(met, Ok(false))
    });
    requests(world).unmet = unmet;
    !requests(world).unmet.is_empty()
}

#[cold]
fn activity(world: &mut World, request: Request) -> Result<Activity, CommError> {
    with(world, request, |world, endpoint| endpoint.poll(world))
}

#[cold]
fn is_inactive(world: &mut World, request: Request) -> bool {
    activity(world, request).is_ok_and(|activity| matches!(activity, Activity::Inactive))
}

#[cold]
fn peek(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    with(world, request, |world, endpoint| {
        Ok(match endpoint.poll(world)? {
            Activity::Pending => RequestState::Pending,
            Activity::Inactive => {
                *status = Status::EMPTY;
                RequestState::Complete
            }
            Activity::Over => endpoint.result(status),
        })
    })
}

#[cold]
fn test(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    let state = peek(world, request, status)?;
    if !matches!(state, RequestState::Pending) {
        with(world, request, |world, endpoint| {
            endpoint.end(world);
            Ok(())
        })?;
    }
    Ok(state)
}

#[cold]
fn recover_stalled(world: &mut World, request: Request) {
    // An unknown request waits for nothing.
    let _ = with(world, request, |world, endpoint| {
        stall_recovery::check(world, &endpoint.under_way());
        Ok(())
    });
}

/// Frees the request; what is under way continues.
#[cold]
fn free(world: &mut World, request: Request) -> Result<(), CommError> {
    let known = requests(world).slots.remove(request)?;
    requests(world).unmet.retain(|unmet| *unmet != request);
    let Some(endpoint) = known else {
        return Ok(());
    };
    world.objects.comms.settled(endpoint.context());
    for operation in endpoint.take_apart(world) {
        free_later(world, operation)?;
    }
    Ok(())
}

/// Calls a function with a request's endpoint, which is taken out of the table meanwhile.
fn with<R>(
    world: &mut World,
    request: Request,
    call: impl FnOnce(&mut World, &mut Endpoint) -> Result<R, CommError>,
) -> Result<R, CommError> {
    let (kind, got) = (Kind::Request, request.0);
    if RequestKind::of(request) != Some(RequestKind::Partitioned) {
        return Err(match request {
            Request::NULL => Error::Handle { kind, got },
            _ => refused("request", "what MPI_Psend_init or MPI_Precv_init made"),
        }
        .into());
    }
    let taken = requests(world).slots.get(request)?.take();
    let mut endpoint = taken.ok_or(Error::Handle { kind, got })?;
    endpoint.refresh_handler(&mut world.objects.comms);
    let result = call(world, &mut endpoint);
    *requests(world).slots.get(request)? = Some(endpoint);
    result
}

fn requests(world: &mut World) -> &mut Requests {
    world.objects.extensions.get()
}

/// Returns the error of a wrong request or partition.
const fn refused(name: &'static str, must: &'static str) -> Error {
    let class = match name.as_bytes() {
        b"request" => Class::Request,
        _ => Class::Arg,
    };
    Error::Argument { class, name, must }
}
