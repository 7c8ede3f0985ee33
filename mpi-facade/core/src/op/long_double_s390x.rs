//! C's `long double` of s390x: binary128 in pairs of registers. Only `loops` uses it.
//!
//! Stable Rust has no such type, so its few operations use the processor's own instructions.

use super::number::Number;
use core::arch::asm;
use core::mem::MaybeUninit;
use zerocopy::FromBytes;

/// Sixteen bytes, aligned to eight as C has them here.
#[derive(Clone, Copy, FromBytes)]
#[repr(C)]
pub(super) struct LongDouble([u64; 2]);

/// Loads `$first` into f0 and f2, `$second` into f1 and f3, runs the instruction, and stores f0 and f2.
macro_rules! arithmetic {
    ($first:expr, $second:expr, $instruction:literal) => {{
        let mut result = MaybeUninit::<LongDouble>::uninit();
        // SAFETY: reads sixteen bytes of each operand and writes those of `result`, locals that live until the end of the
        // block; all registers that change are declared.
        unsafe {
            asm!(
                "ld %f0, 0({first})",
                "ld %f2, 8({first})",
                "ld %f1, 0({second})",
                "ld %f3, 8({second})",
                $instruction,
                "std %f0, 0({result})",
                "std %f2, 8({result})",
                first = in(reg_addr) &$first,
                second = in(reg_addr) &$second,
                result = in(reg_addr) result.as_mut_ptr(),
                out("f0") _, out("f1") _, out("f2") _, out("f3") _,
                options(nostack)
            );
            result.assume_init()
        }
    }};
}

/// The condition code of a comparison.
const EQUAL: u64 = 0;
const HIGH: u64 = 2;

/// Compares, and returns the condition code; another than [`EQUAL`] and [`HIGH`] if either is not a number.
fn compare(first: LongDouble, second: LongDouble) -> u64 {
    let code: u64;
    // SAFETY: reads sixteen bytes of each operand, locals that live until the end of the function, and writes only
    // declared registers.
    unsafe {
        asm!(
            "ld %f0, 0({first})",
            "ld %f2, 8({first})",
            "ld %f1, 0({second})",
            "ld %f3, 8({second})",
            "cxbr %f0, %f1",
            "ipm {code}",
            "srlg {code}, {code}, 28",
            first = in(reg_addr) &first,
            second = in(reg_addr) &second,
            code = out(reg) code,
            out("f0") _, out("f1") _, out("f2") _, out("f3") _,
            options(nostack, readonly)
        );
    }
    // Above it, the register had other bits.
    code & 3
}

impl Number for LongDouble {
    fn plus(self, other: Self) -> Self {
        arithmetic!(self, other, "axbr %f0, %f1")
    }

    fn minus(self, other: Self) -> Self {
        arithmetic!(self, other, "sxbr %f0, %f1")
    }

    fn times(self, other: Self) -> Self {
        arithmetic!(self, other, "mxbr %f0, %f1")
    }

    fn exceeds(self, other: Self) -> bool {
        compare(self, other) == HIGH
    }

    fn equals(self, other: Self) -> bool {
        compare(self, other) == EQUAL
    }
}
