//! The rank of this process between `MPI_Init` and `MPI_Finalize`. All functions that communicate take it from here.

use crate::errors::{FatalError, exit, line};
use core::cell::{Cell, UnsafeCell};
use core::ffi::c_int;
use core::mem::{ManuallyDrop, MaybeUninit};
use pombo_basic::{Mpi, MpiHeader, World as Below};
use pombo_job::{Refusal, log, place_on_one_host};
use pombo_kernel::aspect::Eager;
use pombo_kernel::channel::Channel;
use pombo_kernel::facade::slot_bytes;
use pombo_kernel::matching::Linear;
use pombo_kernel::{Capacities, Composition};
use pombo_mpi::error::Class;
use pombo_mpi::message_header::EAGER;
use pombo_netdrivers::HeapCells;
use pombo_netdrivers::shm::Rings;
use zerocopy::little_endian::U32;

/// Most ranks of a world.
const RANKS: usize = 64;
/// Most requests under way.
const REQUESTS: usize = 256;
/// Operations that collective calls have beside them: with none they would wait for requests that nobody completes.
const OWN: usize = 8;
/// Messages that wait for a receive, divided among the ranks.
const POOL: usize = 512;

/// Short lengths, no rendezvous, a list that is searched in order, tables in place.
type Basic =
    Composition<U32, Eager, Linear, HeapCells, Capacities<{ REQUESTS + OWN }, POOL, EAGER, RANKS>>;
/// Bytes of a slot of an operation under way, and of one of a message without a receive.
pub(crate) const SLOT_BYTES: [usize; 2] = slot_bytes::<MpiHeader, Basic>();
pub(crate) type World = Mpi<'static, Kept, Basic>;

/// The fingerprint of ranks that use rings alone: it differs from all of the kernel's compositions over other channels.
const FINGERPRINT: u64 = !pombo_kernel::fingerprint::<MpiHeader, Basic>();

/// The channel to the ranks of this host, which is never dropped: the end of the process closes it.
pub(crate) struct Kept(ManuallyDrop<Rings>);

impl Channel for Kept {
    type Arrival<'a> = <Rings as Channel>::Arrival<'a>;

    pombo_kernel::forward_channel! {
        0: me, peers, limit, supports_single_copy, favours_early_data, try_send, set_corked, poll, poll_with, wait, wait_timeout, wait_sources,
        wait_with, now
    }
}

/// Where the process is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Before,
    Inside,
    After,
}

struct Global {
    phase: Cell<Phase>,
    /// How many requests of the program are under way: at most `REQUESTS`.
    requests: Cell<usize>,
    /// Filled by `MPI_Init`. All of it is zero in the program's file, which does not carry it so.
    world: UnsafeCell<MaybeUninit<World>>,
}

// SAFETY: one thread at a time calls MPI: MPI_Init_thread grants no more than MPI_THREAD_SERIALIZED (MPI 5.0, section 11.6).
unsafe impl Sync for Global {}

static GLOBAL: Global = Global {
    phase: Cell::new(Phase::Before),
    requests: Cell::new(0),
    world: UnsafeCell::new(MaybeUninit::uninit()),
};

/// Returns where the process is.
pub(crate) fn phase() -> Phase {
    GLOBAL.phase.get()
}

/// Returns the world, or the error of a call before `MPI_Init` or after `MPI_Finalize`.
pub(crate) fn world() -> Result<&'static mut World, FatalError> {
    match phase() {
        // SAFETY: it was filled before the phase began. One thread at a time calls MPI, as it was granted, and no function of
        // MPI calls another one of them or a function of the program, so no other reference is in use.
        Phase::Inside => Ok(unsafe { (*GLOBAL.world.get()).assume_init_mut() }),
        _ => Err(FatalError::Phase),
    }
}

/// Counts a request that is under way.
pub(crate) fn begin_request() -> Result<(), FatalError> {
    let requests = GLOBAL.requests.get();
    if requests == REQUESTS {
        return Err(FatalError::Full);
    }
    GLOBAL.requests.set(requests + 1);
    Ok(())
}

/// Counts a request that is under way no more.
pub(crate) fn end_request() {
    GLOBAL
        .requests
        .update(|requests| requests.saturating_sub(1));
}

/// Joins the world that the environment names.
#[cold]
pub(crate) fn begin() -> Result<(), FatalError> {
    if phase() != Phase::Before {
        return Err(FatalError::Phase);
    }
    let channel = attach().unwrap_or_else(|refusal| {
        let mut line = line();
        line.put(" cannot join its job: ");
        for part in refusal.text() {
            line.put(part);
        }
        log::error(&line);
        exit(Class::Other as c_int)
    });
    let Ok(below) = Below::new(Kept(ManuallyDrop::new(channel))) else {
        return Err(FatalError::Ranks);
    };
    // SAFETY: nobody has a reference before the phase begins.
    unsafe { (*GLOBAL.world.get()).write(Mpi::init(below)) };
    GLOBAL.phase.set(Phase::Inside);
    Ok(())
}

fn attach() -> Result<Rings, Refusal> {
    let (segment, rank) = place_on_one_host()?;
    Ok(Rings::attach(segment, rank, FINGERPRINT)?)
}

/// Waits for all ranks and ends the world. Its memory stays until the process ends.
#[cold]
pub(crate) fn finalize() -> Result<(), FatalError> {
    let world = world()?;
    world.finalize()?;
    world.channel_mut().0.finish();
    GLOBAL.phase.set(Phase::After);
    Ok(())
}

/// Returns the rank that ended first of those that ended because of each other, and tells the other ranks that this one ends
/// because of it.
pub(crate) fn first_lost(rank: u16) -> u16 {
    let Ok(world) = world() else {
        return rank;
    };
    let (segment, me) = (world.channel().0.segment(), world.rank());
    let mut first = rank;
    // A chain of causes is at most as long as there are ranks.
    for _ in 0..world.size() {
        match segment.root_cause(first.into()) {
            Some(other) if usize::from(other) != me => first = other,
            _ => break,
        }
    }
    // It fails only for an unknown rank.
    let _ = segment.set_root_cause(me, first);
    first
}
