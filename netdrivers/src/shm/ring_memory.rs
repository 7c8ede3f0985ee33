//! The memory of a ring in a segment. Only `Shm` uses it.

use core::ptr::NonNull;

use pombo_kernel::memory::Part;

use super::layout::GRANULES;
use super::mail::MAIL_GRANULES;
use super::ring::{self, GRANULE, GranuleAccess, WORD};
use super::sync::AtomicU64;

/// The memory of a mail line.
pub(super) type MailMemory = RingMemory<MAIL_GRANULES>;

/// The memory of the ring of one ordered pair of ranks, or of another block of `N` granules.
pub(super) struct RingMemory<const N: usize = GRANULES> {
    ring: NonNull<u8>,
    consumed: NonNull<AtomicU64>,
}

// SAFETY: it is the address of memory that all processes share; the contract of `GranuleAccess` governs the accesses.
unsafe impl<const N: usize> Send for RingMemory<N> {}

impl<const N: usize> RingMemory<N> {
    /// # Safety
    /// Both addresses must stay valid as long as the result: `N` granules, aligned as such, and the
    /// consumer's position.
    pub(super) unsafe fn new(ring: NonNull<u8>, consumed: NonNull<AtomicU64>) -> Self {
        Self { ring, consumed }
    }

    /// Returns the address of `len` bytes behind the first word of a granule.
    #[inline]
    fn bytes(&self, granule: usize, len: usize) -> *mut u8 {
        let start = granule * GRANULE + WORD;
        assert!(granule < N && len <= N * GRANULE - start);
        // SAFETY: the offset lies inside the ring, as was just checked.
        unsafe { self.ring.add(start).as_ptr() }
    }
}

impl<const N: usize> GranuleAccess for RingMemory<N> {
    const GRANULES: usize = N;

    #[inline]
    fn word(&self, granule: usize) -> &AtomicU64 {
        assert!(granule < N);
        // SAFETY: the granule lies inside the ring and is aligned; all concurrent accesses to its first word are
        // atomic, as a record's bytes are written and read only while nobody polls there.
        unsafe { self.ring.add(granule * GRANULE).cast().as_ref() }
    }

    #[inline(always)]
    fn prefetch_write(&self, granule: usize) {
        #[cfg(target_arch = "x86_64")]
        if granule < N {
            let line = self.ring.as_ptr().wrapping_add(granule * GRANULE);
            // SAFETY: a hint; it changes neither memory nor registers. Processors without it take it for a `nop`.
            unsafe {
                core::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = granule;
    }

    #[inline(always)]
    fn prefetch_read(&self, granule: usize) {
        #[cfg(target_arch = "x86_64")]
        if granule < N {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let line = self.ring.as_ptr().wrapping_add(granule * GRANULE);
            // SAFETY: a hint, which every such processor has; it changes nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = granule;
    }

    #[inline]
    fn consumed(&self) -> &AtomicU64 {
        // SAFETY: the address is valid as long as the ring memory, see `new`.
        unsafe { self.consumed.as_ref() }
    }

    #[inline(always)]
    unsafe fn write_parts(&self, granule: usize, len: usize, parts: &[Part<'_>]) {
        let bytes = self.bytes(granule, len);
        // SAFETY: the bytes lie inside the ring and are initialised, as the file starts with zeros; the caller
        // guarantees that nobody else uses them.
        ring::copy_parts(parts, unsafe {
            core::slice::from_raw_parts_mut(bytes, len)
        });
    }

    #[inline]
    unsafe fn read(&self, granule: usize, len: usize, f: impl FnOnce(&[u8])) {
        let bytes = self.bytes(granule, len);
        // SAFETY: as in `write_parts`; the caller guarantees that nobody writes them.
        f(unsafe { core::slice::from_raw_parts(bytes, len) });
    }
}
