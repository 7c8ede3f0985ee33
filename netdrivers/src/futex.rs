//! Sleeping on a word of memory until another thread or process wakes the sleeper. `shm`, `lock` and `loopback` use it.

use core::sync::atomic::AtomicU32;
use core::time::Duration;

/// Sleeps while the word has this value, up to the limit. May return early: the caller checks again.
pub(crate) fn wait(word: &AtomicU32, value: u32, limit: Option<Duration>) {
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    });
    let limit = limit
        .as_ref()
        .map_or(core::ptr::null(), |limit| &raw const *limit);
    // SAFETY: the word and the limit are valid for the call, which permits no limit. The word may be shared between
    // processes, hence no FUTEX_PRIVATE_FLAG. The caller checks again, whatever the reason of the return.
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

/// Wakes up to `sleepers` of the threads that sleep on the word.
pub(crate) fn wake(word: &AtomicU32, sleepers: i32) {
    // SAFETY: the word is valid for the call, which reads nothing else.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, sleepers);
    }
}
