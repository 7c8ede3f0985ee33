//! Concatenates texts and numbers at compile time, so that each bound is written once in the code. Only tables of
//! variables use it.

/// `words!("from ", LEAST, " to ", MOST; " bytes")`: alternating texts and numbers, with an optional text at the end.
#[doc(hidden)]
#[macro_export]
macro_rules! __words {
    ($($text:expr, $number:expr),* $(; $end:expr)?) => {{
        const PARTS: &[(&str, usize)] = &[$(($text, $number)),*];
        const END: &str = concat!($($end)?);
        const LEN: usize = $crate::settings::const_format::len(PARTS, END);
        const BYTES: [u8; LEN] = $crate::settings::const_format::join(PARTS, END);
        match core::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => panic!("text and digits"),
        }
    }};
}
#[doc(inline)]
pub use __words as words;

/// Returns the number of bytes of the result.
pub const fn len(parts: &[(&str, usize)], end: &str) -> usize {
    let (mut len, mut part) = (end.len(), 0);
    while part < parts.len() {
        len += parts[part].0.len() + digits(parts[part].1);
        part += 1;
    }
    len
}

/// Returns the result; `N` must be [`len`], or the code does not compile.
pub const fn join<const N: usize>(parts: &[(&str, usize)], end: &str) -> [u8; N] {
    let (mut bytes, mut at, mut part) = ([0; N], 0, 0);
    while part < parts.len() {
        let (text, mut number) = parts[part];
        at = put(&mut bytes, at, text);
        let (first, behind) = (at, at + digits(number));
        at = behind;
        while at > first {
            at -= 1;
            bytes[at] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        at = behind;
        part += 1;
    }
    at = put(&mut bytes, at, end);
    assert!(at == N);
    bytes
}

/// Writes a text; returns the position behind it.
const fn put(bytes: &mut [u8], at: usize, text: &str) -> usize {
    let mut place = 0;
    while place < text.len() {
        bytes[at + place] = text.as_bytes()[place];
        place += 1;
    }
    at + place
}

const fn digits(number: usize) -> usize {
    match number.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn numbers_stand_where_they_belong() {
        assert_eq!(words!("from ", 0, " to ", 8192), "from 0 to 8192");
        assert_eq!(words!("", 10; " per cent"), "10 per cent");
        assert_eq!(words!("", usize::MAX), alloc::format!("{}", usize::MAX));
    }
}
