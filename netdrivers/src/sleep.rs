//! The system call in which a rank sleeps for descriptors. Drivers use it, and who waits for several.

use core::ptr::{null, null_mut};
use pombo_kernel::channel::Wake;

/// Descriptors that a [`Wake`] may have.
const ENTRIES: usize = 10;

/// Sleeps until that happens, or something else: whoever is back looks again. Returns the system's error number where it
/// cannot.
///
/// # Errors
/// The number. That a signal came is none.
pub fn sleep(wake: Wake) -> Result<(), i32> {
    let readable = wake.readable.map(|fd| (fd, libc::POLLIN));
    let writable = wake.writable.map(|fd| (fd, libc::POLLOUT));
    // The system passes over numbers below zero.
    let mut polled = [libc::pollfd {
        fd: -1,
        events: 0,
        revents: 0,
    }; ENTRIES];
    for (entry, (fd, events)) in polled.iter_mut().zip(readable.into_iter().chain(writable)) {
        (entry.fd, entry.events) = (fd, events);
    }
    let limit = libc::timespec {
        tv_sec: (wake.within / 1_000_000_000) as libc::time_t,
        tv_nsec: (wake.within % 1_000_000_000) as libc::c_long,
    };
    let limit = match wake.within {
        u64::MAX => null(),
        _ => &raw const limit,
    };
    let count = polled.len() as libc::nfds_t;
    // SAFETY: the entries and the limit are valid for the call; no mask is passed.
    let ready = unsafe { libc::ppoll(polled.as_mut_ptr(), count, limit, null_mut()) };
    // SAFETY: the location of this thread's error number is always valid.
    match (ready < 0).then(|| unsafe { *libc::__errno_location() }) {
        None | Some(libc::EINTR) => Ok(()),
        Some(errno) => Err(errno),
    }
}
