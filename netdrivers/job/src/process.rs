//! This process, as the system has it: on how many processors, and how it ends.

use core::ffi::c_int;
use core::ptr::null_mut;

/// Processors of this host that are online; one at least.
pub fn processors() -> usize {
    // SAFETY: no demands.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(online).unwrap_or(1)
}

/// Writes out what the program has printed through C's streams.
pub fn flush_streams() {
    // SAFETY: a null stream means all of them.
    unsafe { libc::fflush(null_mut()) };
}

/// Ends this process at once, with nothing cleaned up.
pub fn exit(status: c_int) -> ! {
    // SAFETY: it takes a number and never returns.
    unsafe { libc::_exit(status) }
}
