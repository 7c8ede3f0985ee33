//! This process: its host and the number of its processors, and its end.

use core::ffi::c_int;
use core::ptr::null_mut;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::read;
use rustix::system::uname;

/// Passes the name of this host on.
pub fn with_host_name<R>(take: impl FnOnce(&[u8]) -> R) -> R {
    take(uname().nodename().to_bytes())
}

/// Passes on the command that started this process and its arguments, each with a zero behind it: 4 KiB at most, nothing
/// where the system does not tell.
pub fn with_command_line<R>(take: impl FnOnce(&[u8]) -> R) -> R {
    let mut line = [0; 4096];
    let file = open(c"/proc/self/cmdline", OFlags::CLOEXEC, Mode::empty());
    let read = file.and_then(|file| read(&file, &mut line)).unwrap_or(0);
    take(line.get(..read).unwrap_or_default())
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
