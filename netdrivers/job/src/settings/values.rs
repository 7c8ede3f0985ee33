//! What variables may say, where several say alike. The tables of variables, and who reads a variable.

/// What a variable may say.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// In words that follow "must be" or "give".
    pub must: &'static str,
    /// Whether it may say that.
    pub fits: fn(&str) -> bool,
}

impl Values {
    /// Any number.
    pub const NUMBER: Values = Values {
        must: "a whole number",
        fits: is_number,
    };
    /// A number of them.
    pub const BYTES: Values = Values {
        must: "a number of bytes",
        fits: is_number,
    };
    /// Off or on.
    pub const SWITCH: Values = Values {
        must: "0 or 1",
        fits: |text| ["0", "1"].contains(&text),
    };

    /// Anything but nothing.
    pub const fn text(must: &'static str) -> Values {
        Values {
            must,
            fits: |text| !text.is_empty(),
        }
    }
}

/// `numbers!("seconds", LEAST, MOST)`: [`Values`] that are whole numbers within bounds, which belong to it.
#[doc(hidden)]
#[macro_export]
macro_rules! __numbers {
    ($what:literal, $least:expr, $most:expr) => {
        $crate::settings::Values {
            must: $crate::settings::words!(concat!($what, " from "), $least, " to ", $most),
            fits: |text| {
                let number = text.parse::<usize>();
                number.is_ok_and(|number| ($least..=$most).contains(&number))
            },
        }
    };
}
#[doc(inline)]
pub use __numbers as numbers;

fn is_number(text: &str) -> bool {
    text.parse::<usize>().is_ok()
}
