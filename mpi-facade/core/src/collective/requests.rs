//! Non-blocking collective operations under way, and their requests.

use super::multicast_bcast::take_ended;
use super::operation::Operation;
use super::scratch::Pool;
use crate::constants::Request;
use crate::error::{Error, Kind};
use crate::request::{Activity, RequestKind, RequestState};
use crate::runtime::world::{CommError, RequestOps, World};
use crate::status::Status;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem::replace;
use static_assertions::const_assert;

/// The table of operations under way. Memory and [`SLOTS`] bound it.
#[derive(Default)]
struct ActiveOperations {
    slots: Vec<Slot>,
    /// Slots without an operation.
    free: Vec<u32>,
    /// Slots whose operations are due to be polled, in order; some may be over meanwhile.
    queue: VecDeque<u32>,
    /// Number of operations in the queue that were not polled since the last message.
    unpolled: usize,
    /// Whether the world calls [`progress`].
    registered: bool,
}

/// Returns this world's table.
fn active_operations(world: &mut World) -> &mut ActiveOperations {
    world.objects.extensions.get()
}

/// Makes the world call [`progress`] from now on.
fn register(world: &mut World) {
    if !replace(&mut active_operations(world).registered, true) {
        world.register(progress);
    }
}

/// The functions of a collective request.
static REQUEST_OPS: RequestOps = RequestOps {
    start: None,
    is_inactive: None,
    activity,
    test,
    peek,
    recover_stalled: fail_if_peer_lost,
    // The standard allows neither for collective operations (MPI 5.0, section 6.12).
    cancel: |_, request| Err(unknown(request)),
    free: |_, request| Err(unknown(request)),
};

struct Slot {
    generation: usize,
    /// Whether the slot is in the queue.
    queued: bool,
    state: State,
}

enum State {
    Free,
    /// The operation is taken out while it is polled.
    Busy,
    Active(Box<Operation>),
    Over(Option<CommError>),
}

/// Most operations under way at a time.
const SLOTS: usize = 0x10_0000;
/// Operations polled between two calls of the kernel's progress: this bounds the cost of one round, however many there
/// are.
const POLLS_AT_ONCE: usize = 16;
const GENERATIONS: usize = 1 << 11;

const FIRST: usize = RequestKind::Collective.first();
const_assert!(FIRST + SLOTS * GENERATIONS <= RequestKind::Persistent.first());

fn split(request: Request) -> (usize, usize) {
    let bits = request.0.wrapping_sub(FIRST);
    (bits % SLOTS, bits / SLOTS)
}

/// Starts an operation.
pub(super) fn start(world: &mut World, operation: Box<Operation>) -> Result<Request, CommError> {
    let (comm, place) = (operation.comm(), operation.index());
    let ActiveOperations {
        slots, free, queue, ..
    } = active_operations(world);
    if free.is_empty() && slots.len() < SLOTS {
        free.push(slots.len() as u32);
        slots.push(Slot {
            generation: 0,
            queued: false,
            state: State::Free,
        });
    }
    let Some(index) = free.pop() else {
        return Err(CommError::new(pombo_kernel::Error::Full, comm));
    };
    let slot = &mut slots[index as usize];
    slot.generation = (slot.generation + 1) % GENERATIONS;
    let request = Request(FIRST + index as usize + slot.generation * SLOTS);
    slot.state = State::Active(operation);
    if !replace(&mut slot.queued, true) {
        queue.push_back(index);
    }
    if let Some(record) = world.objects.comms.at(place) {
        record.pending += 1;
    }
    world.set_request_ops(RequestKind::Collective, &REQUEST_OPS);
    register(world);
    poll(world, index as usize);
    Ok(request)
}

/// Progresses all operations as far as possible: see [`World::register`].
fn progress(world: &mut World, idle: &mut u32, came: bool) -> bool {
    if !active_operations(world).queue.is_empty() {
        poll_some(world, idle, came);
    }
    let active_operations = active_operations(world);
    active_operations.registered = !active_operations.queue.is_empty();
    active_operations.registered
}

/// Polls the operations that have waited longest. The rank must not sleep while one is due.
#[cold]
fn poll_some(world: &mut World, idle: &mut u32, came: bool) {
    let all = active_operations(world);
    if came {
        all.unpolled = all.queue.len();
    }
    for _ in 0..POLLS_AT_ONCE {
        // A failing operation waits for the messages that it takes back, and the other operations are polled meanwhile.
        let all = active_operations(world);
        let Some(unpolled) = all.unpolled.checked_sub(1) else {
            break;
        };
        all.unpolled = unpolled;
        let Some(index) = all.queue.pop_front() else {
            break;
        };
        poll(world, index as usize);
        let ActiveOperations { slots, queue, .. } = active_operations(world);
        let slot = &mut slots[index as usize];
        slot.queued = matches!(slot.state, State::Active(_));
        if slot.queued {
            queue.push_back(index);
        }
    }
    if take_ended(world) {
        let all = active_operations(world);
        all.unpolled = all.queue.len();
        *idle = 0;
    } else if active_operations(world).unpolled > 0 {
        *idle = 1.min(*idle);
    }
}

fn poll(world: &mut World, index: usize) {
    advance(world, index, Operation::poll);
}

/// Ends a waiting operation that has lost one of its ranks.
#[cold]
fn fail_if_peer_lost(world: &mut World, request: Request) {
    let (index, generation) = split(request);
    let slot = active_operations(world).slots.get(index);
    if slot.is_some_and(|slot| slot.generation == generation) {
        advance(world, index, |operation, world| {
            operation.explain(world);
            operation.fail_if_peer_lost(world)
        });
    }
}

fn advance(
    world: &mut World,
    index: usize,
    step: fn(&mut Operation, &mut World) -> Result<bool, CommError>,
) {
    let slot = &mut active_operations(world).slots[index];
    if !matches!(slot.state, State::Active(_)) {
        return;
    }
    let State::Active(mut operation) = replace(&mut slot.state, State::Busy) else {
        return;
    };
    let polled = step(&mut operation, world);
    let state = match polled {
        Ok(false) => State::Active(operation),
        Ok(true) | Err(_) => {
            let failed = polled
                .err()
                .map(|failure| world.objects.comms.noted(failure));
            world.objects.comms.settled(operation.context());
            world
                .objects
                .extensions
                .get::<Pool>()
                .give(operation.into_scratch());
            State::Over(failed)
        }
    };
    active_operations(world).slots[index].state = state;
}

/// Tests whether an operation is over, which frees the handle.
#[cold]
fn test(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    let (index, generation) = split(request);
    let slot = active_operations(world).slots.get(index);
    // The operation need not wait for its turn in the queue.
    if slot.is_some_and(|slot| slot.generation == generation) {
        poll(world, index);
    }
    let standing = peek(world, request, status)?;
    if !matches!(standing, RequestState::Pending) {
        active_operations(world).slots[index].state = State::Free;
        active_operations(world).free.push(index as u32);
    }
    Ok(standing)
}

/// Tests whether an operation is over, and keeps the handle.
#[cold]
fn peek(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    let (index, generation) = split(request);
    let slot = active_operations(world).slots.get(index);
    *status = Status::SENT;
    match slot.filter(|slot| slot.generation == generation) {
        None
        | Some(Slot {
            state: State::Free, ..
        }) => Err(unknown(request)),
        Some(Slot {
            state: State::Over(failure),
            ..
        }) => Ok(failure
            .clone()
            .map_or(RequestState::Complete, RequestState::Failed)),
        Some(_) => Ok(RequestState::Pending),
    }
}

/// Returns what an operation is doing.
#[cold]
fn activity(world: &mut World, request: Request) -> Result<Activity, CommError> {
    Ok(match peek(world, request, &mut { Status::EMPTY })? {
        RequestState::Pending => Activity::Pending,
        _ => Activity::Over,
    })
}

#[cold]
fn unknown(request: Request) -> CommError {
    Error::Handle {
        kind: Kind::Request,
        got: request.0,
    }
    .into()
}
