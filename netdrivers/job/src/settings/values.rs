//! Value types of variables. The tables of variables and the readers of a variable use them.

/// The valid values of a variable.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// The description, which follows "must be" or "give".
    pub must: &'static str,
    /// Returns whether a value is valid.
    pub fits: fn(&str) -> bool,
}

impl Values {
    /// Any number.
    pub const NUMBER: Values = Values {
        must: "a whole number",
        fits: is_number,
    };
    /// A number of bytes.
    pub const BYTES: Values = Values {
        must: "a number of bytes",
        fits: is_number,
    };
    /// 0 or 1.
    pub const SWITCH: Values = Values {
        must: "0 or 1",
        fits: |text| ["0", "1"].contains(&text),
    };

    /// Any text that is not empty.
    pub const fn text(must: &'static str) -> Values {
        Values {
            must,
            fits: |text| !text.is_empty(),
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
                let number = $crate::settings::whole(text);
                number.is_some_and(|number| ($least..=$most).contains(&number))
            },
        }
    };
}
#[doc(inline)]
pub use __numbers as numbers;

fn is_number(text: &str) -> bool {
    whole(text).is_some()
}

/// Returns the whole number in a text, if there is one and nothing else.
#[inline(never)]
pub fn whole(text: &str) -> Option<usize> {
    text.parse().ok()
}
