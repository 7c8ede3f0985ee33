//! A thread that makes progress while the program computes: others get what they wait for, and what was lost again.
//! `init` starts and stops it, `World` takes turns with it.
//!
//! Only with the feature `progress-thread`, and only where `POMBO_PROGRESS_THREAD` is 1: it takes time from the
//! program. Calls and thread exclude each other by one lock. Where there is no thread a call looks at a flag, once.

use crate::collective;
use crate::place::PlaceError;
use crate::settings;
use crate::world::{self, World};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, Ordering};

/// There is a thread. Changes only while there is none.
static HERE: AtomicBool = AtomicBool::new(false);
/// It has to end.
static STOP: AtomicBool = AtomicBool::new(false);

struct Lock(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is made to be used by several threads, through its address alone.
unsafe impl Sync for Lock {}

static LOCK: Lock = Lock(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

/// Nanoseconds that the thread sleeps after it had something to do, and at most.
const PAUSES: (i64, i64) = (50_000, 1_000_000);

/// Tries to get a turn, at most: on a busy machine each gives others the processor for long.
const TRIES: u32 = 16;

/// Nobody else is at the world while it lives.
pub(crate) struct Turn {
    locked: bool,
}

/// Waits for the thread, where there is one.
#[inline]
pub(crate) fn turn() -> Turn {
    let locked = HERE.load(Ordering::Relaxed);
    if locked {
        wait();
    }
    Turn { locked }
}

// Neither this nor its counterpart is worth its place in every call.
#[cold]
#[inline(never)]
fn wait() {
    // SAFETY: the mutex lives for ever; this thread does not have it, as no call runs inside another.
    unsafe { libc::pthread_mutex_lock(LOCK.0.get()) };
}

/// As [`turn`], for who may be inside a call already: not if that takes longer than the thread ever has its turn.
pub(crate) fn turn_soon() -> Option<Turn> {
    let mut tries = 0;
    // SAFETY: the mutex lives for ever; who has it already does not get it again.
    while HERE.load(Ordering::Relaxed) && unsafe { libc::pthread_mutex_trylock(LOCK.0.get()) } != 0
    {
        tries += 1;
        if tries == TRIES {
            return None;
        }
        // SAFETY: no demands.
        unsafe { libc::sched_yield() };
    }
    let locked = HERE.load(Ordering::Relaxed);
    Some(Turn { locked })
}

/// In a forked child, which has no such thread.
pub(crate) fn forget() {
    HERE.store(false, Ordering::Relaxed);
}

impl Drop for Turn {
    #[inline]
    fn drop(&mut self) {
        if self.locked {
            leave();
        }
    }
}

#[cold]
#[inline(never)]
fn leave() {
    // SAFETY: the mutex lives for ever, and this thread has locked it.
    unsafe { libc::pthread_mutex_unlock(LOCK.0.get()) };
}

/// The running thread, as `stop` needs it.
pub(crate) struct Thread(libc::pthread_t);

/// Starts the thread if the user wants it. Only after the world has begun.
pub(crate) fn start() -> Result<Option<Thread>, PlaceError> {
    if !settings::PROGRESS_THREAD.is_on() {
        return Ok(None);
    }
    STOP.store(false, Ordering::Relaxed);
    HERE.store(true, Ordering::Relaxed);
    let mut thread = MaybeUninit::uninit();
    // SAFETY: the sets are filled before they are read; the thread takes no argument. It inherits that all signals are
    // blocked, for they are the program's; this thread gets its own set back.
    let (made, thread) = unsafe {
        let (mut all, mut own) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), own.as_mut_ptr());
        let made = libc::pthread_create(thread.as_mut_ptr(), null(), run, null_mut());
        libc::pthread_sigmask(libc::SIG_SETMASK, own.as_ptr(), null_mut());
        (made, thread)
    };
    if made != 0 {
        HERE.store(false, Ordering::Relaxed);
        return Err(PlaceError::System {
            doing: "start the thread for progress",
            errno: made,
        });
    }
    // SAFETY: the call has filled it.
    Ok(Some(Thread(unsafe { thread.assume_init() })))
}

/// Ends the thread. Only while nobody has a turn.
pub(crate) fn stop(thread: Thread) {
    STOP.store(true, Ordering::Relaxed);
    // SAFETY: the thread was started and is joined once.
    unsafe { libc::pthread_join(thread.0, null_mut()) };
    HERE.store(false, Ordering::Relaxed);
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    let (least, most) = PAUSES;
    let mut pause = least;
    while !STOP.load(Ordering::Relaxed) {
        pause = if serve() { least } else { most.min(pause * 2) };
        let time = libc::timespec {
            tv_sec: 0,
            tv_nsec: pause,
        };
        // SAFETY: the time is valid for the call; the rest of an interrupted sleep is not asked for.
        unsafe { libc::nanosleep(&time, null_mut()) };
    }
    null_mut()
}

/// Does what there is to do, unless a call is at it. Returns whether there was anything.
fn serve() -> bool {
    // SAFETY: the mutex lives for ever, and this thread does not have it.
    if unsafe { libc::pthread_mutex_trylock(LOCK.0.get()) } != 0 {
        return false;
    }
    let _turn = Turn { locked: true };
    let progress = |world: &mut World| {
        collective::progress(world, &mut 0);
        // What fails here fails in the program's next call as well.
        Ok(world.kernel.check_messages().unwrap_or(false))
    };
    world::with_turn(progress).unwrap_or(false)
}
