//! Collective operations under way without a call that waits for them.

use super::Choices;
use super::cast::{self, Casting};
use super::prepared::Operation;
use super::scratch::Pool;
use crate::constants::{FIRST_OWN_HANDLE, Request};
use crate::error::{Error, Kind};
use crate::request::Standing;
use crate::status::Status;
use crate::world::{Fault, World};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem::replace;

/// The table of operations under way. Its bound is memory and [`SLOTS`].
pub(crate) struct Ongoing {
    /// How algorithms are chosen.
    pub(super) choices: Choices,
    /// Memory for the next ones.
    pub(super) pool: Pool,
    /// Broadcasts over the network's own.
    pub(crate) casts: Casting,
    slots: Vec<Slot>,
    /// Slots without an operation.
    free: Vec<u32>,
    /// Slots whose operations take turns, the next one first; some are over meanwhile.
    turns: VecDeque<u32>,
    /// Of those, so many have not had one since something came.
    due: usize,
}

impl Ongoing {
    /// None. Reads from the environment how algorithms are chosen.
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Ongoing {
            choices: Choices::read()?,
            pool: Pool::default(),
            casts: Casting::default(),
            slots: Vec::new(),
            free: Vec::new(),
            turns: VecDeque::new(),
            due: 0,
        })
    }
}

struct Slot {
    generation: usize,
    /// It is among those that take turns.
    in_turn: bool,
    state: State,
}

enum State {
    Free,
    /// Taken out while it is polled.
    Busy,
    Active(Box<Operation>),
    Over(Option<Fault>),
}

/// Most operations under way at a time.
const SLOTS: usize = 1 << 20;
/// Operations that have a turn between two looks at what has come: so a look costs the same, however many there are.
const TURNS: usize = 16;
/// Handles below tickets (2^32), above the small ones that mean nobody.
const FIRST: usize = FIRST_OWN_HANDLE + 16;
const GENERATIONS: usize = 1 << 11;

/// May this handle name a collective operation?
pub(crate) fn is_request(request: Request) -> bool {
    (FIRST..FIRST + SLOTS * GENERATIONS).contains(&request.0)
}

fn split(request: Request) -> (usize, usize) {
    let bits = request.0.wrapping_sub(FIRST);
    (bits % SLOTS, bits / SLOTS)
}

/// Begins an operation.
pub(super) fn start(world: &mut World, operation: Box<Operation>) -> Result<Request, Fault> {
    let (comm, place) = (operation.comm(), operation.index());
    let Ongoing {
        slots, free, turns, ..
    } = &mut world.collectives;
    if free.is_empty() && slots.len() < SLOTS {
        free.push(slots.len() as u32);
        slots.push(Slot {
            generation: 0,
            in_turn: false,
            state: State::Free,
        });
    }
    let Some(index) = free.pop() else {
        return Err(Fault::new(pombo_kernel::Error::Full, comm));
    };
    let slot = &mut slots[index as usize];
    slot.generation = (slot.generation + 1) % GENERATIONS;
    let request = Request(FIRST + index as usize + slot.generation * SLOTS);
    slot.state = State::Active(operation);
    if !replace(&mut slot.in_turn, true) {
        turns.push_back(index);
    }
    if let Some(group) = world.comms.at(place) {
        group.pending += 1;
    }
    poll(world, index as usize);
    Ok(request)
}

/// Lets operations go as far as they can. `idle`: how often in a row nothing has come.
#[inline]
pub(crate) fn progress(world: &mut World, idle: &mut u32) {
    let came = *idle == 0;
    progress_after(world, idle, came);
}

/// The same, where `idle` does not tell whether something has come since the last time.
#[inline]
pub(crate) fn progress_after(world: &mut World, idle: &mut u32, mut came: bool) {
    if world.collectives.casts.is_open() {
        cast::progress(world, idle);
        came |= *idle == 0 || world.collectives.casts.has_ended();
    }
    if !world.collectives.turns.is_empty() {
        take_turns(world, idle, came);
    }
}

/// Those that have waited longest have their turn. Nobody sleeps while one is due.
#[cold]
fn take_turns(world: &mut World, idle: &mut u32, came: bool) {
    if came {
        world.collectives.due = world.collectives.turns.len();
    }
    for _ in 0..TURNS {
        // One that fails waits for what it takes back, and the others have turns meanwhile.
        let Some(due) = world.collectives.due.checked_sub(1) else {
            break;
        };
        world.collectives.due = due;
        let Some(index) = world.collectives.turns.pop_front() else {
            break;
        };
        poll(world, index as usize);
        let Ongoing { slots, turns, .. } = &mut world.collectives;
        let slot = &mut slots[index as usize];
        slot.in_turn = matches!(slot.state, State::Active(_));
        if slot.in_turn {
            turns.push_back(index);
        }
    }
    if world.collectives.due > 0 {
        *idle = 1.min(*idle);
    }
}

fn poll(world: &mut World, index: usize) {
    go_on(world, index, Operation::poll);
}

/// Ends an operation that waits without one of its ranks.
#[cold]
pub(crate) fn forsake(world: &mut World, request: Request) {
    let (index, generation) = split(request);
    let slot = world.collectives.slots.get(index);
    if slot.is_some_and(|slot| slot.generation == generation) {
        go_on(world, index, Operation::forsake);
    }
}

fn go_on(
    world: &mut World,
    index: usize,
    step: fn(&mut Operation, &mut World) -> Result<bool, Fault>,
) {
    let slot = &mut world.collectives.slots[index];
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
            let failed = polled.err().map(|fault| world.comms.noted(fault));
            world.comms.settled(operation.context());
            world.collectives.pool.give(operation.into_scratch());
            State::Over(failed)
        }
    };
    world.collectives.slots[index].state = state;
}

/// Looks whether an operation is over; the handle is dead then.
#[cold]
pub(crate) fn test(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<Standing, Fault> {
    let (index, generation) = split(request);
    let slot = world.collectives.slots.get(index);
    // It need not wait for its turn.
    if slot.is_some_and(|slot| slot.generation == generation) {
        poll(world, index);
    }
    let standing = peek(world, request, status)?;
    if !matches!(standing, Standing::Open) {
        world.collectives.slots[index].state = State::Free;
        world.collectives.free.push(index as u32);
    }
    Ok(standing)
}

/// The same, and the handle stays alive.
#[cold]
pub(crate) fn peek(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<Standing, Fault> {
    let (index, generation) = split(request);
    let slot = world.collectives.slots.get(index);
    *status = Status::SENT;
    match slot.filter(|slot| slot.generation == generation) {
        None
        | Some(Slot {
            state: State::Free, ..
        }) => Err(Error::Handle {
            kind: Kind::Request,
            got: request.0,
        }
        .into()),
        Some(Slot {
            state: State::Over(fault),
            ..
        }) => Ok(fault.map_or(Standing::Over, Standing::Failed)),
        Some(_) => Ok(Standing::Open),
    }
}
