//! What `POMBO_FAULT_LOSS` says: how many frames are lost on purpose. `settings` checks it, `job_channel` loses them.

use super::const_format::words;

/// A rank that hears less than half of what is said to it seems to hang: that is no test of anything.
const MOST: u32 = 500_000;

/// What it must be.
pub(super) const MUST: &str = words!(
    "per cent up to ", MOST as usize / 10_000;
    " with up to four decimals, such as 0.5 or 5, or with a seed behind it, as in 5:42"
);

/// Arriving frames that are lost, in a million, and the seed that chooses them.
pub(crate) fn parse(text: &str) -> Option<(u32, u64)> {
    let (percent, seed) = text.split_once(':').unwrap_or((text, "1"));
    let (whole, decimals) = percent.split_once('.').unwrap_or((percent, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let none = whole.is_empty() && decimals.is_empty();
    if none || decimals.len() > 4 || !digits(decimals) || !digits(whole) {
        return None;
    }
    let number = |digits: &str| match digits {
        "" => Some(0),
        digits => digits.parse::<u32>().ok(),
    };
    let shift = 10_u32.pow(4 - decimals.len() as u32);
    let whole = number(whole)?.checked_mul(10_000)?;
    let parts = whole.checked_add(number(decimals)? * shift)?;
    (parts <= MOST).then_some((parts, seed.parse().ok()?))
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
