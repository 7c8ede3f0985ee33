//! The combination of values in a reduction.

use super::SharedBytes;
use core::marker::PhantomData;
use zerocopy::{FromBytes, IntoBytes};

/// The operation of a reduction.
pub trait Operator {
    /// Computes `right` = `left` combined with `right`.
    fn combine(&self, left: SharedBytes<'_>, right: SharedBytes<'_>);
}

/// The operator of operations that combine nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoOperator;

impl Operator for NoOperator {
    fn combine(&self, _: SharedBytes<'_>, _: SharedBytes<'_>) {}
}

/// An operator that combines values one by one.
#[derive(Clone, Copy, Debug)]
pub struct Combining<T, F>(F, PhantomData<T>);

impl<T: FromBytes + IntoBytes, F: Fn(T, T) -> T> Combining<T, F> {
    /// Creates an operator from a function of the left and the right operand.
    pub const fn by(function: F) -> Self {
        Combining(function, PhantomData)
    }
}

impl<T: FromBytes + IntoBytes, F: Fn(T, T) -> T> Operator for Combining<T, F> {
    fn combine(&self, left: SharedBytes<'_>, right: SharedBytes<'_>) {
        let width = size_of::<T>().max(1);
        for index in 0..left.len().min(right.len()) / width {
            let at = index * width..(index + 1) * width;
            let (left, right) = (left.part(at.start, at.end), right.part(at.start, at.end));
            let mut sum = (self.0)(value(left), value(right));
            right.write(sum.as_mut_bytes());
        }
    }
}

fn value<T: FromBytes + IntoBytes>(cells: SharedBytes<'_>) -> T {
    let mut value = T::new_zeroed();
    cells.read(value.as_mut_bytes());
    value
}
