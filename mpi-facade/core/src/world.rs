//! The one MPI world of a process: between `MPI_Init` and `MPI_Finalize` every call works on it.

use crate::asking::Asked;
use crate::buffered::Buffered;
use crate::collective::{self, Ongoing};
use crate::comm::Comms;
use crate::constants::*;
use crate::error::Error;
use crate::glance::Freed;
use crate::header::Kernel;
use crate::hosts::Hosts;
use crate::place::launcher::Launcher;
#[cfg(feature = "progress-thread")]
use crate::progress::Thread;
use crate::way;
use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::ffi::c_int;
use pombo_kernel::Operate;
use pombo_netdrivers::shm::Shm;

/// Everything that MPI keeps.
pub(crate) struct World {
    /// The kernel below.
    pub(crate) kernel: Kernel,
    /// Communicators.
    pub(crate) comms: Comms,
    /// Collective operations under way.
    pub(crate) collectives: Ongoing,
    /// Buffered sends.
    pub(crate) buffered: Buffered,
    /// Requests without a handle.
    pub(crate) freed: Freed,
    /// Questions that had no answer yet.
    pub(crate) asked: Asked,
    /// The level of thread support that was granted.
    pub(crate) threads: c_int,
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
}

impl Fault {
    /// On a communicator.
    pub fn on(comm: Comm) -> impl Fn(Error) -> Fault {
        move |error| Fault { error, comm }
    }
}

/// Errors that concern no communicator go to `MPI_COMM_WORLD`'s handler.
impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault {
            error,
            comm: MPI_COMM_WORLD,
        }
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
}

struct Global {
    phase: UnsafeCell<Phase>,
    world: UnsafeCell<Option<Box<World>>>,
    /// Why the last call of [`request`] has none.
    fault: UnsafeCell<Option<Fault>>,
}

// SAFETY: at most MPI_THREAD_SERIALIZED is granted, so the program never lets two calls overlap, and a call that
// follows another one happens after it. A thread of this library's own touches the world only while it has the turn,
// which every call takes, and the phase never. Nothing in this crate calls back into it while a borrow is alive.
unsafe impl Sync for Global {}

static GLOBAL: Global = Global {
    phase: UnsafeCell::new(Phase::Before),
    world: UnsafeCell::new(None),
    fault: UnsafeCell::new(None),
};

/// Where this process stands.
pub fn phase() -> Phase {
    // SAFETY: see `Global`; the value is copied out.
    unsafe { *GLOBAL.phase.get() }
}

/// Runs a call on the world.
#[inline]
pub(crate) fn with<R>(call: impl FnOnce(&mut World) -> Result<R, Fault>) -> Result<R, Fault> {
    #[cfg(feature = "progress-thread")]
    let _turn = crate::progress::turn();
    with_turn(call)
}

/// As [`with`], for who has the turn already.
#[inline]
pub(crate) fn with_turn<R>(call: impl FnOnce(&mut World) -> Result<R, Fault>) -> Result<R, Fault> {
    // SAFETY: see `Global`; this borrow ends before the call returns, and no call runs inside another.
    match unsafe { &mut *GLOBAL.world.get() } {
        Some(world) => call(world),
        None => Err(absent()),
    }
}

/// As [`with`], for calls that begin something and are made often: a request fits a register. Where there is none, for
/// a fault, it is null; [`begun`] tells.
#[inline]
pub(crate) fn request(call: impl FnOnce(&mut World) -> Result<Request, Fault>) -> Request {
    #[cold]
    fn refuse(fault: Fault) -> Request {
        // SAFETY: see `Global`; the borrow ends at once.
        unsafe { *GLOBAL.fault.get() = Some(fault) };
        Request::NULL
    }
    with(call).unwrap_or_else(refuse)
}

/// What became of [`request`].
#[inline]
pub(crate) fn begun(request: Request) -> Result<Request, Fault> {
    #[cold]
    fn refused() -> Fault {
        // SAFETY: see `Global`; the value is taken out.
        unsafe { (*GLOBAL.fault.get()).take() }.unwrap_or_else(absent)
    }
    if request == Request::NULL {
        return Err(refused());
    }
    Ok(request)
}

#[cold]
#[inline(never)]
fn absent() -> Fault {
    match phase() {
        Phase::After => Error::Finalised.into(),
        _ => Error::NotInitialised.into(),
    }
}

/// Begins the world.
pub(crate) fn begin(world: World) {
    // SAFETY: see `Global`; there is no other thread yet.
    unsafe {
        *GLOBAL.phase.get() = Phase::Running;
        *GLOBAL.world.get() = Some(Box::new(world));
    }
}

/// Ends the world and gives it back to be taken apart.
pub(crate) fn end() -> Option<Box<World>> {
    // SAFETY: see `Global`; there is no other thread any more.
    unsafe {
        *GLOBAL.phase.get() = Phase::After;
        (*GLOBAL.world.get()).take()
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
        way::near(self.kernel.channel_mut())
    }

    /// Counts a message.
    #[inline]
    pub(crate) fn count(&mut self, bytes: usize) {
        self.sent.0 += 1;
        self.sent.1 += bytes as u64;
    }
}
