//! Sleeping on a word of memory until somebody wakes who sleeps there. Used by `shm`, `lock` and `loopback`.

use core::sync::atomic::AtomicU32;
use core::time::Duration;
use rustix::thread::futex::{self, Flags};

/// Sleeps while the word has this value, for that long at most. May return early: who calls looks again.
pub(crate) fn wait(word: &AtomicU32, value: u32, limit: Option<Duration>) {
    let limit = limit.and_then(|limit| limit.try_into().ok());
    // The word may be shared between processes, hence no Flags::PRIVATE. Every reason to return is a reason to look
    // again.
    let _ = futex::wait(word, Flags::empty(), value, limit.as_ref());
}

/// Wakes so many of those who sleep there.
pub(crate) fn wake(word: &AtomicU32, sleepers: i32) {
    let _ = futex::wake(word, Flags::empty(), sleepers.cast_unsigned());
}
