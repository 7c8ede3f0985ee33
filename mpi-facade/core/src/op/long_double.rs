//! C's `long double` of x86-64: 80 bits of the x87 unit in 16 bytes of memory. Only `loops` uses it.
//!
//! Rust has no such type, so its few operations use the unit's own instructions. On other targets `long double` is
//! binary128: `long_double_quad` has it for two of them, and elsewhere its reductions are refused.

use super::number::Number;
use core::arch::asm;
use core::mem::MaybeUninit;
use zerocopy::FromBytes;

/// Ten bytes of value and six of padding.
#[derive(Clone, Copy, FromBytes)]
#[repr(C, align(16))]
pub(super) struct LongDouble([u8; 10]);

/// Loads `$first`, then `$second`, runs the instructions, and stores the result, which empties the stack.
macro_rules! arithmetic {
    ($first:expr, $second:expr, $instruction:literal) => {{
        let mut result = MaybeUninit::<LongDouble>::uninit();
        // SAFETY: reads ten bytes of each operand and writes the ten bytes of `result`, locals that live until the
        // end of the block; the unit's stack is as empty afterwards as the C ABI has callers leave it before, and all
        // its registers are declared as changed.
        unsafe {
            asm!(
                "fld tbyte ptr [{first}]",
                "fld tbyte ptr [{second}]",
                $instruction,
                "fstp tbyte ptr [{result}]",
                first = in(reg) &$first,
                second = in(reg) &$second,
                result = in(reg) result.as_mut_ptr(),
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack)
            );
            result.assume_init()
        }
    }};
}

/// Compares `$left` with `$right` and stores the condition `$flags` in a byte.
macro_rules! comparison {
    ($left:expr, $right:expr, $($flags:literal),+) => {{
        let holds: u8;
        // SAFETY: reads ten bytes of each operand, locals that live until the end of the block, and writes only
        // declared registers; the unit's stack is empty afterwards, as the C ABI requires callers to leave it.
        unsafe {
            asm!(
                "fld tbyte ptr [{right}]",
                "fld tbyte ptr [{left}]",
                "fucomip st, st(1)",
                $($flags,)+
                "fstp st(0)",
                left = in(reg) &$left,
                right = in(reg) &$right,
                holds = out(reg_byte) holds,
                scratch = out(reg_byte) _,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack, readonly)
            );
        }
        holds != 0
    }};
}

impl Number for LongDouble {
    fn plus(self, other: Self) -> Self {
        arithmetic!(self, other, "faddp st(1), st")
    }

    fn minus(self, other: Self) -> Self {
        // The subtraction negates and adds, which is exact and independent of the order of operands.
        arithmetic!(self, other, "fchs\nfaddp st(1), st")
    }

    fn times(self, other: Self) -> Self {
        arithmetic!(self, other, "fmulp st(1), st")
    }

    fn exceeds(self, other: Self) -> bool {
        comparison!(self, other, "seta {holds}", "mov {scratch}, {holds}")
    }

    fn equals(self, other: Self) -> bool {
        comparison!(
            self,
            other,
            "sete {holds}",
            "setnp {scratch}",
            "and {holds}, {scratch}"
        )
    }
}

#[cfg(test)]
impl From<i64> for LongDouble {
    fn from(value: i64) -> Self {
        let mut result = MaybeUninit::<Self>::uninit();
        // SAFETY: reads the eight bytes of `value` and writes the ten bytes of `result`, locals that live until the end
        // of the block; the unit's stack is empty afterwards, and its registers are declared as changed.
        unsafe {
            asm!(
                "fild qword ptr [{value}]",
                "fstp tbyte ptr [{result}]",
                value = in(reg) &value,
                result = in(reg) result.as_mut_ptr(),
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack)
            );
            result.assume_init()
        }
    }
}

#[cfg(test)]
impl LongDouble {
    pub(super) fn to_bytes(self) -> [u8; 10] {
        self.0
    }
}
