//! How far the median of a few values can be from the true one. Only `results` uses it.
//!
//! The bounds are those of the sign test: if values are as often above the true median as below it, then of `n` values at
//! most `k` are below it as rarely as a coin shows at most `k` heads in `n` throws. So nothing is assumed of the values'
//! distribution, no random numbers are drawn, and the bounds are two of the values.

/// How often the true median may be beyond one bound.
const RISK: f64 = 0.05;

/// Returns the lower and the upper 95 % bound of the median of ascending values; `None` of fewer than five, by which it
/// cannot be bounded.
pub(super) fn bounds(ascending: &[f64]) -> Option<[f64; 2]> {
    let count = ascending.len();
    // Of all sequences of throws, the share with `heads` heads.
    let mut share = 0.5_f64.powi(i32::try_from(count).ok()?);
    let mut at_most = share;
    let mut outside = None;
    for heads in 0..count {
        if at_most > RISK {
            break;
        }
        outside = Some(heads);
        share *= (count - heads) as f64 / (heads + 1) as f64;
        at_most += share;
    }
    let outside = outside?;
    Some([ascending[outside], ascending[count - 1 - outside]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_count(count: u32) -> Option<[f64; 2]> {
        let values: Vec<f64> = (1..=count).map(f64::from).collect();
        bounds(&values)
    }

    #[test]
    fn as_in_tables_of_the_sign_test() {
        for (count, low) in [
            (5, 1.0),
            (7, 1.0),
            (8, 2.0),
            (11, 3.0),
            (13, 4.0),
            (20, 6.0),
            (25, 8.0),
        ] {
            let high = f64::from(count) + 1.0 - low;
            assert_eq!(of_count(count), Some([low, high]), "{count}");
        }
    }

    #[test]
    fn few_values_bound_nothing() {
        for count in 0..5 {
            assert_eq!(of_count(count), None);
        }
    }

    #[test]
    fn one_value_far_off_moves_no_bound() {
        let mut values: Vec<f64> = (1..=11).map(f64::from).collect();
        let before = bounds(&values);
        values[10] = 1e9;
        assert_eq!(bounds(&values), before);
    }

    #[test]
    fn many_values_leave_numbers_finite() {
        let [low, high] = of_count(1000).unwrap();
        assert!(low > 400.0 && high < 600.0, "{low} {high}");
    }
}
