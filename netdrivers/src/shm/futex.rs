//! Sleeping on Linux: futexes, and asymmetric fences that cost the waker nothing. Only `Shm` and `Segment` use it.

use super::error::ShmError;
use super::event_count::Park;
use super::sync::{AtomicU32, Ordering};
use super::wake_socket::notify;
use crate::futex;
use core::sync::atomic::{compiler_fence, fence};
use core::time::Duration;
use rustix::thread::{MembarrierCommand, membarrier, membarrier_query};

/// The park primitives of Linux. All users of a segment use the same kind of fences.
#[derive(Clone, Copy)]
pub(super) struct Futex {
    asymmetric: bool,
}

/// Commands of `membarrier` (global expedited). A real fence would make every send wait until its frame has left the
/// processor's store buffer, which takes as long as the frame needs to the other core. With `membarrier` the sleeper
/// pays for both sides, once, before it sleeps.
const BARRIER: MembarrierCommand = MembarrierCommand::GlobalExpedited;
const REGISTER: MembarrierCommand = MembarrierCommand::RegisterGlobalExpedited;

impl Futex {
    /// Returns whether this machine has asymmetric fences.
    pub(super) fn asymmetric_here() -> bool {
        let known = membarrier_query();
        [BARRIER, REGISTER].map(|command| known.contains_command(command)) == [true; 2]
    }

    /// Creates the primitives, and registers this process for asymmetric fences if all others use them.
    pub(super) fn new(asymmetric: bool) -> Result<Self, ShmError> {
        if asymmetric {
            membarrier(REGISTER).map_err(ShmError::failed("membarrier"))?;
        }
        Ok(Self { asymmetric })
    }

    /// The primitives of a process that only wakes others and executes its own fences.
    pub(super) const WAKER: Self = Self { asymmetric: false };
}

impl Park for Futex {
    #[inline]
    fn light_fence(&self) {
        if self.asymmetric {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    fn heavy_fence(&self) -> bool {
        fence(Ordering::SeqCst);
        !self.asymmetric || membarrier(BARRIER).is_ok()
    }

    fn sleep(&self, word: &AtomicU32, value: u32, limit: Option<Duration>) {
        futex::wait(word, value, limit);
    }

    fn wake(&self, word: &AtomicU32, wake_socket: u32) {
        if wake_socket != 0 {
            return notify(wake_socket);
        }
        futex::wake(word, i32::MAX);
    }
}
