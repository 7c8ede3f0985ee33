//! The one MPI world of a process: between `MPI_Init` and `MPI_Finalize` every call works on it.

use crate::asking::Asked;
use crate::buffered::Buffered;
use crate::collective::{self, Ongoing};
use crate::comm::Comms;
use crate::constants::*;
use crate::error::Error;
use crate::glance::Freed;
use crate::hosts::Hosts;
use crate::kernel::Kernel;
use crate::place;
use crate::place::launcher::Launcher;
#[cfg(feature = "progress-thread")]
use crate::progress::Thread;
use crate::stall::Stall;
use crate::way::WorldChannel;
use alloc::boxed::Box;
use core::ffi::c_int;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use pombo_netdrivers::shm::Shm;

/// Everything that MPI keeps.
pub(crate) struct World {
    /// The kernel below.
    pub(crate) kernel: Kernel,
    /// Communicators.
    pub(crate) comms: Comms,
    /// Collective operations under way.
    pub(crate) collectives: Ongoing,
    /// Why the last post was refused, until its call says it.
    pub(crate) refused: Option<Fault>,
    /// Sends that wait for room for their copies.
    pub(crate) stall: Stall,
    /// Buffered sends.
    pub(crate) buffered: Buffered,
    /// Requests without a handle.
    pub(crate) freed: Freed,
    /// Questions that had no answer yet.
    pub(crate) asked: Asked,
    /// Tests that were in vain, up to the next look who has gone.
    pub(crate) tested: u32,
    /// Looks in vain of the call that waits.
    pub(crate) vain: u32,
    /// Messages and bytes that this rank has sent.
    pub(crate) sent: (u64, u64),
    /// Which ranks are on which host.
    pub(crate) hosts: Hosts,
    /// The launcher, if it wants to hear of the end.
    pub(crate) launcher: Option<Launcher>,
    /// Makes progress beside the program, if there is one.
    #[cfg(feature = "progress-thread")]
    pub(crate) thread: Option<Thread>,
}

/// An error, and the communicator whose handler hears of it.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What.
    pub error: Error,
    /// Whose handler.
    pub comm: Comm,
    /// That handler, where the communicator may be gone when it is asked; else null.
    pub handler: Errhandler,
}

impl Fault {
    /// Of that communicator's call.
    pub fn new(error: impl Into<Error>, comm: Comm) -> Fault {
        Fault {
            error: error.into(),
            comm,
            handler: Errhandler::NULL,
        }
    }

    /// On a communicator.
    pub fn on<E: Into<Error>>(comm: Comm) -> impl Fn(E) -> Fault {
        move |error| Fault::new(error, comm)
    }
}

/// Errors that concern no communicator go to `MPI_COMM_SELF`'s handler.
impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::new(error, MPI_COMM_SELF)
    }
}

impl From<pombo_kernel::Error> for Fault {
    fn from(error: pombo_kernel::Error) -> Self {
        Fault::from(Error::from(error))
    }
}

/// Where a process stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Before `MPI_Init`.
    Before,
    /// MPI works.
    Running,
    /// After `MPI_Finalize`.
    After,
    /// In a child that a rank has forked.
    Forked,
}

/// The world while no call is at it; null during calls, and where there is none.
static WORLD: AtomicPtr<World> = AtomicPtr::new(null_mut());
static PHASE: AtomicU8 = AtomicU8::new(Phase::Before as u8);
/// What every thread may ask at any time: the granted level of thread support, who has called `MPI_Init`, the rank.
static THREADS: AtomicI32 = AtomicI32::new(MPI_THREAD_SINGLE);
static MAIN: AtomicUsize = AtomicUsize::new(0);
static RANK: AtomicUsize = AtomicUsize::new(0);

/// Where this process stands. For any thread, at any time.
pub fn phase() -> Phase {
    let phase = PHASE.load(Ordering::Acquire);
    let all = [Phase::Before, Phase::Running, Phase::After, Phase::Forked];
    all[usize::from(phase) % all.len()]
}

/// The level of thread support that was granted. For any thread.
pub fn threads() -> Result<c_int, Fault> {
    match phase() {
        Phase::Running => Ok(THREADS.load(Ordering::Relaxed)),
        _ => Err(absent()),
    }
}

/// Is this the thread that has called `MPI_Init`? For any thread.
pub fn is_main_thread() -> Result<bool, Fault> {
    match phase() {
        Phase::Running => Ok(MAIN.load(Ordering::Relaxed) == this_thread()),
        _ => Err(absent()),
    }
}

fn this_thread() -> usize {
    // SAFETY: no demands.
    unsafe { libc::pthread_self() as usize }
}

/// The rank that the world has had since it began. For any thread.
pub(crate) fn rank() -> usize {
    RANK.load(Ordering::Relaxed)
}

/// Runs a call on the world.
#[inline(always)]
pub(crate) fn with<R>(call: impl FnOnce(&mut World) -> Result<R, Fault>) -> Result<R, Fault> {
    #[cfg(feature = "progress-thread")]
    let _turn = crate::progress::turn();
    with_turn(call)
}

/// As [`with`], for who goes on without the world where somebody else has it, this thread itself perhaps: a handler of
/// signals may run inside a call.
pub(crate) fn if_free(call: impl FnOnce(&mut World)) {
    #[cfg(feature = "progress-thread")]
    let Some(_turn) = crate::progress::turn_soon() else {
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
pub(crate) fn with_turn<R>(call: impl FnOnce(&mut World) -> Result<R, Fault>) -> Result<R, Fault> {
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
pub(crate) fn absent() -> Fault {
    let rank = rank() as c_int;
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
    RANK.store(world.kernel.node().index(), Ordering::Relaxed);
    MAIN.store(this_thread(), Ordering::Relaxed);
    THREADS.store(threads, Ordering::Relaxed);
    WORLD.store(Box::into_raw(Box::new(world)), Ordering::Relaxed);
    PHASE.store(Phase::Running as u8, Ordering::Release);
}

/// Ends the world and gives it back to be taken apart.
pub(crate) fn end() -> Option<Box<World>> {
    let world = WORLD.swap(null_mut(), Ordering::Relaxed);
    if world.is_null() {
        return None;
    }
    PHASE.store(Phase::After as u8, Ordering::Release);
    // SAFETY: `begin` has made it of a box, and nobody else has it any more.
    Some(unsafe { Box::from_raw(world) })
}

/// In a child that this process has forked: it lets go of what it inherits, so that nobody takes it for the rank, and
/// its calls are refused.
extern "C" fn forked() {
    if phase() == Phase::Running {
        PHASE.store(Phase::Forked as u8, Ordering::Relaxed);
        WORLD.store(null_mut(), Ordering::Relaxed);
        place::descriptor::close_all();
        #[cfg(feature = "progress-thread")]
        crate::progress::forget();
    }
}

impl World {
    /// Makes progress until `over` gives something.
    pub(crate) fn until<R>(
        &mut self,
        over: impl FnMut(&mut World) -> Result<Option<R>, Fault>,
    ) -> Result<R, Fault> {
        self.until_after(0, over)
    }

    /// As [`World::until`], as if so many looks had been in vain already.
    #[inline]
    pub(crate) fn until_after<R>(
        &mut self,
        looks: u32,
        mut over: impl FnMut(&mut World) -> Result<Option<R>, Fault>,
    ) -> Result<R, Fault> {
        let (mut idle, mut came) = (looks, true);
        self.vain = 0;
        loop {
            if let Some(result) = over(self)? {
                return Ok(result);
            }
            collective::progress_after(self, &mut idle, came);
            self.kernel.advance(&mut idle)?;
            came = idle == 0;
            idle = idle.max(looks);
            self.vain = idle;
        }
    }

    /// Looks in vain after which ranks of several hosts, who wait for all of them, let others have the processor: at
    /// once. The wait takes longer than that, and on a host whose processors are busy each turn counts.
    #[inline]
    pub(crate) fn looks(&self) -> u32 {
        if self.hosts.is_one() { 0 } else { 256 }
    }

    /// The memory that the ranks of this host share.
    #[inline]
    pub(crate) fn near(&mut self) -> &mut Shm {
        self.kernel.channel_mut().memory()
    }

    /// Counts a message.
    #[inline]
    pub(crate) fn count(&mut self, bytes: usize) {
        self.sent.0 += 1;
        self.sent.1 += bytes as u64;
    }
}
