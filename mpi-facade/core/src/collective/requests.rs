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
    /// Those that are not over.
    active: usize,
}

impl Ongoing {
    /// None. Reads from the environment how algorithms are chosen.
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Ongoing {
            choices: Choices::read()?,
            pool: Pool::default(),
            casts: Casting::default(),
            slots: Vec::new(),
            active: 0,
        })
    }
}

struct Slot {
    generation: usize,
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
    let slots = &mut world.collectives.slots;
    let free = slots
        .iter()
        .position(|slot| matches!(slot.state, State::Free));
    let index = free.unwrap_or(slots.len());
    if index == SLOTS {
        return Err(Fault::new(pombo_kernel::Error::Full, comm));
    }
    if index == slots.len() {
        slots.push(Slot {
            generation: 0,
            state: State::Free,
        });
    }
    let slot = &mut slots[index];
    slot.generation = (slot.generation + 1) % GENERATIONS;
    let request = Request(FIRST + index + slot.generation * SLOTS);
    slot.state = State::Active(operation);
    world.collectives.active += 1;
    if let Some(group) = world.comms.at(place) {
        group.pending += 1;
    }
    poll(world, index);
    Ok(request)
}

/// Lets every operation go as far as it can. `idle`: how often in a row nothing has come.
#[inline]
pub(crate) fn progress(world: &mut World, idle: &mut u32) {
    if world.collectives.casts.is_open() {
        cast::progress(world, idle);
    }
    if world.collectives.active > 0 {
        for index in 0..world.collectives.slots.len() {
            poll(world, index);
        }
    }
}

fn poll(world: &mut World, index: usize) {
    let slot = &mut world.collectives.slots[index];
    if !matches!(slot.state, State::Active(_)) {
        return;
    }
    let State::Active(mut operation) = replace(&mut slot.state, State::Busy) else {
        return;
    };
    let polled = operation.poll(world);
    let state = match polled {
        Ok(false) => State::Active(operation),
        Ok(true) | Err(_) => {
            world.collectives.active -= 1;
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
    let standing = peek(world, request, status)?;
    if !matches!(standing, Standing::Open) {
        world.collectives.slots[split(request).0].state = State::Free;
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
