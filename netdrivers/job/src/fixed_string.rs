//! Short texts without an allocator, for start-up and errors. All packages above use them.

use core::fmt;
use pombo_kernel::text::{ToText, WriteText, write_digits, write_number};

/// `text!("rank {}", rank)`: a [`Text`] with values in place of each `{}`, truncated to the room.
#[doc(hidden)]
#[macro_export]
macro_rules! __text {
    ($($template_and_values:expr),+ $(,)?) => {{
        let mut text = $crate::Text::new();
        pombo_kernel::text::fill!(&mut text, $($template_and_values),+);
        text
    }};
}
#[doc(inline)]
pub use __text as text;

/// A text of at most `N` bytes; the rest is truncated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
    /// A character did not fit, so what follows it is left out too.
    is_cut: bool,
}

impl<const N: usize> Text<N> {
    /// Creates an empty text.
    pub const fn new() -> Self {
        Text {
            bytes: [0; N],
            len: 0,
            is_cut: false,
        }
    }

    /// Appends a text, truncated to the room, between two characters.
    #[inline(never)]
    pub fn put(&mut self, text: &str) -> &mut Self {
        if self.is_cut {
            return self;
        }
        let mut cut = text.len().min(N - self.len);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        self.is_cut = cut < text.len();
        let kept = text.as_bytes().get(..cut).unwrap_or_default();
        append(&mut self.bytes, &mut self.len, kept);
        self
    }

    /// Appends ASCII bytes, as [`Text::put`] does.
    pub fn put_bytes(&mut self, text: &[u8]) -> &mut Self {
        append(&mut self.bytes, &mut self.len, text);
        self
    }

    /// Appends a number in decimal digits, as [`Text::put`] does.
    pub fn put_number(&mut self, number: impl Into<i64>) -> &mut Self {
        write_number(self, number.into());
        self
    }

    /// Appends an address or a handle as `0x1f`, as [`Text::put`] does.
    pub fn put_hexadecimal(&mut self, number: usize) -> &mut Self {
        write_digits(self.put("0x"), number as u64, 16, 1);
        self
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        // The text grows by whole characters, so it is valid UTF-8.
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// Returns the bytes of the text.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> WriteText for Text<N> {
    fn write_text(&mut self, text: &str) {
        self.put(text);
    }
}

/// Appends bytes as far as there is room; once for all sizes of texts.
fn append(bytes: &mut [u8], len: &mut usize, text: &[u8]) {
    let free = bytes.get_mut(*len..).unwrap_or_default();
    for (place, byte) in free.iter_mut().zip(text) {
        *place = *byte;
        *len += 1;
    }
}

impl<const N: usize> ToText for Text<N> {
    fn put_text(&self, out: &mut dyn WriteText) {
        out.write_text(self.as_str());
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<const N: usize> From<&str> for Text<N> {
    fn from(text: &str) -> Self {
        let mut short = Self::new();
        short.put(text);
        short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_between_characters() {
        let text = Text::<5>::from("abc");
        assert_eq!(text.as_str(), "abc");
        assert_eq!(Text::<5>::from("abcdefg").as_str(), "abcde");
        assert_eq!(Text::<5>::from("abcdé").as_str(), "abcd");
        let text: Text<6> = text!("{}{}", "abcdeé", 17_u16);
        assert_eq!(text.as_str(), "abcde");
        assert_eq!(Text::<0>::from("a").as_str(), "");
    }

    #[test]
    fn numbers_are_written_as_formatting_writes_them() {
        for number in [0, 1, -1, 9, 10, 99, 100, 4095, -507, i64::MAX, i64::MIN] {
            let mut text = Text::<30>::new();
            let written = text.put("rank ").put_number(number).as_str();
            assert_eq!(written, alloc::format!("rank {number}"));
        }
        assert_eq!(Text::<3>::new().put_number(12345).as_str(), "123");
        for number in [0, 9, 10, 0x1f, 0xabc_def0, usize::MAX] {
            let mut text = Text::<30>::new();
            let written = text.put_hexadecimal(number).as_str();
            assert_eq!(written, alloc::format!("{number:#x}"));
        }
    }
}
