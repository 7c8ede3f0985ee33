//! What variables may say, where several say alike. The tables of variables, and who reads a variable.

use pombo_netdrivers::shm::OneCopy;

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
    pub(crate) const NUMBER: Values = Values {
        must: "a whole number",
        fits: is_number,
    };
    pub(super) const BYTES: Values = Values {
        must: "a number of bytes",
        fits: is_number,
    };
    pub(super) const SWITCH: Values = Values {
        must: "0 or 1",
        fits: |text| ["0", "1"].contains(&text),
    };
    pub(super) const COPIES: Values = Values {
        must: "auto, never, always, or a number of bytes",
        fits: |text| one_copy(text).is_some(),
    };

    /// Anything but nothing.
    pub(super) const fn text(must: &'static str) -> Values {
        Values {
            must,
            fits: |text| !text.is_empty(),
        }
    }
}

/// Whole numbers within bounds, which belong to it.
macro_rules! numbers {
    ($what:literal, $least:expr, $most:expr) => {
        Values {
            must: words!(concat!($what, " from "), $least, " to ", $most),
            fits: |text| {
                let number = text.parse::<usize>();
                number.is_ok_and(|number| ($least..=$most).contains(&number))
            },
        }
    };
}
pub(super) use numbers;

fn is_number(text: &str) -> bool {
    text.parse::<usize>().is_ok()
}

/// Which messages are read where they lie.
pub(crate) fn one_copy(text: &str) -> Option<OneCopy> {
    Some(match text {
        "auto" => OneCopy::Auto,
        "never" => OneCopy::Never,
        "always" => OneCopy::From(0),
        bytes => OneCopy::From(bytes.parse().ok()?),
    })
}
