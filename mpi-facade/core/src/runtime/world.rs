//! The one MPI world of a process: between `MPI_Init` and `MPI_Finalize` every call works on it. Here is the only place
//! where a call takes it.

pub(crate) use crate::error::CommError;

use super::callback;
use super::lock::{self, Turn};
use super::phase::{self, Phase, phase};
use super::pthread::in_children;
use crate::comm::Comms;
use crate::constants::*;
use crate::error::Error;
use crate::extensions::Extensions;
use crate::kernel::Kernel;
use crate::request::RequestState;
use crate::status::Status;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};
use pombo_job::{Hosts, Launcher, WorldChannel};
use pombo_netdrivers::shm::Shm;
use pombo_netdrivers::wait::constants::RANK_SPINS;

/// Everything that MPI keeps.
pub(crate) struct World {
    /// The kernel below.
    pub(crate) kernel: Kernel,
    /// Communicators.
    pub(crate) comms: Comms,
    /// What parts of MPI keep here.
    pub(crate) extensions: Extensions,
    /// What makes progress beside the kernel, as long as it has something to do.
    pub(super) active: Vec<Progress>,
    /// Whose requests are none of the kernel's, once there was one.
    pub(crate) request_ops: Option<&'static RequestOps>,
    /// Why the last post was refused, until its call says it.
    pub(crate) refused: Option<CommError>,
    /// Looks in vain.
    pub(crate) idle_counts: IdleCounts,
    /// Messages and bytes that this rank has sent.
    pub(crate) sent: (u64, u64),
    /// Which ranks are on which host.
    pub(crate) hosts: Hosts,
    /// The launcher, if it wants to hear of the end.
    pub(crate) launcher: Option<Launcher>,
}

/// Lets operations go as far as they can. `idle`: how often in a row nothing has come; `came`: whether something has come
/// since the last time. False when there is nothing left that could.
pub(crate) type Progress = fn(world: &mut World, idle: &mut u32, came: bool) -> bool;

/// What has requests of its own, beside the kernel.
pub(crate) struct RequestOps {
    /// Looks whether an operation is over; the handle is dead then.
    pub(crate) test: fn(&mut World, Request, &mut Status) -> Result<RequestState, CommError>,
    /// The same, and the handle stays alive.
    pub(crate) peek: fn(&mut World, Request, &mut Status) -> Result<RequestState, CommError>,
    /// Ends an operation that waits without one of its ranks.
    pub(crate) fail_if_peer_lost: fn(&mut World, Request),
}

/// How often something was looked for and not found.
#[derive(Default)]
pub(crate) struct IdleCounts {
    /// By the call that waits.
    pub(crate) waiting: u32,
    /// By calls that test, up to the next look who has gone.
    pub(crate) tested: u32,
    /// By calls that test, since that time in nanoseconds.
    pub(crate) untested: (u32, u64),
    /// For room for the copy of a send that waits.
    pub(crate) stalled: u32,
}

/// The world while no call has it; null during calls, while it is [`SHARED`], and where there is none.
static FREE: AtomicPtr<World> = AtomicPtr::new(null_mut());
/// The world where calls take turns by the lock: who has the turn has it. Else null. Changes only between calls.
static SHARED: AtomicPtr<World> = AtomicPtr::new(null_mut());

/// The world, which is nobody else's.
struct Taken {
    world: NonNull<World>,
    /// None by the short way.
    turn: Option<Turn>,
}

impl Taken {
    /// By the short way. Whoever calls from now on finds nothing. Threads that take it in the same instant are beyond
    /// help; they break what the level of thread support demands, by which a call that follows another one happens
    /// after it.
    #[inline(always)]
    fn take() -> Option<Taken> {
        let (world, turn) = (NonNull::new(FREE.load(Ordering::Relaxed))?, None);
        FREE.store(null_mut(), Ordering::Relaxed);
        Some(Taken { world, turn })
    }

    /// By the long way: waits for a turn. [`absent`] knows why there is none.
    #[cold]
    #[inline(never)]
    fn wait() -> Option<Taken> {
        if SHARED.load(Ordering::Relaxed).is_null() || callback::current().is_some() {
            return None;
        }
        lock::turn().and_then(Taken::shared)
    }

    /// By that turn.
    fn shared(turn: Turn) -> Option<Taken> {
        let (world, turn) = (NonNull::new(SHARED.load(Ordering::Relaxed))?, Some(turn));
        Some(Taken { world, turn })
    }

    /// Runs a call on it and puts it back.
    #[inline(always)]
    fn with<R>(mut self, call: impl FnOnce(&mut World) -> R) -> R {
        // SAFETY: `begin` has made it. Nobody else has it: it is not free until it is put back, or there is one turn.
        let outcome = call(unsafe { self.world.as_mut() });
        match self.turn {
            None => FREE.store(self.world.as_ptr(), Ordering::Relaxed),
            Some(turn) => turn.end(),
        }
        outcome
    }
}

/// Runs a call on the world.
#[inline(always)]
pub(crate) fn with<R>(
    call: impl FnOnce(&mut World) -> Result<R, CommError>,
) -> Result<R, CommError> {
    match Taken::take().or_else(Taken::wait) {
        Some(taken) => taken.with(call),
        None => Err(absent()),
    }
}

/// As [`with`] by the short way alone, for calls that take a few nanoseconds. `None`, and nothing has happened: [`with`]
/// knows why.
#[inline(always)]
pub(crate) fn with_alone<R>(call: impl FnOnce(&mut World) -> R) -> Option<R> {
    Taken::take().map(|taken| taken.with(call))
}

/// As [`with`] by the short way, for calls of which each instruction counts; `otherwise` is the same call by [`with`], in
/// a function apart.
#[inline(always)]
pub(crate) fn with_fast<A, R>(
    arguments: A,
    call: impl FnOnce(&mut World, A) -> R,
    otherwise: impl FnOnce(A) -> R,
) -> R {
    match Taken::take() {
        Some(taken) => taken.with(|world| call(world, arguments)),
        None => otherwise(arguments),
    }
}

/// As [`with`], for local functions that look at no more than communicators: callbacks may call them.
#[inline(always)]
pub(crate) fn local<R>(
    call: impl FnOnce(&mut Comms) -> Result<R, CommError>,
) -> Result<R, CommError> {
    match Taken::take() {
        Some(taken) => taken.with(|world| call(&mut world.comms)),
        None => local_slowly(call),
    }
}

#[cold]
#[inline(never)]
fn local_slowly<R>(call: impl FnOnce(&mut Comms) -> Result<R, CommError>) -> Result<R, CommError> {
    let Some(mut lent) = callback::take_lent() else {
        return with(|world| call(&mut world.comms));
    };
    // SAFETY: `callback::run` has it borrowed until the callback ends, and nobody else has it until it is given back.
    let outcome = call(unsafe { lent.as_mut() });
    callback::give_back(lent);
    outcome
}

/// As [`with`], unless somebody is at the world: then `None`.
#[cfg(feature = "progress-thread")]
pub(super) fn try_with<R>(call: impl FnOnce(&mut World) -> R) -> Option<R> {
    let taken = lock::try_turn().and_then(Taken::shared)?;
    Some(taken.with(call))
}

/// As [`with`], for who goes on without the world where somebody else has it, this thread itself perhaps: a handler of
/// signals may run inside a call.
pub(crate) fn if_free(call: impl FnOnce(&mut World)) {
    // What is not free is nobody's fault here.
    let _ = match SHARED.load(Ordering::Relaxed).is_null() {
        true => with_alone(call),
        false => lock::turn_soon()
            .and_then(Taken::shared)
            .map(|taken| taken.with(call)),
    };
}

/// Why there is no world to work on.
#[cold]
#[inline(never)]
pub(crate) fn absent() -> CommError {
    if let Some(callback) = callback::current() {
        return Error::InCallback { callback }.into();
    }
    let rank = phase::rank() as c_int;
    match phase() {
        Phase::Before => Error::NotInitialised.into(),
        Phase::Running => Error::Overlapping.into(),
        Phase::After => Error::Finalised.into(),
        Phase::Forked => Error::Forked { rank }.into(),
    }
}

/// Begins the world, with that level of thread support.
pub(crate) fn begin(world: World, threads: c_int) {
    // A child has no part in the job: it would break the queues of the rank, whose memory it shares.
    in_children(forked);
    phase::note(world.kernel.me().index(), threads);
    FREE.store(Box::into_raw(Box::new(world)), Ordering::Relaxed);
    if threads == MPI_THREAD_MULTIPLE {
        share();
    }
    phase::enter(Phase::Running);
}

/// From now on calls take turns by the lock. Only between calls.
pub(super) fn share() {
    let world = FREE.swap(null_mut(), Ordering::Relaxed);
    if !world.is_null() {
        SHARED.store(world, Ordering::Relaxed);
    }
}

/// From now on calls go the short way again, if the level of thread support lets them. Only between calls.
#[cfg(any(feature = "progress-thread", test))]
pub(super) fn unshare() {
    if phase::granted() != MPI_THREAD_MULTIPLE {
        let world = SHARED.swap(null_mut(), Ordering::Relaxed);
        FREE.store(world, Ordering::Relaxed);
    }
}

/// Ends the world and gives it back to be taken apart. None if a call has it, or there is none.
pub(crate) fn end() -> Option<Box<World>> {
    let _turn = lock::turn()?;
    let free = FREE.swap(null_mut(), Ordering::Relaxed);
    let shared = SHARED.swap(null_mut(), Ordering::Relaxed);
    let world = if free.is_null() { shared } else { free };
    if world.is_null() {
        return None;
    }
    phase::enter(Phase::After);
    // SAFETY: `begin` has made it of a box, and nobody else has it any more.
    Some(unsafe { Box::from_raw(world) })
}

/// In a child that this process has forked: it lets go of what it inherits, so that nobody takes it for the rank, and
/// its calls are refused.
extern "C" fn forked() {
    if phase() == Phase::Running {
        phase::enter(Phase::Forked);
        FREE.store(null_mut(), Ordering::Relaxed);
        SHARED.store(null_mut(), Ordering::Relaxed);
        pombo_job::let_go();
    }
}

impl World {
    pub(crate) fn new(
        kernel: Kernel,
        comms: Comms,
        hosts: Hosts,
        launcher: Option<Launcher>,
    ) -> Self {
        World {
            kernel,
            comms,
            extensions: Extensions::default(),
            active: Vec::new(),
            request_ops: None,
            refused: None,
            idle_counts: IdleCounts::default(),
            sent: (0, 0),
            hosts,
            launcher,
        }
    }

    /// Looks in vain after which ranks of several hosts, who wait for all of them, let others have the processor: at
    /// once. The wait takes longer than that, and on a host whose processors are busy each turn counts.
    #[inline]
    pub(crate) fn first_idle(&self) -> u32 {
        if self.hosts.is_single() {
            0
        } else {
            RANK_SPINS
        }
    }

    /// The memory that the ranks of this host share.
    #[inline]
    pub(crate) fn shm(&mut self) -> &mut Shm {
        self.kernel.channel_mut().memory()
    }

    /// Counts a message.
    #[inline]
    pub(crate) fn count(&mut self, bytes: usize) {
        self.sent.0 += 1;
        self.sent.1 += bytes as u64;
    }
}
