//! The rank of this process between `MPI_Init` and `MPI_Finalize`. All functions that communicate take it from here.

use crate::errors::{Fault, wrong};
use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use pombo_basic::{Mpi, MpiHeader, World as Below};
use pombo_job::log::{self, LogLine};
use pombo_job::{JobChannel, Joined, WorldChannel};
use pombo_kernel::aspect::Eager;
use pombo_kernel::matching::Linear;
use pombo_kernel::{Capacities, Composition};
use pombo_mpi::error::Class;
use pombo_mpi::message_header::EAGER;
use pombo_netdrivers::HeapCells;
use pombo_transport::multicast::NoBuffers;
use zerocopy::little_endian::U32;

/// Most ranks of a world.
const RANKS: usize = 64;
/// Most requests under way.
const REQUESTS: usize = 256;
/// Messages that wait for a receive, divided among the ranks.
const POOL: usize = 512;

/// Short lengths, no rendezvous, a list that is searched in order, tables in place.
type Basic = Composition<U32, Eager, Linear, HeapCells, Capacities<REQUESTS, POOL, EAGER, RANKS>>;
type Channel = JobChannel<RANKS>;
pub(crate) type World = Mpi<'static, Channel, Basic>;

/// Where the process is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Phase {
    Before,
    Inside,
    After,
}

struct Global {
    phase: Cell<Phase>,
    /// Filled by `MPI_Init`. All of it is zero in the program's file, which does not carry it so.
    world: UnsafeCell<MaybeUninit<World>>,
}

// SAFETY: one thread at a time calls MPI: MPI_Init_thread grants no more than MPI_THREAD_SERIALIZED (MPI 5.0, section 11.6).
unsafe impl Sync for Global {}

static GLOBAL: Global = Global {
    phase: Cell::new(Phase::Before),
    world: UnsafeCell::new(MaybeUninit::uninit()),
};

/// Returns where the process is.
pub(crate) fn phase() -> Phase {
    GLOBAL.phase.get()
}

/// Returns the world.
pub(crate) fn world() -> Result<&'static mut World, Fault> {
    match phase() {
        // SAFETY: it was filled before the phase began. One thread at a time calls MPI, as it was granted, and no function of
        // MPI calls another one of them or a function of the program, so no other reference is in use.
        Phase::Inside => Ok(unsafe { (*GLOBAL.world.get()).assume_init_mut() }),
        _ => Err(wrong(
            Class::Other,
            "call it between MPI_Init and MPI_Finalize",
        )),
    }
}

/// Joins the world that the environment names.
#[cold]
pub(crate) fn begin() -> Result<(), Fault> {
    if phase() != Phase::Before {
        return Err(wrong(Class::Other, "call it once, before anything else"));
    }
    let fingerprint = pombo_kernel::fingerprint::<MpiHeader, Basic>();
    let Joined { channel, .. } = match pombo_job::join::<RANKS, NoBuffers>(Ok(()), fingerprint) {
        Ok(joined) => joined,
        Err(refused) => {
            let mut line = LogLine::new();
            line.put("pombo: rank ")
                .put_number(pombo_job::rank() as i64)
                .put(" cannot join its job: ");
            refused.error().write_brief(&mut line);
            log::error(&line);
            crate::errors::exit(Class::Other as i32)
        }
    };
    let Ok(below) = Below::new(channel) else {
        return Err(wrong(Class::Other, "this program has at most 64 ranks"));
    };
    // SAFETY: nobody has a reference before the phase begins.
    unsafe { (*GLOBAL.world.get()).write(Mpi::init(below)) };
    GLOBAL.phase.set(Phase::Inside);
    Ok(())
}

/// Waits for all ranks and ends the world. Its memory stays until the process ends.
#[cold]
pub(crate) fn finalize() -> Result<(), Fault> {
    let world = world()?;
    world.finalize()?;
    world.channel_mut().leave();
    GLOBAL.phase.set(Phase::After);
    Ok(())
}
