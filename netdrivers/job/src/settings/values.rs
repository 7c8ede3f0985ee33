//! Value types of variables. The tables of variables and the readers of a variable use them.

use pombo_kernel::text::parse_digits;

/// The valid values of a variable.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// The description, which follows "must be" or "give".
    pub must: &'static str,
    /// Returns whether a value is valid.
    pub fits: fn(&str) -> bool,
    /// The least and the most that a number may be.
    pub range: (usize, usize),
}

impl Values {
    /// Any text, also an empty one.
    pub const ANY: Values = Values {
        must: "a text",
        fits: |_| true,
        range: (0, usize::MAX),
    };
    /// Any number.
    pub const NUMBER: Values = Values {
        must: "a whole number",
        fits: is_number,
        ..Values::ANY
    };
    /// A number of bytes.
    pub const BYTES: Values = Values {
        must: "a number of bytes",
        fits: is_number,
        ..Values::ANY
    };
    /// 0 or 1.
    pub const SWITCH: Values = Values {
        must: "0 or 1",
        fits: |text| ["0", "1"].contains(&text),
        ..Values::ANY
    };

    /// Any text that is not empty.
    pub const fn text(must: &'static str) -> Values {
        Values {
            must,
            fits: |text| !text.is_empty(),
            ..Values::ANY
        }
    }
}

/// `numbers!("seconds", LEAST, MOST)`: [`Values`] of whole numbers within bounds, both inclusive.
#[doc(hidden)]
#[macro_export]
macro_rules! __numbers {
    ($what:literal, $least:expr, $most:expr) => {
        $crate::settings::Values {
            must: $crate::settings::words!(concat!($what, " from "), $least, " to ", $most),
            fits: |text| {
                let number = $crate::settings::whole(text.as_bytes());
                number.is_some_and(|number| ($least..=$most).contains(&number))
            },
            range: ($least, $most),
        }
    };
}
#[doc(inline)]
pub use __numbers as numbers;

fn is_number(text: &str) -> bool {
    whole(text.as_bytes()).is_some()
}

/// Returns the whole number in a text, if there is one and nothing else.
pub fn whole(text: &[u8]) -> Option<usize> {
    parse_digits(text, 10)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn numbers_are_what_rust_takes_for_them() {
        let most = alloc::format!("{}", usize::MAX);
        let more = alloc::format!("{most}0");
        for text in [
            "", "+", "-1", "0", "007", "+12", "1 ", "x", "4_0", &most, &more,
        ] {
            assert_eq!(whole(text.as_bytes()), text.parse().ok(), "{text}");
        }
    }
}
