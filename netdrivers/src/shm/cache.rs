//! What the machine says about its caches.

/// Returns the bytes of the second cache of a processor, its own where there is a third one; 1 MiB where the system does
/// not tell.
pub(super) fn second_level_bytes() -> u32 {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it returns a number.
    let told = unsafe { libc::sysconf(libc::_SC_LEVEL2_CACHE_SIZE) };
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let told = 0;
    match u32::try_from(told) {
        Ok(bytes @ 1..) => bytes,
        _ => 1 << 20,
    }
}
