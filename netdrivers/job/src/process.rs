//! This process: its host and the number of its processors, and its end.

use core::ffi::c_int;
use core::mem::zeroed;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, Ordering};
use pombo_netdrivers::tuning::FLUSH_SECONDS;
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

/// Writes out what the program has printed through C streams, before it ends. If that takes longer than [`FLUSH_SECONDS`] it
/// ends the process with this status: a thread that waits for input has the lock of its stream.
pub fn flush_streams(status: c_int) {
    STATUS.store(status, Ordering::Relaxed);
    // SAFETY: zeros are an empty set; it and the handler, which only ends the process, are valid for the calls; a null
    // stream selects all of them.
    unsafe {
        // This ends timers of the program, and to ignore the signal drops one of theirs that is pending.
        libc::alarm(FLUSH_SECONDS);
        libc::signal(libc::SIGALRM, libc::SIG_IGN);
        libc::signal(libc::SIGALRM, give_up as extern "C" fn(c_int) as usize);
        let mut alarm: libc::sigset_t = zeroed();
        libc::sigaddset(&mut alarm, libc::SIGALRM);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &alarm, null_mut());
        libc::fflush(null_mut());
    }
}

/// The status of a process that has given up to write out what was printed.
static STATUS: AtomicI32 = AtomicI32::new(1);

extern "C" fn give_up(_: c_int) {
    exit(STATUS.load(Ordering::Relaxed))
}

/// Ends this process immediately, without clean-up.
pub fn exit(status: c_int) -> ! {
    // SAFETY: the call takes a number and never returns.
    unsafe { libc::_exit(status) }
}
