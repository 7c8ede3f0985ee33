//! The MPI world of a process: between `MPI_Init` and `MPI_Finalize` every call works on it. Calls take it only here.

pub(crate) use crate::error::CommError;

use super::callback;
use super::lock::{self, Turn};
use super::phase::{self, Phase, phase};
use super::pthread::{self, in_children};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::explanation::WaitRecord;
use crate::kernel::Kernel;
use crate::objects::Objects;
use crate::request::{Activity, RequestKind, RequestState};
use crate::status::Status;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use pombo_job::{Hosts, Launcher, WorldChannel};
use pombo_netdrivers::shm::Shm;
use pombo_netdrivers::tuning::RANK_SPINS;

/// The state of MPI in this process.
pub(crate) struct World {
    /// The kernel below.
    pub(crate) kernel: Kernel,
    /// Communicators, and the state of parts of MPI.
    pub(crate) objects: Objects,
    /// Functions that make progress outside the kernel, while they have something to do.
    pub(super) active: Vec<Progress>,
    /// The functions of requests that are not the kernel's, by kind, once there was one.
    request_ops: [Option<&'static RequestOps>; RequestKind::COUNT],
    /// Why the last post was refused, until its call returns it.
    pub(crate) refused: Option<CommError>,
    /// Counts of polls without success.
    pub(crate) idle_counts: IdleCounts,
    /// Messages and bytes that this rank has sent.
    pub(crate) sent: (u64, u64),
    /// Which ranks are on which host.
    pub(crate) hosts: Hosts,
    /// The connection to the launcher, if it wants a report of the end.
    pub(crate) launcher: Option<Launcher>,
    /// How long the current call has waited.
    #[cfg_attr(
        not(feature = "diagnostics"),
        expect(dead_code, reason = "nobody asks")
    )]
    pub(crate) wait_record: WaitRecord,
}

/// Progresses operations as far as possible. `idle` counts consecutive polls without a message; `came` says whether one
/// has arrived since the last call. Returns false when nothing is left to do.
pub(crate) type Progress = fn(world: &mut World, idle: &mut u32, came: bool) -> bool;

/// The functions of a kind of requests that are not the kernel's.
pub(crate) struct RequestOps {
    /// Starts an inactive persistent request. `None` for kinds whose requests end with their operations.
    pub(crate) start: Option<fn(&mut World, Request) -> Result<(), CommError>>,
    /// Returns whether a persistent request is inactive. `None` for kinds whose requests never are.
    pub(crate) is_inactive: Option<fn(&mut World, Request) -> bool>,
    /// Returns what an operation is doing, without effect on its result.
    pub(crate) activity: fn(&mut World, Request) -> Result<Activity, CommError>,
    /// Tests whether an operation is complete, which invalidates the handle unless it is persistent.
    pub(crate) test: fn(&mut World, Request, &mut Status) -> Result<RequestState, CommError>,
    /// Tests whether an operation is complete, and keeps the handle.
    pub(crate) peek: fn(&mut World, Request, &mut Status) -> Result<RequestState, CommError>,
    /// Does for a waiting operation what [`stall_recovery`](crate::stall_recovery) does: for example, fails one that
    /// has lost one of its ranks.
    pub(crate) recover_stalled: fn(&mut World, Request),
    /// Cancels an operation.
    pub(crate) cancel: fn(&mut World, Request) -> Result<(), CommError>,
    /// Frees a request whose operation may continue.
    pub(crate) free: fn(&mut World, Request) -> Result<(), CommError>,
}

/// Counts of polls without success.
#[derive(Default)]
pub(crate) struct IdleCounts {
    /// Polls of the call that waits.
    pub(crate) waiting: u32,
    /// Calls so far that have waited or polled while something made progress outside the kernel.
    pub(crate) waits: u32,
    /// Polls of testing calls since the last check for ended ranks.
    pub(crate) tested: u32,
    /// Polls of testing calls since a time, and that time in nanoseconds.
    pub(crate) untested: (u32, u64),
    /// Polls for room for the copy of a send that waits.
    pub(crate) stalled: u32,
}

/// Whether there is a path for one thread that does without an atomic exchange.
const FAST_PATHS: bool = cfg!(feature = "fast-paths");

/// The world while no call has it; null during calls, while the world is in [`IN_TURN`] or [`SHARED`], and where there is
/// none.
static FREE: AtomicPtr<World> = AtomicPtr::new(null_mut());
/// The world where threads call in turn (`MPI_THREAD_SERIALIZED`): it belongs to the call that has set [`CALLED`], so of
/// two calls at once one fails by name. Else null.
static IN_TURN: AtomicPtr<World> = AtomicPtr::new(null_mut());
/// Whether a call has the world in [`IN_TURN`]. It stays set when the world has ended.
static CALLED: AtomicBool = AtomicBool::new(false);
/// The world where the lock serialises calls: it belongs to the holder of the lock. Else null. It changes only between
/// calls.
static SHARED: AtomicPtr<World> = AtomicPtr::new(null_mut());
/// All of them. The world is in one at most, but for what [`World::lend`] does.
static HOMES: [&AtomicPtr<World>; 3] = [&FREE, &IN_TURN, &SHARED];

/// Number of callbacks that have the world from a call that waits for them.
static LENT: AtomicUsize = AtomicUsize::new(0);

/// Exclusive ownership of the world for a call.
struct Taken {
    world: NonNull<World>,
    /// `None` on the fast path.
    slow: Option<SlowPath>,
}

/// How a call took the world that was not in [`FREE`].
enum SlowPath {
    /// The call has set [`CALLED`].
    InTurn,
    /// The call holds the lock.
    Locked(Turn),
}

impl Taken {
    /// Takes the world on the fast path. Later calls find null until it is released. Two threads that take it in the
    /// same instant are a data race of the program, as with `MPI_THREAD_FUNNELED` only the main thread may call; builds
    /// without fast paths take it by an exchange at every level.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn take() -> Option<Taken> {
        let free = match FAST_PATHS {
            true => FREE.load(Ordering::Relaxed),
            false => FREE.swap(null_mut(), Ordering::Acquire),
        };
        let (world, slow) = (NonNull::new(free)?, None);
        if FAST_PATHS {
            FREE.store(null_mut(), Ordering::Relaxed);
        }
        Some(Taken { world, slow })
    }

    /// Takes the world where threads call in turn.
    #[inline]
    fn in_turn() -> Option<Taken> {
        if !FAST_PATHS {
            return None;
        }
        let world = NonNull::new(IN_TURN.load(Ordering::Acquire))?;
        let slow = Some(SlowPath::InTurn);
        (!CALLED.swap(true, Ordering::Acquire)).then_some(Taken { world, slow })
    }

    /// Takes the world on the slow path, where that needs the lock by waiting for it. If it returns `None`, [`absent`]
    /// says why.
    #[cold]
    #[inline(never)]
    fn wait() -> Option<Taken> {
        let taken = Taken::in_turn();
        if taken.is_some() {
            return taken;
        }
        if SHARED.load(Ordering::Relaxed).is_null() || callback::current().is_some() {
            return None;
        }
        lock::turn().and_then(Taken::shared)
    }

    /// Takes the shared world with the lock held.
    fn shared(turn: Turn) -> Option<Taken> {
        let world = NonNull::new(SHARED.load(Ordering::Relaxed))?;
        let slow = Some(SlowPath::Locked(turn));
        Some(Taken { world, slow })
    }

    /// Runs a call on the world and releases it.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn with<R>(mut self, call: impl FnOnce(&mut World) -> R) -> R {
        // SAFETY: `begin` has made the world from a box, and `end` leaves it while a call has it. No other reference is
        // used: until it is put back it is not free, or marked as called, or this thread holds the lock; and where a call
        // lends it to a callback (`World::lend`), this pointer comes from its reference, which it uses again only
        // afterwards.
        let outcome = call(unsafe { self.world.as_mut() });
        self.end();
        outcome
    }

    /// Releases the world.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn end(self) {
        match self.slow {
            None => FREE.store(self.world.as_ptr(), Ordering::Release),
            Some(slow) => slow.end(),
        }
    }
}

impl SlowPath {
    /// Releases the world. Not inlined, to keep the fast path short.
    #[cold]
    #[inline(never)]
    fn end(self) {
        match self {
            SlowPath::InTurn => CALLED.store(false, Ordering::Release),
            SlowPath::Locked(turn) => drop(turn),
        }
    }
}

/// Runs a call on the world.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(crate) fn with<R>(
    call: impl FnOnce(&mut World) -> Result<R, CommError>,
) -> Result<R, CommError> {
    match Taken::take().or_else(Taken::wait) {
        Some(taken) => taken.with(call),
        None => Err(absent()),
    }
}

/// Runs a call as [`with`] on the fast path only, for calls that take a few nanoseconds. Returns `None` without effect
/// if that is not open; [`with`] then finds out why.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(crate) fn with_alone<R>(call: impl FnOnce(&mut World) -> R) -> Option<R> {
    Taken::take().map(|taken| taken.with(call))
}

/// Runs a call as [`with`] on the fast path, for calls in which each instruction counts; `otherwise` is the same call
/// by [`with`], in a separate function.
#[cfg_attr(feature = "fast-paths", inline(always))]
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

/// Runs a local function, which uses only objects of this process: callbacks may call it. There is one instance of the
/// function for all paths, as there are hundreds of such functions.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(crate) fn local<R>(
    call: impl FnOnce(&mut Objects) -> Result<R, CommError>,
) -> Result<R, CommError> {
    let mut access = Access::take()?;
    let outcome = call(access.objects());
    access.end();
    outcome
}

/// The objects, exclusively for a local function.
enum Access {
    World(Taken),
    /// Lent to a callback by the call around it.
    Lent(NonNull<Objects>),
}

impl Access {
    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn take() -> Result<Self, CommError> {
        match Taken::take() {
            Some(taken) => Ok(Access::World(taken)),
            None => Access::wait(),
        }
    }

    #[cold]
    #[inline(never)]
    fn wait() -> Result<Self, CommError> {
        let lent = callback::take_lent().map(Access::Lent);
        let access = lent.or_else(|| Taken::wait().map(Access::World));
        access.ok_or_else(absent)
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn objects(&mut self) -> &mut Objects {
        // SAFETY: a taken world belongs to this call, see `Taken::with`. `callback::run` has borrowed what is lent until
        // the callback ends, and `take_lent` gives it to one call at a time.
        unsafe {
            match self {
                Access::World(taken) => &mut taken.world.as_mut().objects,
                Access::Lent(objects) => objects.as_mut(),
            }
        }
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn end(self) {
        match self {
            Access::World(taken) => taken.end(),
            Access::Lent(objects) => callback::give_back(objects),
        }
    }
}

/// Runs a call as [`with`], unless another call has the world: then returns `None`.
#[cfg(feature = "progress-thread")]
pub(super) fn try_with<R>(call: impl FnOnce(&mut World) -> R) -> Option<R> {
    let taken = lock::try_turn().and_then(Taken::shared)?;
    Some(taken.with(call))
}

/// Runs a call for which the world is optional, if no other call has it; that may be one of this thread, as a signal
/// handler may run inside a call.
pub(crate) fn if_free(call: impl FnOnce(&mut World)) {
    // That the world is not free is no error here.
    let _ = match SHARED.load(Ordering::Relaxed).is_null() {
        true => Taken::take().or_else(Taken::in_turn),
        false => lock::turn_soon().and_then(Taken::shared),
    }
    .map(|taken| taken.with(call));
}

/// Refuses a call that would end the world, inside a callback that has it only lent.
pub(crate) fn check_not_lent() -> Result<(), CommError> {
    match LENT.load(Ordering::Relaxed) {
        0 => Ok(()),
        _ => Err(Error::Argument {
            class: Class::Other,
            name: "MPI_Finalize",
            must: "called after the callback: another call of MPI waits for it",
        }
        .into()),
    }
}

/// Returns why there is no world to work on.
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
#[cold]
#[inline(never)]
pub(crate) fn begin(world: World, threads: c_int) {
    // A child process is not part of the job: it would corrupt the queues of the rank, whose memory it shares.
    in_children(forked);
    phase::note(world.kernel.me().index(), world.kernel.peers(), threads);
    home(threads).store(Box::into_raw(Box::new(world)), Ordering::Release);
    phase::enter(Phase::Running);
}

/// Returns where the world is between calls at that level of thread support, if not in [`SHARED`].
fn home(threads: c_int) -> &'static AtomicPtr<World> {
    match threads {
        MPI_THREAD_SERIALIZED if FAST_PATHS => &IN_TURN,
        _ => &FREE,
    }
}

/// Puts the world behind the lock. No call may be under way.
#[cfg(any(feature = "progress-thread", test))]
pub(super) fn share() {
    let world = home(phase::granted()).swap(null_mut(), Ordering::Relaxed);
    if !world.is_null() {
        SHARED.store(world, Ordering::Relaxed);
    }
}

/// Puts the world back where the level of thread support has it. No call may be under way.
#[cfg(any(feature = "progress-thread", test))]
pub(super) fn unshare() {
    let world = SHARED.swap(null_mut(), Ordering::Relaxed);
    home(phase::granted()).store(world, Ordering::Release);
}

/// Ends the world and returns it. `None` if a call has it, or there is none.
pub(crate) fn end() -> Option<Box<World>> {
    let _turn = lock::turn()?;
    check_not_lent().ok()?;
    // It stays set: a thread may have read the pointer just now.
    if FAST_PATHS && CALLED.swap(true, Ordering::Acquire) {
        return None;
    }
    let mut worlds = HOMES
        .iter()
        .map(|home| home.swap(null_mut(), Ordering::Relaxed));
    let Some(world) = worlds.find(|world| !world.is_null()) else {
        CALLED.store(false, Ordering::Release);
        return None;
    };
    phase::enter(Phase::After);
    // SAFETY: `begin` has made it from a box, and all pointers to it are cleared.
    Some(unsafe { Box::from_raw(world) })
}

/// Runs in a forked child process: it detaches from the inherited state, so that the child does not act as the rank,
/// and refuses its calls.
extern "C" fn forked() {
    if phase() == Phase::Running {
        phase::enter(Phase::Forked);
        for home in HOMES {
            home.store(null_mut(), Ordering::Relaxed);
        }
        pombo_job::let_go();
    }
}

impl World {
    // Not inlined: its parts would be moved word by word.
    #[inline(never)]
    pub(crate) fn new(
        kernel: Kernel,
        objects: Objects,
        hosts: Hosts,
        launcher: Option<Launcher>,
    ) -> Self {
        World {
            kernel,
            objects,
            active: Vec::new(),
            request_ops: [None; RequestKind::COUNT],
            refused: None,
            idle_counts: IdleCounts::default(),
            sent: (0, 0),
            hosts,
            launcher,
            wait_record: WaitRecord::default(),
        }
    }

    /// Returns the count of polls without success at which a wait starts. Ranks of several hosts that wait for all
    /// others yield the processor at once: the wait takes longer than a yield, and on a host with busy processors each
    /// yield counts.
    #[inline]
    pub(crate) fn first_idle(&self) -> u32 {
        if self.hosts.is_single() {
            0
        } else {
            RANK_SPINS
        }
    }

    /// Returns the memory that the ranks of this host share.
    #[inline]
    pub(crate) fn shm(&mut self) -> &mut Shm {
        self.kernel.channel_mut().memory()
    }

    /// Runs a callback of the program that may call MPI: its calls take the world as calls outside do, but without the lock,
    /// which this thread holds where there is one. A call of another thread, which is an error, ends first.
    #[cold]
    #[inline(never)]
    pub(crate) fn lend<R>(&mut self, callback: impl FnOnce() -> R) -> R {
        LENT.fetch_add(1, Ordering::Relaxed);
        let result = match core::ptr::eq(home(phase::granted()), &FREE) {
            true => self.lend_free(callback),
            false => self.lend_in_turn(callback),
        };
        LENT.fetch_sub(1, Ordering::Relaxed);
        result
    }

    fn lend_free<R>(&mut self, callback: impl FnOnce() -> R) -> R {
        FREE.store(self, Ordering::Release);
        let result = callback();
        while FREE.swap(null_mut(), Ordering::Acquire).is_null() && phase() == Phase::Running {
            pthread::yield_now();
        }
        result
    }

    fn lend_in_turn<R>(&mut self, callback: impl FnOnce() -> R) -> R {
        let before = IN_TURN.swap(self, Ordering::Release);
        CALLED.store(false, Ordering::Release);
        let result = callback();
        while CALLED.swap(true, Ordering::Acquire) && phase() == Phase::Running {
            pthread::yield_now();
        }
        // A child that the callback has forked has no world.
        let before = match phase() {
            Phase::Running => before,
            _ => null_mut(),
        };
        IN_TURN.store(before, Ordering::Relaxed);
        if before.is_null() {
            CALLED.store(false, Ordering::Release);
        }
        result
    }

    /// Returns the functions of a request that is not the kernel's. `None` if it is, or there was none of its kind.
    #[cold]
    pub(crate) fn request_ops(&self, request: Request) -> Option<&'static RequestOps> {
        self.request_ops[RequestKind::of(request)? as usize]
    }

    /// Sets the functions of a kind of requests; every start of such an operation does so.
    #[inline]
    pub(crate) fn set_request_ops(&mut self, kind: RequestKind, ops: &'static RequestOps) {
        self.request_ops[kind as usize] = Some(ops);
    }

    /// Counts a message of `bytes` bytes.
    #[inline]
    pub(crate) fn count(&mut self, bytes: usize) {
        self.sent.0 += 1;
        self.sent.1 += bytes as u64;
    }
}
