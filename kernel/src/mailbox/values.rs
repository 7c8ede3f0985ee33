//! Typed values in a message: each with its type, so that a wrong unpack is an error. Messages of all packages use it.
//!
//! A value is one byte of type and the value, least byte first; a slice is one byte of type, a count of 64 bits and the
//! values. There is no padding, and no machine's own byte order.

use super::error::Error;
use core::marker::PhantomData;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// What can be packed: a number, a slice of numbers, a text.
pub trait Pack {
    /// Passes the bytes to `put`, one piece after the other.
    fn pack(&self, put: impl FnMut(&[u8]));
}

/// What can be unpacked: a number, the [`Numbers`] of a slice, and where they lie bytes and a text.
pub trait Unpack<'a>: Sized {
    /// The byte that stands for the type.
    const CODE: u8;

    /// Returns the value at the start of the rest of a message, and its length; `None` if there is none.
    fn read(rest: &'a [u8]) -> Option<(Self, usize)>;
}

/// A type of numbers.
pub trait Number: FromBytes + IntoBytes + Immutable + Copy + 'static {
    /// The byte that stands for the type: 1 to 127.
    const CODE: u8;

    /// Turns this machine's byte order into the least byte first, or back.
    fn little_endian(self) -> Self;
}

macro_rules! numbers {
    ($($code:literal $type:ident),+) => {
        $(impl Number for $type {
            const CODE: u8 = $code;

            #[inline]
            fn little_endian(self) -> Self {
                Self::from_le_bytes(self.to_ne_bytes())
            }
        })+

        /// Returns the name of the type that this byte stands for.
        fn name(code: u8) -> &'static str {
            match code {
                $($code => stringify!($type),)+
                $(code if code == $code | SLICE => concat!("[", stringify!($type), "]"),)+
                TEXT => "str",
                _ => "unknown",
            }
        }
    };
}

numbers!(1 u8, 2 i8, 3 u16, 4 i16, 5 u32, 6 i32, 7 u64, 8 i64, 9 f32, 10 f64, 11 u128, 12 i128);

impl<T: Number> Pack for T {
    #[inline]
    fn pack(&self, mut put: impl FnMut(&[u8])) {
        put(&[T::CODE]);
        put(self.little_endian().as_bytes());
    }
}

impl<T: Number> Unpack<'_> for T {
    const CODE: u8 = T::CODE;

    #[inline]
    fn read(rest: &[u8]) -> Option<(Self, usize)> {
        let (number, _) = T::read_from_prefix(rest).ok()?;
        Some((number.little_endian(), size_of::<T>()))
    }
}

/// Marks the type of a slice's numbers.
const SLICE: u8 = 0x80;
/// A text, as a slice of bytes.
const TEXT: u8 = 0xff;

impl<T: Number> Pack for &[T] {
    fn pack(&self, mut put: impl FnMut(&[u8])) {
        put(&[T::CODE | SLICE]);
        put(&(self.len() as u64).to_le_bytes());
        if cfg!(target_endian = "little") {
            return put(self.as_bytes());
        }
        for number in *self {
            put(number.little_endian().as_bytes());
        }
    }
}

impl Pack for &str {
    fn pack(&self, mut put: impl FnMut(&[u8])) {
        put(&[TEXT]);
        put(&(self.len() as u64).to_le_bytes());
        put(self.as_bytes());
    }
}

/// The numbers of a slice in a message.
#[derive(Clone, Debug)]
pub struct Numbers<'a, T>(core::slice::ChunksExact<'a, u8>, PhantomData<T>);

impl<T: Number> Iterator for Numbers<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        Some(T::read_from_bytes(self.0.next()?).ok()?.little_endian())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T: Number> ExactSizeIterator for Numbers<'_, T> {}

/// Returns the bytes of a slice of values of `size` bytes, and its length in the message.
fn counted(rest: &[u8], size: usize) -> Option<(&[u8], usize)> {
    let (count, rest) = rest.split_first_chunk()?;
    let bytes = usize::try_from(u64::from_le_bytes(*count))
        .ok()?
        .checked_mul(size)?;
    Some((rest.get(..bytes)?, count.len() + bytes))
}

impl<'a, T: Number> Unpack<'a> for Numbers<'a, T> {
    const CODE: u8 = T::CODE | SLICE;

    fn read(rest: &'a [u8]) -> Option<(Self, usize)> {
        let (bytes, len) = counted(rest, size_of::<T>())?;
        let numbers = bytes.chunks_exact(size_of::<T>());
        Some((Numbers(numbers, PhantomData), len))
    }
}

impl<'a> Unpack<'a> for &'a [u8] {
    const CODE: u8 = <u8 as Number>::CODE | SLICE;

    fn read(rest: &'a [u8]) -> Option<(Self, usize)> {
        counted(rest, 1)
    }
}

impl<'a> Unpack<'a> for &'a str {
    const CODE: u8 = TEXT;

    fn read(rest: &'a [u8]) -> Option<(Self, usize)> {
        let (bytes, len) = counted(rest, 1)?;
        Some((core::str::from_utf8(bytes).ok()?, len))
    }
}

/// Returns the value at that place of a message, after which the place is behind it. After an error it is where it was.
///
/// # Errors
/// [`Error::WrongType`], [`Error::NoMoreValues`], [`Error::Malformed`].
#[inline]
pub fn unpack<'a, V: Unpack<'a>>(message: &'a [u8], at: &mut usize) -> Result<V, Error> {
    let rest = message.get(*at..).unwrap_or(&[]);
    let (&found, rest) = rest.split_first().ok_or(Error::NoMoreValues)?;
    if found != V::CODE {
        let (wanted, found) = (name(V::CODE), name(found));
        return Err(Error::WrongType { wanted, found });
    }
    let (value, len) = V::read(rest).ok_or(Error::Malformed)?;
    *at += 1 + len;
    Ok(value)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::string::String;
    use std::vec::Vec;

    #[derive(Clone, Debug)]
    enum Item {
        Byte(u8),
        Int(i32),
        Long(u64),
        Real(f64),
        Ints(Vec<i32>),
        Bytes(Vec<u8>),
        Text(String),
    }

    fn item() -> impl Strategy<Value = Item> {
        prop_oneof![
            any::<u8>().prop_map(Item::Byte),
            any::<i32>().prop_map(Item::Int),
            any::<u64>().prop_map(Item::Long),
            (-1e300..1e300).prop_map(Item::Real),
            proptest::collection::vec(any::<i32>(), 0..9).prop_map(Item::Ints),
            proptest::collection::vec(any::<u8>(), 0..9).prop_map(Item::Bytes),
            "[a-zä-ü]{0,9}".prop_map(Item::Text),
        ]
    }

    proptest! {
        /// What was packed comes out again; a wrong type is refused and changes nothing.
        #[test]
        fn values_return(items in proptest::collection::vec(item(), 0..9)) {
            let mut message = Vec::new();
            for item in &items {
                let put = |bytes: &[u8]| message.extend_from_slice(bytes);
                match item {
                    Item::Byte(value) => value.pack(put),
                    Item::Int(value) => value.pack(put),
                    Item::Long(value) => value.pack(put),
                    Item::Real(value) => value.pack(put),
                    Item::Ints(values) => (&values[..]).pack(put),
                    Item::Bytes(bytes) => (&bytes[..]).pack(put),
                    Item::Text(text) => (&text[..]).pack(put),
                }
            }
            let mut at = 0;
            for item in &items {
                let refused = unpack::<i16>(&message, &mut at);
                let refused = matches!(refused, Err(Error::WrongType { wanted: "i16", .. }));
                prop_assert!(refused);
                match item {
                    Item::Byte(value) => prop_assert_eq!(unpack::<u8>(&message, &mut at), Ok(*value)),
                    Item::Int(value) => prop_assert_eq!(unpack::<i32>(&message, &mut at), Ok(*value)),
                    Item::Long(value) => prop_assert_eq!(unpack::<u64>(&message, &mut at), Ok(*value)),
                    Item::Real(value) => prop_assert_eq!(unpack::<f64>(&message, &mut at), Ok(*value)),
                    Item::Ints(all) => {
                        let ints = unpack::<Numbers<'_, i32>>(&message, &mut at);
                        prop_assert_eq!(ints.as_ref().map(ExactSizeIterator::len), Ok(all.len()));
                        prop_assert_eq!(&ints.map_or(Vec::new(), Vec::from_iter), all);
                    }
                    Item::Bytes(bytes) => prop_assert_eq!(unpack::<&[u8]>(&message, &mut at), Ok(&bytes[..])),
                    Item::Text(text) => prop_assert_eq!(unpack::<&str>(&message, &mut at), Ok(&text[..])),
                }
            }
            prop_assert_eq!(unpack::<u8>(&message, &mut at), Err(Error::NoMoreValues));
        }

        /// No bytes of a stranger lead anywhere else than to an error.
        #[test]
        fn no_bytes_do_harm(message in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut at = 0;
            let _ = unpack::<&str>(&message, &mut at).is_ok()
                || unpack::<&[u8]>(&message, &mut at).is_ok()
                || unpack::<Numbers<'_, u64>>(&message, &mut at).is_ok();
            let _ = unpack::<u128>(&message, &mut at);
            prop_assert!(at <= message.len());
        }
    }
}
