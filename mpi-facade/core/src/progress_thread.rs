//! A thread that makes progress while the program computes: others get what they wait for, and what was lost again.
//! `init` starts and stops it; it takes turns with calls.
//!
//! Only with the feature `progress-thread`, and only where `POMBO_PROGRESS_THREAD` is 1: it takes time from the
//! program.

use crate::settings::PROGRESS_THREAD;
use crate::turn;
use crate::world::{self, World};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use pombo_job::JobError;
use pombo_netdrivers::wait::constants::PROGRESS_PAUSES;

/// It has to end.
static STOP: AtomicBool = AtomicBool::new(false);
/// The thread, if there is one; else 0, which is no thread's.
static THREAD: AtomicU64 = AtomicU64::new(0);

/// Starts the thread if the user wants it. Only after the world has begun.
pub(crate) fn start() -> Result<(), JobError> {
    if !PROGRESS_THREAD.is_on() {
        return Ok(());
    }
    STOP.store(false, Ordering::Relaxed);
    turn::share();
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
        turn::forget();
        return Err(JobError::System {
            doing: "start the thread for progress",
            errno: made,
        });
    }
    // SAFETY: the call has filled it.
    THREAD.store(unsafe { thread.assume_init() }, Ordering::Relaxed);
    Ok(())
}

/// Ends the thread, if there is one. Only while nobody has a turn.
pub(crate) fn stop() {
    let thread = THREAD.swap(0, Ordering::Relaxed);
    if thread != 0 {
        STOP.store(true, Ordering::Relaxed);
        // SAFETY: the thread was started, and is joined once.
        unsafe { libc::pthread_join(thread, null_mut()) };
        turn::forget();
    }
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    let (least, most) = PROGRESS_PAUSES;
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
    let Some(_turn) = turn::try_turn() else {
        return false;
    };
    let progress = |world: &mut World| {
        world.progress(&mut 0);
        // What fails here fails in the program's next call as well.
        Ok(world.kernel.check_messages().unwrap_or(false))
    };
    world::with_turn(progress).unwrap_or(false)
}
