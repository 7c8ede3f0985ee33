//! The arithmetic of the machine types as a trait. Only `loops` uses it.

use zerocopy::FromBytes;

/// A number in reductions. Integers wrap around, as C programs expect of a sum.
pub(super) trait Number: Copy + FromBytes {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// Returns whether `self` is greater; false if either is not a number.
    fn exceeds(self, other: Self) -> bool;
    /// Returns whether both are equal; false if either is not a number.
    fn equals(self, other: Self) -> bool;
}

/// An integer as a logical value: every value except 0 is true; true is written as 1.
pub(super) trait Truth: Copy + FromBytes {
    fn truth(self) -> bool;
    fn of(truth: bool) -> Self;
}

macro_rules! number {
    ($($type:ty: $plus:expr, $minus:expr, $times:expr;)*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                $minus(self, other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                $times(self, other)
            }
            #[inline(always)]
            fn exceeds(self, other: Self) -> bool {
                self > other
            }
            #[inline(always)]
            fn equals(self, other: Self) -> bool {
                self == other
            }
        }
    )*};
}

macro_rules! integers {
    ($($type:ty)*) => {
        number! { $($type: <$type>::wrapping_add, <$type>::wrapping_sub, <$type>::wrapping_mul;)* }
    };
}

macro_rules! truths {
    ($($type:ty)*) => {$(
        impl Truth for $type {
            #[inline(always)]
            fn truth(self) -> bool {
                self != 0
            }
            #[inline(always)]
            fn of(truth: bool) -> Self {
                Self::from(truth)
            }
        }
    )*};
}

integers! { i8 u8 i16 u16 i32 u32 i64 u64 i128 }
truths! { u8 u16 u32 u64 u128 }

use core::ops::{Add, Mul, Sub};
number! {
    f32: Add::add, Sub::sub, Mul::mul;
    f64: Add::add, Sub::sub, Mul::mul;
}
