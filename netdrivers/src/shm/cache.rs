//! What the processor tells of its caches. Only `Segment` asks.

use crate::tuning::USUAL_SECOND_CACHE;

/// Returns the size in bytes of a processor's second cache, or a usual one where the processor does not tell it.
pub(super) fn second_level_bytes() -> usize {
    match told() {
        0 => USUAL_SECOND_CACHE,
        bytes => bytes,
    }
}

/// The processor tells it in KiB, in the upper half of a register.
#[cfg(target_arch = "x86_64")]
fn told() -> usize {
    use core::arch::x86_64::__cpuid;
    const EXTENDED: u32 = 0x8000_0000;
    const SECOND_CACHE: u32 = 0x8000_0006;
    // SAFETY: every processor of this architecture has the instruction. Newer compilers take it for safe.
    #[allow(unused_unsafe)]
    let ask = |leaf| unsafe { __cpuid(leaf) };
    match ask(EXTENDED).eax >= SECOND_CACHE {
        true => ((ask(SECOND_CACHE).ecx >> 16) as usize) << 10,
        false => 0,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn told() -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_cache_has_a_size_that_machines_have() {
        assert!((64 << 10..64 << 20).contains(&second_level_bytes()));
    }
}
