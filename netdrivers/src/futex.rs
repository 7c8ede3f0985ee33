//! Sleeping on a word of memory until another thread or process wakes the sleeper. `shm`, `lock` and `loopback` use it.

use core::sync::atomic::AtomicU32;
use core::time::Duration;
use rustix::thread::futex::{self, Flags};

/// Sleeps while the word has this value, up to the limit. May return early: the caller checks again.
pub(crate) fn wait(word: &AtomicU32, value: u32, limit: Option<Duration>) {
    let limit = limit.and_then(|limit| limit.try_into().ok());
    // The word may be shared between processes, hence no Flags::PRIVATE. The caller checks again, whatever the reason
    // of the return.
    let _ = futex::wait(word, Flags::empty(), value, limit.as_ref());
}

/// Wakes up to `sleepers` of the threads that sleep on the word.
pub(crate) fn wake(word: &AtomicU32, sleepers: i32) {
    let _ = futex::wake(word, Flags::empty(), sleepers.cast_unsigned());
}
