//! Balanced dimensions of a grid. Source: MPI 5.0, section 8.5.2.

use super::arguments::wrong;
use crate::error::{Class, Error};
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;

/// Fills the zeros of `dims` so that the grid has `ranks` ranks, as `MPI_Dims_create`: in non-increasing order, and the
/// largest as small as possible, then the second largest, and so on.
pub fn create(ranks: c_int, dims: &mut [c_int]) -> Result<(), Error> {
    if ranks <= 0 {
        return Err(wrong(Class::Arg, "nnodes", "positive"));
    }
    if dims.iter().any(|&dim| dim < 0) {
        return Err(wrong(Class::Dims, "dims", "0 or more"));
    }
    let given = dims.iter().filter(|&&dim| dim > 0);
    let given = given.map(|&dim| dim as u64).try_fold(1, u64::checked_mul);
    let ranks = ranks as u64;
    let rest = given.filter(|given| ranks.is_multiple_of(*given));
    let Some(rest) = rest.map(|given| ranks / given) else {
        return Err(wrong(
            Class::Dims,
            "dims",
            "such that the product of the given ones divides nnodes",
        ));
    };
    let free = dims.iter_mut().filter(|dim| **dim == 0);
    let mut free: Vec<&mut c_int> = free.collect();
    if free.is_empty() && rest > 1 {
        return Err(wrong(
            Class::Dims,
            "dims",
            "such that their product is nnodes, or zero where it is free",
        ));
    }
    let factors = balanced(rest, free.len());
    for (dim, factor) in free.iter_mut().zip(factors) {
        **dim = factor as c_int;
    }
    Ok(())
}

/// Returns the most balanced factors of a number, in non-increasing order.
fn balanced(number: u64, factors: usize) -> Vec<u64> {
    // A number below 2^31 has at most 30 prime factors; what is beyond them is 1.
    let most = factors.min(30);
    let mut found = split(number, most, number, &divisors(number)).unwrap_or(vec![number]);
    found.resize(factors, 1);
    found
}

/// Splits a number into factors up to a bound, in non-increasing order, each as small as possible. `divisors` are those
/// of a multiple, in ascending order.
fn split(number: u64, factors: usize, bound: u64, divisors: &[u64]) -> Option<Vec<u64>> {
    if number == 1 || factors == 0 {
        return (number == 1).then(|| vec![1; factors]);
    }
    let possible = divisors.iter().copied().filter(|&divisor| {
        let reach = divisor.saturating_pow(factors as u32);
        divisor <= bound && reach >= number && number.is_multiple_of(divisor)
    });
    for first in possible {
        if let Some(mut rest) = split(number / first, factors - 1, first, divisors) {
            rest.insert(0, first);
            return Some(rest);
        }
    }
    None
}

/// Returns the divisors of a number in ascending order.
fn divisors(number: u64) -> Vec<u64> {
    let roots = (1..).take_while(|root| root * root <= number);
    let small: Vec<u64> = roots.filter(|root| number.is_multiple_of(*root)).collect();
    let large = small.iter().rev().map(|divisor| number / divisor);
    let large = large.filter(|divisor| divisor * divisor > number);
    small.iter().copied().chain(large).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims<const N: usize>(ranks: c_int, mut dims: [c_int; N]) -> [c_int; N] {
        create(ranks, &mut dims).unwrap();
        dims
    }

    #[test]
    fn dimensions_are_balanced() {
        assert_eq!(dims(6, [0, 0]), [3, 2]);
        assert_eq!(dims(7, [0, 0]), [7, 1]);
        assert_eq!(dims(6, [0, 3, 0]), [2, 3, 1]);
        assert_eq!(dims(12, [0, 0]), [4, 3]);
        assert_eq!(dims(24, [0, 0, 0]), [4, 3, 2]);
        assert_eq!(dims(48, [0, 0, 0]), [4, 4, 3]);
        assert_eq!(dims(60, [0, 0, 0]), [5, 4, 3]);
        assert_eq!(dims(1, [0, 0, 0]), [1, 1, 1]);
        assert_eq!(dims(8, [2, 0, 2]), [2, 2, 2]);
        assert_eq!(dims(4, [4]), [4]);
        assert_eq!(
            dims(1 << 30, [0; 40])[..31],
            [[2; 30].as_slice(), &[1]].concat()
        );
        assert_eq!(dims(c_int::MAX, [0, 0]), [c_int::MAX, 1]);
        assert_eq!(
            dims(2_095_133_040, [0; 5])
                .iter()
                .map(|&it| i64::from(it))
                .product::<i64>(),
            2_095_133_040
        );
    }

    #[test]
    fn impossible_dimensions_are_refused() {
        let class = |ranks, mut dims: [c_int; 2]| create(ranks, &mut dims).unwrap_err().class();
        assert_eq!(class(6, [4, 0]), Class::Dims);
        assert_eq!(class(6, [-1, 0]), Class::Dims);
        assert_eq!(class(6, [2, 2]), Class::Dims);
        assert_eq!(class(0, [0, 0]), Class::Arg);
        assert_eq!(class(8, [c_int::MAX, c_int::MAX]), Class::Dims);
    }

    /// Compares with all factorisations of small numbers.
    #[test]
    fn no_factors_are_more_balanced() {
        for number in 1..400 {
            let mut best = [u64::MAX; 3];
            for first in 1..=number {
                for second in 1..=first {
                    let third = number / (first * second).max(1);
                    if third <= second && first * second * third == number {
                        best = best.min([first, second, third]);
                    }
                }
            }
            assert_eq!(balanced(number, 3), best);
        }
    }
}
