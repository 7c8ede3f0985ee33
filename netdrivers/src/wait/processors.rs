//! The number of processors that a waiting policy counts with. `device_wait` and `shm` use it.

/// Returns the number of online processors of this machine; at least 1.
#[cfg(feature = "udp")]
pub(crate) fn online() -> usize {
    // SAFETY: computes a number.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(count).unwrap_or(1).max(1)
}

/// Returns the processors that this thread may run on, one bit each; `None` if the system does not tell them.
#[cfg(feature = "shm")]
pub(crate) fn affinity<const WORDS: usize>() -> Option<[u64; WORDS]> {
    let mut mask = [0_u64; WORDS];
    // SAFETY: the mask is valid for its size, and the call writes no more; 0 is this thread. The mask is an array of
    // long words, as the system has it, on 64-bit systems.
    let known = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    (known == 0).then_some(mask)
}
