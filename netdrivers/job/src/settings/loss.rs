//! The value of `POMBO_FAULT_LOSS`: the rate of injected frame loss. `settings` checks it, `job_channel` applies it.

use super::const_format::words;
use pombo_kernel::text::{parse_digits, split_once};

/// Largest rate, in frames per million: a rank that receives less than half of its frames seems to hang, which tests
/// nothing.
const MOST: u32 = 500_000;

/// The valid values.
pub(super) const MUST: &str = words!(
    "per cent up to ", MOST as usize / 10_000;
    " with up to four decimals, such as 0.5 or 5, or with a seed behind it, as in 5:42"
);

/// Parses the arriving frames that are lost, per million, and the seed that selects them.
pub(crate) fn parse(text: &str) -> Option<(u32, u64)> {
    let (percent, seed) = split_once(text, b':').unwrap_or((text, "1"));
    let (whole, decimals) = split_once(percent, b'.').unwrap_or((percent, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let none = whole.is_empty() && decimals.is_empty();
    if none || decimals.len() > 4 || !digits(decimals) || !digits(whole) {
        return None;
    }
    let number = |digits: &str| match digits {
        "" => Some(0),
        digits => u32::try_from(parse_digits(digits.as_bytes(), 10)?).ok(),
    };
    let shift = 10_u32.pow(4 - decimals.len() as u32);
    let whole = number(whole)?.checked_mul(10_000)?;
    let parts = whole.checked_add(number(decimals)? * shift)?;
    (parts <= MOST).then_some((parts, parse_digits(seed.as_bytes(), 10)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_in_a_million() {
        for (text, loss) in [
            ("5", (50_000, 1)),
            ("0.01", (100, 1)),
            ("50:7", (500_000, 7)),
            (".5:0", (5_000, 0)),
        ] {
            assert_eq!(parse(text), Some(loss), "{text}");
        }
        for text in [
            "", "101", "100", "50.0001", "-1", "5:", "5:x", "0.00001", "1e1", "+5", "1.+5",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
