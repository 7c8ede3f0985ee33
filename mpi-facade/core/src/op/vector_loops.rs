//! Loops over several values at a time. Only `op` uses them.
//!
//! The library as a whole is optimised for size, and then the compiler makes no vector instructions of a loop: a sum of
//! doubles takes twice as long as the memory needs.

use super::loops::Loop;
use crate::datatype::Element;
use crate::user_buffer::Operand;

/// Makes loops of one vector operation, and of one operation for what is left.
macro_rules! vectors {
    ($($name:ident: $vector:ty, $type:ty: $operation:expr, $single:expr;)*) => {$(
        pub(super) fn $name(left: Operand, right: Operand, into: Operand) {
            left.zip_vectors::<$vector, $type>(right, into, $operation, $single);
        }
    )*};
}

vectors! {
    bit_and: u128, u8: |a, b| a & b, |a, b| a & b;
    bit_or: u128, u8: |a, b| a | b, |a, b| a | b;
    bit_xor: u128, u8: |a, b| a ^ b, |a, b| a ^ b;
}

/// Returns the loop that adds such elements; `None` where there is none by vectors.
#[cfg(target_arch = "x86_64")]
pub(super) fn sum(element: Element) -> Option<Loop> {
    Some(match element {
        Element::F64 => sse2::add_f64,
        Element::F32 => sse2::add_f32,
        Element::I64 | Element::U64 => sse2::add_u64,
        Element::I32 | Element::U32 => sse2::add_u32,
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn sum(_: Element) -> Option<Loop> {
    None
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use crate::user_buffer::Operand;
    use core::arch::x86_64::{
        __m128, __m128d, __m128i, _mm_add_epi32, _mm_add_epi64, _mm_add_pd, _mm_add_ps,
    };

    /// Makes an operation of an intrinsic.
    macro_rules! intrinsic {
        ($name:ident) => {
            // SAFETY: it needs SSE2, which every processor of this architecture has.
            |a, b| unsafe { $name(a, b) }
        };
    }

    vectors! {
        add_f64: __m128d, f64: intrinsic!(_mm_add_pd), |a, b| a + b;
        add_f32: __m128, f32: intrinsic!(_mm_add_ps), |a, b| a + b;
        add_u64: __m128i, u64: intrinsic!(_mm_add_epi64), u64::wrapping_add;
        add_u32: __m128i, u32: intrinsic!(_mm_add_epi32), u32::wrapping_add;
    }
}
