//! One loop per operation and machine type, behind one function type. Only `op` uses them.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x"))]
use super::long_double::LongDouble;
use super::number::{Number, Truth};
use crate::datatype::Element;
use crate::user_buffer::{Operand, Verdict};
use core::ffi::c_int;

/// Combines all values of two regions, the left and the right operands, into a third, which may be one of them.
pub(super) type Loop = fn(left: Operand, right: Operand, into: Operand);

/// Makes a function that returns the instance of a loop for an element; `None` where the element has no arithmetic.
macro_rules! select {
    ($name:ident = $run:ident for $($(#[$cfg:meta])? $($variant:ident)|+ as $type:ty),* $(,)?) => {
        pub(super) fn $name(element: Element) -> Option<Loop> {
            Some(match element {
                $($(#[$cfg])? $(Element::$variant)|+ => $run::<$type>,)*
                _ => return None,
            })
        }
    };
}

/// Makes such a function for all ordered numbers.
macro_rules! select_ordered {
    ($name:ident = $run:ident) => {
        select! { $name = $run for
            I8 as i8, U8 as u8, I16 as i16, U16 as u16, I32 as i32, U32 as u32, I64 as i64, U64 as u64,
            I128 as i128, F32 as f32, F64 as f64,
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x"))] LongDouble as LongDouble,
        }
    };
}

/// Makes such a function for all numbers with wrapping arithmetic, which signs do not change.
macro_rules! select_wrapping {
    ($name:ident = $run:ident) => {
        select! { $name = $run for
            I8 | U8 as u8, I16 | U16 as u16, I32 | U32 as u32, I64 | U64 as u64, I128 as i128,
            F32 as f32, F64 as f64,
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x"))] LongDouble as LongDouble,
        }
    };
}

/// Makes such a function for logical values.
macro_rules! select_logical {
    ($name:ident = $run:ident) => {
        select! { $name = $run for
            I8 | U8 as u8, I16 | U16 as u16, I32 | U32 as u32, I64 | U64 as u64, I128 as u128,
        }
    };
}

/// Makes such a function for the values of pairs.
macro_rules! select_pair {
    ($name:ident = $run:ident) => {
        select! { $name = $run for
            I16 as i16, I64 as i64, F32 as f32, F64 as f64,
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x"))] LongDouble as LongDouble,
        }
    };
}

/// Makes such a function for pairs of two elements of one type.
macro_rules! select_twin {
    ($name:ident = $run:ident) => {
        select! { $name = $run for I32 as i32, F32 as f32, F64 as f64 }
    };
}

select_ordered!(max = maximum);
select_ordered!(min = minimum);
select_wrapping!(sum = add);
select_wrapping!(product = multiply);
select_logical!(logical_and = both);
select_logical!(logical_or = either);
select_logical!(logical_xor = one_of);
select_pair!(max_place = highest);
select_pair!(min_place = lowest);
select_pair!(replace_pair = overwrite);
select_twin!(max_place_twin = highest_twin);
select_twin!(min_place_twin = lowest_twin);
select! { complex_product = multiply_complex for
    F32 as f32, F64 as f64,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x"))] LongDouble as LongDouble,
}

/// Makes loops that are one expression.
macro_rules! zips {
    ($($name:ident [$($generics:tt)*] $type:ty: |$a:ident, $b:ident| $result:expr;)*) => {$(
        pub(super) fn $name<$($generics)*>(left: Operand, right: Operand, into: Operand) {
            left.zip::<$type>(right, into, |$a, $b| $result);
        }
    )*};
}

zips! {
    maximum [T: Number] T: |a, b| if a.exceeds(b) { a } else { b };
    minimum [T: Number] T: |a, b| if b.exceeds(a) { a } else { b };
    add [T: Number] T: |a, b| a.plus(b);
    multiply [T: Number] T: |a, b| a.times(b);
    multiply_complex [T: Number] [T; 2]: |a, b| [
        a[0].times(b[0]).minus(a[1].times(b[1])),
        a[0].times(b[1]).plus(a[1].times(b[0])),
    ];
    both [T: Truth] T: |a, b| T::of(a.truth() & b.truth());
    either [T: Truth] T: |a, b| T::of(a.truth() | b.truth());
    one_of [T: Truth] T: |a, b| T::of(a.truth() ^ b.truth());
}

/// Does nothing: `MPI_NO_OP`.
pub(super) fn nothing(_: Operand, _: Operand, _: Operand) {}

fn highest_wins<V: Number>(a: V, b: V) -> Verdict {
    if a.exceeds(b) {
        Verdict::Left
    } else if a.equals(b) {
        Verdict::Lower
    } else {
        Verdict::Right
    }
}

fn lowest_wins<V: Number>(a: V, b: V) -> Verdict {
    if b.exceeds(a) {
        Verdict::Left
    } else if a.equals(b) {
        Verdict::Lower
    } else {
        Verdict::Right
    }
}

/// Makes loops over pairs.
macro_rules! judges {
    ($($name:ident, $index:ty: $verdict:expr;)*) => {$(
        fn $name<V: Number>(left: Operand, right: Operand, into: Operand) {
            left.zip_pairs::<V, $index>(right, into, $verdict, Number::exceeds);
        }
    )*};
}

judges! {
    highest, c_int: highest_wins;
    lowest, c_int: lowest_wins;
    highest_twin, V: highest_wins;
    lowest_twin, V: lowest_wins;
    overwrite, c_int: |_, _| Verdict::Left;
}
