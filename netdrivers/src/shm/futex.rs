//! Sleeping on Linux: futexes, and fences that cost the waker nothing. Used by `Shm` and `Segment` only.

use super::bell::Park;
use super::door::knock;
use super::error::ShmError;
use super::sync::{AtomicU32, Ordering};
use core::sync::atomic::{compiler_fence, fence};
use core::time::Duration;

/// Linux' way to park. All users of a segment use the same kind of fences.
#[derive(Clone, Copy)]
pub(super) struct Futex {
    asymmetric: bool,
}

/// Commands of `membarrier` (global expedited). A real fence would make every send wait until its frame has left the processor's store buffer, which takes as long
/// as the frame needs to the other core. With `membarrier` the sleeper pays for both sides, once, before it sleeps.
const QUERY: libc::c_long = 0;
const BARRIER: libc::c_long = 1 << 1;
const REGISTER: libc::c_long = 1 << 2;

impl Futex {
    /// Does this machine have asymmetric fences?
    pub(super) fn asymmetric_here() -> bool {
        let known = membarrier(QUERY);
        known >= 0 && known & (BARRIER | REGISTER) == BARRIER | REGISTER
    }

    /// Enters this process, for asymmetric fences if all others use them.
    pub(super) fn new(asymmetric: bool) -> Result<Self, ShmError> {
        if asymmetric && membarrier(REGISTER) != 0 {
            return Err(ShmError::last("membarrier"));
        }
        Ok(Self { asymmetric })
    }

    /// For a process that only wakes, and brings its own fences.
    pub(super) const WAKER: Self = Self { asymmetric: false };
}

impl Park for Futex {
    #[inline]
    fn light(&self) {
        if self.asymmetric {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    fn heavy(&self) -> bool {
        fence(Ordering::SeqCst);
        !self.asymmetric || membarrier(BARRIER) == 0
    }

    fn sleep(&self, word: &AtomicU32, value: u32, limit: Option<Duration>) {
        let limit = limit.map(|limit| libc::timespec {
            tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        });
        let limit = limit
            .as_ref()
            .map_or(core::ptr::null(), |limit| &raw const *limit);
        // SAFETY: the word and the limit are valid for the call, and no limit is allowed. The word is shared between
        // processes, hence no FUTEX_PRIVATE_FLAG. Every reason to return is a reason to look again.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT,
                value,
                limit,
            );
        }
    }

    fn wake(&self, word: &AtomicU32, door: u32) {
        if door != 0 {
            return knock(door);
        }
        // SAFETY: the word is valid for the call, which reads nothing else.
        unsafe {
            libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
        }
    }
}

fn membarrier(command: libc::c_long) -> libc::c_long {
    // SAFETY: takes two numbers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0_u32) }
}
