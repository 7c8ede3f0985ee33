//! Texts without the machinery of formatting, which would be a twentieth of a small program. Errors of all packages write
//! themselves this way; their `Display` does the same.

use core::fmt;

/// A place that takes texts.
pub trait WriteText {
    /// Appends a text, as far as there is room.
    fn write_text(&mut self, text: &str);
}

/// What can be written as a text.
pub trait ToText {
    /// Writes all of the value to `out`, which takes as much as it has room for.
    fn put_text(&self, out: &mut dyn WriteText);
}

/// Values as [`fill!`] takes them: what a reference refers to, without another reference in between.
#[doc(hidden)]
pub trait AsText {
    fn as_text(&self) -> &dyn ToText;
}

impl<T: ToText> AsText for T {
    fn as_text(&self) -> &dyn ToText {
        self
    }
}

/// `fill!(out, "rank {} of {}", rank, ranks)`: writes a text with values in place of each `{}`. As many values as there are
/// places; otherwise it does not compile.
#[doc(hidden)]
#[macro_export]
macro_rules! __fill {
    ($out:expr, $template:expr $(, $value:expr)* $(,)?) => {{
        const { assert!($crate::text::places($template) == <[&str]>::len(&[$(stringify!($value)),*])) };
        #[allow(unused_imports, reason = "there may be no value")]
        use $crate::text::AsText as _;
        $crate::text::fill($out, $template, &[$($value.as_text()),*])
    }};
}
#[doc(inline)]
pub use __fill as fill;

/// `display_as_text!(Type)`: implements `Display` of a type that is [`ToText`].
#[doc(hidden)]
#[macro_export]
macro_rules! __display_as_text {
    ($name:ty) => {
        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::text::display(self, f)
            }
        }
    };
}
#[doc(inline)]
pub use __display_as_text as display_as_text;

/// Returns the number of places for values.
#[doc(hidden)]
pub const fn places(template: &str) -> usize {
    let (bytes, mut at, mut places) = (template.as_bytes(), 1, 0);
    while at < bytes.len() {
        places += (bytes[at - 1] == b'{' && bytes[at] == b'}') as usize;
        at += 1;
    }
    places
}

/// Writes a text with values in their places: see [`fill!`].
#[cold]
#[inline(never)]
pub fn fill(out: &mut dyn WriteText, template: &str, values: &[&dyn ToText]) {
    let mut rest = template;
    for value in values {
        let mut pairs = rest.as_bytes().windows(2);
        let place = pairs.position(|pair| pair == b"{}").unwrap_or(rest.len());
        out.write_text(rest.get(..place).unwrap_or_default());
        value.put_text(out);
        rest = rest.get(place + 2..).unwrap_or_default();
    }
    out.write_text(rest);
}

/// Writes a number in digits of a base up to 16, at least so many.
#[cold]
#[inline(never)]
pub fn write_digits(out: &mut dyn WriteText, number: u64, base: u64, least: u32) {
    let mut unit = 1;
    for _ in 1..least {
        unit *= base;
    }
    while number / unit >= base {
        unit *= base;
    }
    while unit > 0 {
        let digit = (number / unit % base) as usize;
        out.write_text("0123456789abcdef".get(digit..=digit).unwrap_or_default());
        unit /= base;
    }
}

/// Writes a number in decimal digits.
#[inline(never)]
pub fn write_number(out: &mut dyn WriteText, number: i64) {
    if number < 0 {
        out.write_text("-");
    }
    write_digits(out, number.unsigned_abs(), 10, 1);
}

/// Parses a number in digits of a base up to 16, if there is one and nothing else; a `+` may stand before it.
#[inline(never)]
pub fn parse_digits(text: &[u8], base: u32) -> Option<u64> {
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    let mut number = 0_u64;
    for digit in digits {
        let digit = char::from(*digit).to_digit(base)?;
        number = number.checked_mul(base.into())?.checked_add(digit.into())?;
    }
    (!digits.is_empty()).then_some(number)
}

/// Splits a text at the first such ASCII letter, which is in neither part.
#[inline(never)]
pub fn split_once(text: &str, at: u8) -> Option<(&str, &str)> {
    let place = text.bytes().position(|byte| byte == at)?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

/// Returns the fields of a text between such ASCII letters: one more than there are letters.
pub fn fields(text: &str, between: u8) -> Fields<'_> {
    Fields {
        rest: Some(text),
        between,
    }
}

/// The fields of a text.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: Option<&'a str>,
    between: u8,
}

impl<'a> Fields<'a> {
    /// Returns all that is left as one field.
    pub fn rest(self) -> Option<&'a str> {
        self.rest
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a str;

    #[inline(never)]
    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest?;
        let (field, behind) = match split_once(rest, self.between) {
            Some((field, behind)) => (field, Some(behind)),
            None => (rest, None),
        };
        self.rest = behind;
        Some(field)
    }
}

/// Returns a line of a text by its number from 0, or an empty one: a list of words without an address for each.
pub const fn line(text: &'static str, number: usize) -> &'static str {
    let (mut rest, mut number) = (text, number);
    loop {
        let mut end = 0;
        while end < rest.len() && rest.as_bytes()[end] != b'\n' {
            end += 1;
        }
        match (rest.split_at_checked(end), rest.split_at_checked(end + 1)) {
            (Some((line, _)), _) if number == 0 => return line,
            (_, Some((_, behind))) => rest = behind,
            _ => return "",
        }
        number -= 1;
    }
}

/// A number in hexadecimal digits, at least so many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hexadecimal(pub u64, pub u32);

impl ToText for Hexadecimal {
    fn put_text(&self, out: &mut dyn WriteText) {
        write_digits(out, self.0, 16, self.1);
    }
}

impl ToText for str {
    fn put_text(&self, out: &mut dyn WriteText) {
        out.write_text(self);
    }
}

impl<T: ToText + ?Sized> ToText for &T {
    fn put_text(&self, out: &mut dyn WriteText) {
        (**self).put_text(out);
    }
}

impl ToText for char {
    fn put_text(&self, out: &mut dyn WriteText) {
        out.write_text(self.encode_utf8(&mut [0; 4]));
    }
}

macro_rules! numbers {
    ($($signed:ident)*, $($unsigned:ident)*) => {
        $(impl ToText for $signed {
            fn put_text(&self, out: &mut dyn WriteText) {
                write_number(out, (*self).into());
            }
        })*
        $(impl ToText for $unsigned {
            fn put_text(&self, out: &mut dyn WriteText) {
                write_digits(out, *self as u64, 10, 1);
            }
        })*
    };
}
numbers! { i32 i64, u16 u32 u64 usize }

/// Displays what is written as a text: see [`display_as_text!`].
pub fn display(value: &dyn ToText, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    struct Formatted<'a, 'b> {
        f: &'a mut fmt::Formatter<'b>,
        result: fmt::Result,
    }

    impl WriteText for Formatted<'_, '_> {
        fn write_text(&mut self, text: &str) {
            self.result = self.result.and_then(|()| self.f.write_str(text));
        }
    }

    let result = Ok(());
    let mut out = Formatted { f, result };
    value.put_text(&mut out);
    out.result
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;
    use std::string::String;

    impl WriteText for String {
        fn write_text(&mut self, text: &str) {
            self.push_str(text);
        }
    }

    #[test]
    fn values_stand_in_their_places() {
        let mut text = String::new();
        fill!(&mut text, "{{}:{}}{", "a", -7_i32);
        assert_eq!(text, "{a:-7}{");
        text.clear();
        fill!(&mut text, "alone");
        fill!(&mut text, "{}{}", &"é", usize::MAX);
        assert_eq!(text, format!("aloneé{}", usize::MAX));
        text.clear();
        fill(&mut text, "more {}", &[&1_u16, &2_u16]);
        assert_eq!(text, "more 12");
    }

    #[test]
    fn numbers_are_written_as_formatting_writes_them() {
        for number in [0, 1, -1, 9, 10, 99, 100, 4095, -507, i64::MAX, i64::MIN] {
            let mut text = String::new();
            write_number(&mut text, number);
            assert_eq!(text, format!("{number}"));
        }
        for number in [0, 9, 10, 0x1f, 0xabc_def0, 1 << 60, u64::MAX] {
            for digits in [1, 2, 8, 16] {
                let mut text = String::new();
                fill!(&mut text, "{}", Hexadecimal(number, digits));
                assert_eq!(text, format!("{number:0width$x}", width = digits as usize));
            }
        }
    }

    #[test]
    fn numbers_are_what_rust_takes_for_them() {
        let most = format!("{}", u64::MAX);
        let more = format!("{most}0");
        for text in [
            "", "+", "-1", "0", "007", "+12", "1 ", "x", "ff", "4_0", "aG", &most, &more, "\u{e9}",
        ] {
            assert_eq!(
                parse_digits(text.as_bytes(), 10),
                text.parse().ok(),
                "{text}"
            );
            let sixteen = u64::from_str_radix(text, 16).ok();
            assert_eq!(parse_digits(text.as_bytes(), 16), sixteen, "{text}");
        }
    }

    #[test]
    fn lines_have_numbers() {
        let list = "one\n\nthree\n";
        let lines: std::vec::Vec<_> = (0..5).map(|number| line(list, number)).collect();
        assert_eq!(lines, ["one", "", "three", "", ""]);
        assert_eq!(line("last", 0), "last");
    }

    #[test]
    fn fields_are_what_rust_splits() {
        for text in ["", ":", "a", "a:b", ":a::é:", "é:b"] {
            assert_eq!(split_once(text, b':'), text.split_once(':'), "{text}");
            assert!(fields(text, b':').eq(text.split(':')), "{text}");
            let mut rest = fields(text, b':');
            rest.next();
            assert_eq!(
                rest.rest(),
                text.split_once(':').map(|(_, rest)| rest),
                "{text}"
            );
        }
    }

    #[test]
    fn display_writes_the_text_and_passes_errors_on() {
        struct Two;
        impl ToText for Two {
            fn put_text(&self, out: &mut dyn WriteText) {
                fill!(out, "two are {}", 2_u32);
            }
        }
        display_as_text!(Two);
        assert_eq!(format!("{Two}!"), "two are 2!");
        struct Nowhere;
        impl fmt::Write for Nowhere {
            fn write_str(&mut self, _: &str) -> fmt::Result {
                Err(fmt::Error)
            }
        }
        assert!(fmt::write(&mut Nowhere, format_args!("{Two}")).is_err());
    }
}
