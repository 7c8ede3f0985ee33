//! Collective operations under way without a call that waits for them.

use super::prepared::Operation;
use super::scratch::Pool;
use crate::constants::Request;
use crate::error::{Error, Kind};
use crate::request::{FIRST_OF_ENGINES as FIRST, Standing};
use crate::status::Status;
use crate::world::{Engine, Fault, World};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem::replace;

/// The table of operations under way. Its bound is memory and [`SLOTS`].
#[derive(Default)]
struct Ongoing {
    slots: Vec<Slot>,
    /// Slots without an operation.
    free: Vec<u32>,
    /// Slots whose operations take turns, the next one first; some are over meanwhile.
    turns: VecDeque<u32>,
    /// Of those, so many have not had one since something came.
    due: usize,
    /// The world calls [`progress`].
    registered: bool,
}

/// Of this world.
fn ongoing(world: &mut World) -> &mut Ongoing {
    world.parts.get()
}

/// There is something to do from now on.
fn register(world: &mut World) {
    if !replace(&mut ongoing(world).registered, true) {
        world.register(progress);
    }
}

/// Requests of collective operations.
static ENGINE: Engine = Engine {
    test,
    peek,
    forsake,
};

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
const GENERATIONS: usize = 1 << 11;

const _: () = assert!(FIRST + SLOTS * GENERATIONS <= 1 << 32, "above are tickets");

fn split(request: Request) -> (usize, usize) {
    let bits = request.0.wrapping_sub(FIRST);
    (bits % SLOTS, bits / SLOTS)
}

/// Begins an operation.
pub(super) fn start(world: &mut World, operation: Box<Operation>) -> Result<Request, Fault> {
    let (comm, place) = (operation.comm(), operation.index());
    let Ongoing {
        slots, free, turns, ..
    } = ongoing(world);
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
    world.engine = Some(&ENGINE);
    register(world);
    poll(world, index as usize);
    Ok(request)
}

/// Lets operations go as far as they can: see [`World::register`].
fn progress(world: &mut World, idle: &mut u32, came: bool) -> bool {
    if !ongoing(world).turns.is_empty() {
        take_turns(world, idle, came);
    }
    let ongoing = ongoing(world);
    ongoing.registered = !ongoing.turns.is_empty();
    ongoing.registered
}

/// Those that have waited longest have their turn. Nobody sleeps while one is due.
#[cold]
fn take_turns(world: &mut World, idle: &mut u32, came: bool) {
    let all = ongoing(world);
    if came {
        all.due = all.turns.len();
    }
    for _ in 0..TURNS {
        // One that fails waits for what it takes back, and the others have turns meanwhile.
        let all = ongoing(world);
        let Some(due) = all.due.checked_sub(1) else {
            break;
        };
        all.due = due;
        let Some(index) = all.turns.pop_front() else {
            break;
        };
        poll(world, index as usize);
        let Ongoing { slots, turns, .. } = ongoing(world);
        let slot = &mut slots[index as usize];
        slot.in_turn = matches!(slot.state, State::Active(_));
        if slot.in_turn {
            turns.push_back(index);
        }
    }
    if ongoing(world).due > 0 {
        *idle = 1.min(*idle);
    }
}

fn poll(world: &mut World, index: usize) {
    go_on(world, index, Operation::poll);
}

/// Ends an operation that waits without one of its ranks.
#[cold]
fn forsake(world: &mut World, request: Request) {
    let (index, generation) = split(request);
    let slot = ongoing(world).slots.get(index);
    if slot.is_some_and(|slot| slot.generation == generation) {
        go_on(world, index, Operation::forsake);
    }
}

fn go_on(
    world: &mut World,
    index: usize,
    step: fn(&mut Operation, &mut World) -> Result<bool, Fault>,
) {
    let slot = &mut ongoing(world).slots[index];
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
            world.parts.get::<Pool>().give(operation.into_scratch());
            State::Over(failed)
        }
    };
    ongoing(world).slots[index].state = state;
}

/// Looks whether an operation is over; the handle is dead then.
#[cold]
fn test(world: &mut World, request: Request, status: &mut Status) -> Result<Standing, Fault> {
    let (index, generation) = split(request);
    let slot = ongoing(world).slots.get(index);
    // It need not wait for its turn.
    if slot.is_some_and(|slot| slot.generation == generation) {
        poll(world, index);
    }
    let standing = peek(world, request, status)?;
    if !matches!(standing, Standing::Open) {
        ongoing(world).slots[index].state = State::Free;
        ongoing(world).free.push(index as u32);
    }
    Ok(standing)
}

/// The same, and the handle stays alive.
#[cold]
fn peek(world: &mut World, request: Request, status: &mut Status) -> Result<Standing, Fault> {
    let (index, generation) = split(request);
    let slot = ongoing(world).slots.get(index);
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
