//! A thread that makes progress while the program computes: peers get the messages that they wait for, and lost frames
//! are sent again. `init` starts and stops it; the lock serialises it with calls.
//!
//! It exists only with the feature `progress-thread`, and only where `POMBO_PROGRESS_THREAD` is 1, as it takes
//! processor time from the program.

use super::pthread;
use super::world::{self, World};
use crate::settings::PROGRESS_THREAD;
use alloc::boxed::Box;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};
use pombo_job::JobError;
use pombo_netdrivers::tuning::PROGRESS_PAUSES;
use pombo_netdrivers::wait;

/// Whether the thread has to end.
static STOP: AtomicBool = AtomicBool::new(false);

/// Starts the thread if the user wants it. The world must have begun.
pub(crate) fn start() -> Result<(), Box<JobError>> {
    if !PROGRESS_THREAD.is_on() {
        return Ok(());
    }
    STOP.store(false, Ordering::Relaxed);
    world::share();
    pthread::start(run).map_err(|errno| {
        world::unshare();
        Box::new(JobError::System {
            doing: "start the thread for progress",
            errno,
        })
    })
}

/// Ends the thread, if there is one. No thread may hold the lock.
pub(crate) fn stop() {
    if pthread::has_started() {
        STOP.store(true, Ordering::Relaxed);
        pthread::join();
        world::unshare();
    }
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    let (least, most) = PROGRESS_PAUSES;
    let mut pause = least;
    while !STOP.load(Ordering::Relaxed) {
        pause = if serve() { least } else { most.min(pause * 2) };
        wait::sleep(pause);
    }
    null_mut()
}

/// Makes progress, unless a call does. Returns whether there was anything to do.
fn serve() -> bool {
    let progress = |world: &mut World| {
        world.progress(&mut 0);
        // An error here occurs in the program's next call as well.
        world.kernel.check_messages().unwrap_or(false)
    };
    world::try_with(progress).unwrap_or(false)
}
