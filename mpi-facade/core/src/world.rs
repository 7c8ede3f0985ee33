//! The one MPI world of a process: between `MPI_Init` and `MPI_Finalize` every call works on it.

pub(crate) use crate::error::CommError;

use crate::comm::Comms;
use crate::constants::*;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::phase::{self, Phase, phase};
use crate::request::RequestState;
use crate::status::Status;
use crate::type_map::Extensions;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::ptr::null_mut;
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
    active: Vec<Progress>,
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

/// The world while no call is at it; null during calls, and where there is none.
static WORLD: AtomicPtr<World> = AtomicPtr::new(null_mut());

/// The level of thread support that was granted. For any thread.
pub fn threads() -> Result<c_int, CommError> {
    match phase() {
        Phase::Running => Ok(phase::granted()),
        _ => Err(absent()),
    }
}

/// Is this the thread that has called `MPI_Init`? For any thread.
pub fn is_main_thread() -> Result<bool, CommError> {
    match phase() {
        Phase::Running => Ok(phase::is_main_thread()),
        _ => Err(absent()),
    }
}

/// Runs a call on the world.
#[inline(always)]
pub(crate) fn with<R>(
    call: impl FnOnce(&mut World) -> Result<R, CommError>,
) -> Result<R, CommError> {
    #[cfg(feature = "progress-thread")]
    let _turn = crate::turn::turn();
    with_turn(call)
}

/// As [`with`], if nobody else is at the world and no turn has to be taken: the shortest way, for calls that take a few
/// nanoseconds. `None`, and nothing has happened: [`with`] knows why.
#[inline(always)]
pub(crate) fn with_alone<R>(call: impl FnOnce(&mut World) -> R) -> Option<R> {
    #[cfg(feature = "progress-thread")]
    if crate::turn::is_shared() {
        return None;
    }
    let taken = WORLD.load(Ordering::Relaxed);
    if taken.is_null() {
        return None;
    }
    WORLD.store(null_mut(), Ordering::Relaxed);
    // SAFETY: as in `with_turn`; no other thread of this library's is there.
    let outcome = call(unsafe { &mut *taken });
    WORLD.store(taken, Ordering::Relaxed);
    Some(outcome)
}

/// As [`with`], for who goes on without the world where somebody else has it, this thread itself perhaps: a handler of
/// signals may run inside a call.
pub(crate) fn if_free(call: impl FnOnce(&mut World)) {
    #[cfg(feature = "progress-thread")]
    let Some(_turn) = crate::turn::turn_soon() else {
        return;
    };
    // What is not free is nobody's fault here.
    let _ = with_turn(|world| {
        call(world);
        Ok(())
    });
}

/// As [`with`], for who has the turn already.
#[inline(always)]
pub(crate) fn with_turn<R>(
    call: impl FnOnce(&mut World) -> Result<R, CommError>,
) -> Result<R, CommError> {
    let taken = WORLD.load(Ordering::Relaxed);
    if taken.is_null() {
        return Err(absent());
    }
    // Whoever calls meanwhile finds nothing. Threads that take it in the same instant are beyond help; they break what
    // the level of thread support demands, by which a call that follows another one happens after it.
    WORLD.store(null_mut(), Ordering::Relaxed);
    // SAFETY: `begin` has made it, and nobody else has it until it is put back. A thread of this library's own takes
    // it only while it has the turn, which every call takes.
    let outcome = call(unsafe { &mut *taken });
    WORLD.store(taken, Ordering::Relaxed);
    outcome
}

/// Why there is no world to work on.
#[cold]
#[inline(never)]
pub(crate) fn absent() -> CommError {
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
    // SAFETY: the function does what a child of a process with threads may do. Without memory to note it, children go
    // unnoticed.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    phase::note(world.kernel.me().index(), threads);
    WORLD.store(Box::into_raw(Box::new(world)), Ordering::Relaxed);
    phase::enter(Phase::Running);
}

/// Ends the world and gives it back to be taken apart.
pub(crate) fn end() -> Option<Box<World>> {
    let world = WORLD.swap(null_mut(), Ordering::Relaxed);
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
        WORLD.store(null_mut(), Ordering::Relaxed);
        pombo_job::let_go();
        #[cfg(feature = "progress-thread")]
        crate::turn::forget();
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

    /// From now on this is called whenever a call waits or looks, until it says that it has nothing left to do.
    pub(crate) fn register(&mut self, progress: Progress) {
        self.active.push(progress);
    }

    /// Lets operations go as far as they can that the kernel does not know. `idle`: how often in a row nothing has come.
    #[inline]
    pub(crate) fn progress(&mut self, idle: &mut u32) {
        if !self.active.is_empty() {
            let came = *idle == 0;
            self.run_progress(idle, came);
        }
    }

    #[inline(never)]
    fn run_progress(&mut self, idle: &mut u32, mut came: bool) {
        let mut place = 0;
        while let Some(progress) = self.active.get(place).copied() {
            came |= *idle == 0;
            match progress(self, idle, came) {
                true => place += 1,
                false => drop(self.active.remove(place)),
            }
        }
    }

    /// Makes progress until `over` gives something.
    pub(crate) fn until<R>(
        &mut self,
        over: impl FnMut(&mut World) -> Result<Option<R>, CommError>,
    ) -> Result<R, CommError> {
        self.until_after(0, over)
    }

    /// As [`World::until`], as if so many looks had been in vain already.
    #[inline]
    pub(crate) fn until_after<R>(
        &mut self,
        looks: u32,
        mut over: impl FnMut(&mut World) -> Result<Option<R>, CommError>,
    ) -> Result<R, CommError> {
        let (mut idle, mut came) = (looks, true);
        self.idle_counts.waiting = 0;
        loop {
            if let Some(result) = over(self)? {
                return Ok(result);
            }
            if !self.active.is_empty() {
                self.run_progress(&mut idle, came);
            }
            self.kernel.advance(&mut idle)?;
            came = idle == 0;
            idle = idle.max(looks);
            self.idle_counts.waiting = idle;
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
