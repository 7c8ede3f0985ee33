//! C's `long double` where it is binary128: on s390x, whose processor has it, and on aarch64, by the functions that every
//! compiler brings for it. Only `loops` uses it.
//!
//! Stable Rust has no such type, so its few operations are written in instructions.

use super::number::Number;
use core::arch::asm;
use core::mem::MaybeUninit;
use zerocopy::FromBytes;

/// Sixteen bytes, aligned as C has them.
#[derive(Clone, Copy, FromBytes)]
#[cfg_attr(target_arch = "s390x", repr(C, align(8)))]
#[cfg_attr(target_arch = "aarch64", repr(C, align(16)))]
pub(super) struct LongDouble([u8; 16]);

/// What a comparison may find. It finds neither if the first is less, or if one is not a number.
#[derive(PartialEq)]
enum Relation {
    Greater,
    Equal,
}

/// Loads `$first` into f0 and f2, `$second` into f1 and f3, runs the instruction, and stores f0 and f2.
#[cfg(target_arch = "s390x")]
macro_rules! arithmetic {
    ($first:expr, $second:expr, $instruction:literal, $function:literal) => {{
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

#[cfg(target_arch = "s390x")]
fn holds(first: LongDouble, second: LongDouble, relation: Relation) -> bool {
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
    // The condition code; above it, the register had other bits.
    match code & 3 {
        0 => relation == Relation::Equal,
        2 => relation == Relation::Greater,
        _ => false,
    }
}

/// Calls a function of two numbers that returns one.
#[cfg(target_arch = "aarch64")]
macro_rules! arithmetic {
    ($first:expr, $second:expr, $instruction:literal, $function:literal) => {{
        let mut result = MaybeUninit::<LongDouble>::uninit();
        // SAFETY: the function takes q0 and q1, returns q0, and keeps to C's conventions, so x20 is as it was. This reads
        // sixteen bytes of each operand and writes those of `result`, locals that live until the end of the block.
        unsafe {
            asm!(
                "ldr q0, [{first}]",
                "ldr q1, [{second}]",
                concat!("bl ", $function),
                "str q0, [x20]",
                first = in(reg) &$first,
                second = in(reg) &$second,
                in("x20") result.as_mut_ptr(),
                clobber_abi("C"),
            );
            result.assume_init()
        }
    }};
}

#[cfg(target_arch = "aarch64")]
fn holds(first: LongDouble, second: LongDouble, relation: Relation) -> bool {
    macro_rules! call {
        ($function:literal) => {{
            let result: i32;
            // SAFETY: the function takes q0 and q1, returns w0, and keeps to C's conventions. This reads sixteen bytes of
            // each operand, locals that live until the end of the function.
            unsafe {
                asm!(
                    "ldr q0, [{first}]",
                    "ldr q1, [{second}]",
                    concat!("bl ", $function),
                    first = in(reg) &first,
                    second = in(reg) &second,
                    out("w0") result,
                    clobber_abi("C"),
                );
            }
            result
        }};
    }
    match relation {
        Relation::Greater => call!("__gttf2") > 0,
        Relation::Equal => call!("__eqtf2") == 0,
    }
}

impl Number for LongDouble {
    fn plus(self, other: Self) -> Self {
        arithmetic!(self, other, "axbr %f0, %f1", "__addtf3")
    }

    fn minus(self, other: Self) -> Self {
        arithmetic!(self, other, "sxbr %f0, %f1", "__subtf3")
    }

    fn times(self, other: Self) -> Self {
        arithmetic!(self, other, "mxbr %f0, %f1", "__multf3")
    }

    fn exceeds(self, other: Self) -> bool {
        holds(self, other, Relation::Greater)
    }

    fn equals(self, other: Self) -> bool {
        holds(self, other, Relation::Equal)
    }
}
