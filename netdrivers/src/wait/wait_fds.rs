//! The system call with which a rank sleeps for descriptors. Drivers use it, and callers that wait for several sources.

use crate::Errno;
use crate::tuning::BLIND_SLEEP;
use core::ptr::{null, null_mut};
use pombo_kernel::channel::WaitSet;

/// Number of descriptors that a [`WaitSet`] may have.
const MAX_FDS: usize = 10;

/// Sleeps until an event of the set or until interrupted: the caller polls again. Returns the `errno` value if it
/// cannot.
///
/// # Errors
/// The `errno` value of `ppoll`. An interruption by a signal is no error.
pub fn wait_fds(wake: WaitSet) -> Result<(), i32> {
    let readable = wake.readable.map(|fd| (fd, libc::POLLIN));
    let writable = wake.writable.map(|fd| (fd, libc::POLLOUT));
    // The system refuses more entries than the process may have descriptors.
    let used = readable.into_iter().chain(writable);
    let used = used.filter(|(fd, _)| *fd >= 0);
    let mut polled = [libc::pollfd {
        fd: -1,
        events: 0,
        revents: 0,
    }; MAX_FDS];
    let mut count = 0;
    for (entry, (fd, events)) in polled.iter_mut().zip(used) {
        (entry.fd, entry.events) = (fd, events);
        count += 1;
    }
    match poll(&mut polled[..count], wake.timeout) {
        Err(libc::EINVAL) => poll(&mut [], wake.timeout.min(BLIND_SLEEP)),
        done => done,
    }
}

/// Sleeps for that many nanoseconds; less if a signal arrives.
pub fn sleep(nanoseconds: u64) {
    // Without descriptors the system has no reason to refuse.
    let _ = poll(&mut [], nanoseconds);
}

fn poll(polled: &mut [libc::pollfd], within: u64) -> Result<(), i32> {
    let limit = libc::timespec {
        tv_sec: (within / 1_000_000_000) as libc::time_t,
        tv_nsec: (within % 1_000_000_000) as libc::c_long,
    };
    let limit = match within {
        u64::MAX => null(),
        _ => &raw const limit,
    };
    let count = polled.len() as libc::nfds_t;
    // SAFETY: the entries and the limit are valid for the call; no mask is passed.
    let ready = unsafe { libc::ppoll(polled.as_mut_ptr(), count, limit, null_mut()) };
    match Errno::check(ready) {
        Ok(_) | Err(Errno(libc::EINTR)) => Ok(()),
        Err(Errno(errno)) => Err(errno),
    }
}
