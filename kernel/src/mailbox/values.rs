//! Typed values in a message: each with its type, so that a wrong unpack is an error. Messages of all packages use it.
//!
//! A value is one byte of type and the value, least byte first; a slice is one byte of type, a count of 32 bits and the
//! values. There is no padding, and no machine's own byte order.

use super::error::Error;

/// A type that can be packed.
pub trait Value: Copy + 'static {
    /// The byte that stands for the type: 1 to 127.
    const CODE: u8;
    /// The type's name.
    const NAME: &'static str;
    /// The value's bytes, least first.
    type Bytes: AsRef<[u8]> + for<'a> TryFrom<&'a [u8]>;

    /// Returns the value's bytes.
    fn to_bytes(self) -> Self::Bytes;

    /// Returns the value of these bytes.
    fn from_bytes(bytes: Self::Bytes) -> Self;
}

macro_rules! values {
    ($($code:literal $type:ident),+) => {
        $(impl Value for $type {
            const CODE: u8 = $code;
            const NAME: &'static str = stringify!($type);
            type Bytes = [u8; size_of::<$type>()];

            fn to_bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }

            fn from_bytes(bytes: Self::Bytes) -> Self {
                Self::from_le_bytes(bytes)
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

values!(1 u8, 2 i8, 3 u16, 4 i16, 5 u32, 6 i32, 7 u64, 8 i64, 9 f32, 10 f64, 11 u128, 12 i128);

/// Marks the type of a slice's values.
const SLICE: u8 = 0x80;
/// A text, as a slice of bytes.
const TEXT: u8 = 0xff;

/// Packs a value: passes its bytes to `put`, one piece after the other.
pub fn pack<T: Value>(value: T, mut put: impl FnMut(&[u8])) {
    put(&[T::CODE]);
    put(value.to_bytes().as_ref());
}

/// Packs the values of a slice, at most 2^32 - 1; returns false if they are more, and packs nothing.
pub fn pack_slice<T: Value>(values: &[T], mut put: impl FnMut(&[u8])) -> bool {
    let fits = head(T::CODE | SLICE, values.len(), &mut put);
    if fits {
        values
            .iter()
            .for_each(|value| put(value.to_bytes().as_ref()));
    }
    fits
}

/// Packs bytes, as [`pack_slice`] does, in one piece.
pub fn pack_bytes(bytes: &[u8], mut put: impl FnMut(&[u8])) -> bool {
    let fits = head(u8::CODE | SLICE, bytes.len(), &mut put);
    if fits {
        put(bytes);
    }
    fits
}

/// Packs a text of at most 2^32 - 1 bytes; returns false if it is longer, and packs nothing.
pub fn pack_text(text: &str, mut put: impl FnMut(&[u8])) -> bool {
    let fits = head(TEXT, text.len(), &mut put);
    if fits {
        put(text.as_bytes());
    }
    fits
}

fn head(code: u8, count: usize, put: &mut impl FnMut(&[u8])) -> bool {
    let Ok(count) = u32::try_from(count) else {
        return false;
    };
    put(&[code]);
    put(&count.to_le_bytes());
    true
}

/// Reads the values of a message in their order. After an error it is where it was.
#[derive(Clone, Copy, Debug)]
pub struct Unpacker<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Unpacker<'a> {
    /// Creates a reader from the byte `at` on, which is 0 or the [place](Self::at) of an earlier one.
    pub fn new(message: &'a [u8], at: usize) -> Self {
        Unpacker { message, at }
    }

    /// Returns the place of the next value.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the next value.
    ///
    /// # Errors
    /// [`Error::WrongType`], [`Error::NoMoreValues`], [`Error::Malformed`].
    pub fn value<T: Value>(&mut self) -> Result<T, Error> {
        self.expect(T::CODE, T::NAME)?;
        let start = self.at + 1;
        let bytes = self.bytes_at(start, size_of::<T>())?;
        let bytes = T::Bytes::try_from(bytes).map_err(|_| Error::Malformed)?;
        self.at = start + size_of::<T>();
        Ok(T::from_bytes(bytes))
    }

    /// Copies the next values into a slice of exactly their number.
    ///
    /// # Errors
    /// As [`Self::value`], and [`Error::WrongCount`].
    pub fn slice<T: Value>(&mut self, into: &mut [T]) -> Result<(), Error> {
        let (start, count) = self.counted(T::CODE | SLICE)?;
        if count != into.len() {
            let wanted = into.len();
            return Err(Error::WrongCount {
                wanted,
                found: count,
            });
        }
        let size = count.checked_mul(size_of::<T>()).ok_or(Error::Malformed)?;
        let bytes = self.bytes_at(start, size)?;
        for (place, bytes) in into.iter_mut().zip(bytes.chunks_exact(size_of::<T>())) {
            *place = T::from_bytes(T::Bytes::try_from(bytes).map_err(|_| Error::Malformed)?);
        }
        self.at = start + size;
        Ok(())
    }

    /// Returns the number of the next values, if a slice of this type is next.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn count<T: Value>(&self) -> Result<usize, Error> {
        Ok(self.counted(T::CODE | SLICE)?.1)
    }

    /// Returns the next bytes where they lie.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn bytes(&mut self) -> Result<&'a [u8], Error> {
        self.counted_bytes(u8::CODE | SLICE)
    }

    /// Returns the next text where it lies.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn text(&mut self) -> Result<&'a str, Error> {
        let start = self.at;
        let text = core::str::from_utf8(self.counted_bytes(TEXT)?);
        text.map_err(|_| {
            self.at = start;
            Error::Malformed
        })
    }

    fn counted_bytes(&mut self, code: u8) -> Result<&'a [u8], Error> {
        let (start, count) = self.counted(code)?;
        let bytes = self.bytes_at(start, count)?;
        self.at = start + count;
        Ok(bytes)
    }

    /// Returns the place of the next values, which have this type, and their number.
    fn counted(&self, code: u8) -> Result<(usize, usize), Error> {
        self.expect(code, name(code))?;
        let count = self.bytes_at(self.at + 1, 4)?;
        let count = u32::from_bytes(count.try_into().map_err(|_| Error::Malformed)?);
        let count = usize::try_from(count).map_err(|_| Error::Malformed)?;
        Ok((self.at + 5, count))
    }

    fn expect(&self, code: u8, wanted: &'static str) -> Result<(), Error> {
        match self.message.get(self.at) {
            None => Err(Error::NoMoreValues),
            Some(found) if *found == code => Ok(()),
            Some(found) => {
                let found = name(*found);
                Err(Error::WrongType { wanted, found })
            }
        }
    }

    fn bytes_at(&self, start: usize, len: usize) -> Result<&'a [u8], Error> {
        let end = start.checked_add(len).ok_or(Error::Malformed)?;
        self.message.get(start..end).ok_or(Error::Malformed)
    }
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
                    Item::Byte(value) => pack(*value, put),
                    Item::Int(value) => pack(*value, put),
                    Item::Long(value) => pack(*value, put),
                    Item::Real(value) => pack(*value, put),
                    Item::Ints(values) => prop_assert!(pack_slice(values, put)),
                    Item::Bytes(bytes) => prop_assert!(pack_bytes(bytes, put)),
                    Item::Text(text) => prop_assert!(pack_text(text, put)),
                }
            }
            let mut values = Unpacker::new(&message, 0);
            for item in &items {
                let refused = values.value::<i16>();
                let refused = matches!(refused, Err(Error::WrongType { wanted: "i16", .. }));
                prop_assert!(refused);
                match item {
                    Item::Byte(value) => prop_assert_eq!(values.value::<u8>(), Ok(*value)),
                    Item::Int(value) => prop_assert_eq!(values.value::<i32>(), Ok(*value)),
                    Item::Long(value) => prop_assert_eq!(values.value::<u64>(), Ok(*value)),
                    Item::Real(value) => prop_assert_eq!(values.value::<f64>(), Ok(*value)),
                    Item::Ints(all) => {
                        let mut into = std::vec![0; all.len() + 1];
                        let (wanted, found) = (into.len(), all.len());
                        prop_assert_eq!(values.slice(&mut into), Err(Error::WrongCount { wanted, found }));
                        into.pop();
                        prop_assert_eq!(values.slice(&mut into), Ok(()));
                        prop_assert_eq!(&into, all);
                    }
                    Item::Bytes(bytes) => prop_assert_eq!(values.bytes(), Ok(&bytes[..])),
                    Item::Text(text) => prop_assert_eq!(values.text(), Ok(&text[..])),
                }
            }
            prop_assert_eq!(values.value::<u8>(), Err(Error::NoMoreValues));
        }

        /// No bytes of a stranger lead anywhere else than to an error.
        #[test]
        fn no_bytes_do_harm(message in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut values = Unpacker::new(&message, 0);
            let _ = values.text().is_ok() || values.bytes().is_ok() || values.slice(&mut [0_u64; 2]).is_ok();
            let _ = values.value::<u128>();
            prop_assert!(values.at() <= message.len());
        }
    }
}
