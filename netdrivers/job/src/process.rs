//! This process: its host and the number of its processors, and its end.

use core::ffi::c_int;
use core::ptr::null_mut;
use rustix::system::uname;

/// Passes the name of this host on.
pub fn with_host_name<R>(take: impl FnOnce(&[u8]) -> R) -> R {
    take(uname().nodename().to_bytes())
}

/// Returns the number of online processors of this host, at least 1.
pub fn processors() -> usize {
    // SAFETY: the call computes a number.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(online).unwrap_or(1)
}

/// Writes out what the program has printed through C streams.
pub fn flush_streams() {
    // SAFETY: a null stream selects all of them.
    unsafe { libc::fflush(null_mut()) };
}

/// Ends this process immediately, without clean-up.
pub fn exit(status: c_int) -> ! {
    // SAFETY: the call takes a number and never returns.
    unsafe { libc::_exit(status) }
}
