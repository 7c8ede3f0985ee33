//! `POMBO_LOSS`: frames that are lost on purpose. `way` only.

use crate::environment::{text, wrong};
use crate::place::PlaceError;

/// `POMBO_LOSS`: arriving frames that are lost on purpose, in a million, and the seed that chooses them.
pub(super) fn loss() -> Result<(u32, u64), PlaceError> {
    let Some(text) = text(c"POMBO_LOSS") else {
        return Ok((0, 0));
    };
    parse_loss(text).ok_or(wrong(
        c"POMBO_LOSS",
        "per cent with up to four decimals, such as 0.5 or 5, or with a seed behind it, as in 5:42",
    ))
}

fn parse_loss(text: &str) -> Option<(u32, u64)> {
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
    (parts <= 1_000_000).then_some((parts, seed.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_in_a_million() {
        for (text, loss) in [
            ("5", (50_000, 1)),
            ("0.01", (100, 1)),
            ("100:7", (1_000_000, 7)),
            (".5:0", (5_000, 0)),
        ] {
            assert_eq!(parse_loss(text), Some(loss), "{text}");
        }
        for text in ["", "101", "-1", "5:", "5:x", "0.00001", "1e1", "+5", "1.+5"] {
            assert_eq!(parse_loss(text), None, "{text}");
        }
    }
}
