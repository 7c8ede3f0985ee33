//! How many processors there are to wait on. Used by `device_wait` and `shm`.

/// Processors that this machine has at work; at least 1.
#[cfg(feature = "udp")]
pub(crate) fn online() -> usize {
    // SAFETY: computes a number.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(count).unwrap_or(1).max(1)
}

/// The processors that this thread may run on, a bit for each. `None` where the system does not say.
#[cfg(feature = "shm")]
pub(crate) fn affinity<const WORDS: usize>() -> Option<[u64; WORDS]> {
    let mut mask = [0_u64; WORDS];
    // SAFETY: the mask is valid for its size, and the call writes no more; 0 is this thread. The mask is an array of
    // long words, as the system has it, on 64-bit systems.
    let known = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    (known == 0).then_some(mask)
}
