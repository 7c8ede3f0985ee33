//! The predefined datatypes of the ABI: the composition, memory layout and name of each.
//!
//! The layouts are those of C on 64-bit Linux (x86-64, aarch64, s390x); Fortran's default kinds are gfortran's.

use super::representation::HETEROGENEOUS;
use crate::constants::*;
use pombo_kernel::text::{Hexadecimal, ToText, WriteText, fill, line};

/// The composition of a predefined datatype.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Predefined {
    /// The index of its name, which only who shows it needs.
    place: u8,
    /// The family, which determines the operations that apply.
    pub family: Family,
    /// The machine type of each part.
    pub element: Element,
    /// Bytes of an item if items are contiguous and travel as they are in memory, else 0.
    dense: u8,
}

/// The families of the standard's table of reduction operations, and the composition of their members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Integers of C, and `char`, which MPI's table omits and every library accepts.
    CInteger,
    /// Integers of Fortran.
    FortranInteger,
    /// `MPI_AINT`, `MPI_COUNT`, `MPI_OFFSET`.
    MultiLanguage,
    /// Real numbers.
    Floating,
    /// Complex numbers: two elements.
    Complex,
    /// Logical values of any size.
    Logical,
    /// `MPI_BYTE`.
    Byte,
    /// A value followed by an index of C type `int`.
    Indexed,
    /// A value and an index of the same type.
    Twin,
    /// Wide and Fortran characters and packed data, to which no reduction applies.
    Opaque,
}

/// The machine types. Integers are named by their width in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is what it says")]
pub enum Element {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    I128,
    F16,
    F32,
    F64,
    F128,
    /// C's `long double`: 80 bits in 16 bytes on x86-64, binary128 on aarch64 and s390x.
    LongDouble,
}

impl Element {
    /// Returns the alignment of an element in memory: its size, but on s390x no more than 8.
    pub const fn alignment(self) -> usize {
        match self.size() {
            16 if cfg!(target_arch = "s390x") => 8,
            size => size,
        }
    }

    /// Returns the bytes of an element.
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::I128 | Self::F128 | Self::LongDouble => 16,
        }
    }
}

const INT: usize = 4;

impl Predefined {
    /// Returns the bytes of data in one item: `MPI_Type_size`.
    pub const fn size(&self) -> usize {
        match self.family {
            Family::Complex | Family::Twin => 2 * self.element.size(),
            Family::Indexed => self.element.size() + INT,
            _ => self.element.size(),
        }
    }

    /// Returns the bytes from one item to the next. The lower bound of every predefined datatype is 0.
    pub const fn extent(&self) -> usize {
        match self.family {
            Family::Indexed => self
                .true_extent()
                .next_multiple_of(max(self.element.alignment(), INT)),
            _ => self.size(),
        }
    }

    /// Returns the bytes from the first to the last byte of data, including gaps and excluding the padding at the end.
    pub const fn true_extent(&self) -> usize {
        match self.family {
            Family::Indexed => self.index_offset() + INT,
            _ => self.size(),
        }
    }

    /// Returns the standard's name.
    pub fn name(&self) -> &'static str {
        line(NAMES, self.place.into())
    }

    const fn complete(mut self) -> Self {
        let is_converted = HETEROGENEOUS && self.element.size() > 1;
        self.dense = if self.is_dense() && !is_converted {
            // At most 32.
            self.size() as u8
        } else {
            0
        };
        self
    }

    /// Returns the bytes of an item if items are contiguous and travel as they are in memory.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn dense_size(&self) -> Option<usize> {
        (self.dense != 0).then_some(usize::from(self.dense))
    }

    /// Returns whether items are contiguous, so that any number of them is one run of bytes.
    pub const fn is_dense(&self) -> bool {
        self.size() == self.extent()
    }

    /// Returns the byte offset of the index in a pair.
    pub(crate) const fn index_offset(&self) -> usize {
        max(self.element.size(), INT)
    }

    /// Returns the number of items in `bytes` bytes, as `MPI_Get_count`; `None` if the last one is not complete.
    pub const fn count(&self, bytes: u64) -> Option<u64> {
        let size = self.size() as u64;
        if bytes.is_multiple_of(size) {
            Some(bytes / size)
        } else {
            None
        }
    }

    /// Returns the number of basic elements in `bytes` bytes, as `MPI_Get_elements`: a pair counts as two.
    pub const fn elements(&self, bytes: u64) -> Option<u64> {
        let (Family::Indexed | Family::Twin) = self.family else {
            return self.count(bytes);
        };
        let size = self.size() as u64;
        let rest = bytes % size;
        if rest == 0 {
            Some(bytes / size * 2)
        } else if rest == self.element.size() as u64 {
            Some(bytes / size * 2 + 1)
        } else {
            None
        }
    }

    /// Returns the bytes of this many basic elements, the inverse of `elements`; `None` if they are too many.
    pub const fn element_bytes(&self, elements: u64) -> Option<u64> {
        let (Family::Indexed | Family::Twin) = self.family else {
            return elements.checked_mul(self.size() as u64);
        };
        let Some(pairs) = (elements / 2).checked_mul(self.size() as u64) else {
            return None;
        };
        pairs.checked_add(elements % 2 * self.element.size() as u64)
    }
}

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

macro_rules! table {
    ($($handle:ident: $family:ident $element:ident;)*) => {
        const TABLE: [Predefined; [$($handle),*].len()] = {
            let mut table = [$(Predefined {
                place: 0,
                family: Family::$family,
                element: Element::$element,
                dense: 0,
            }.complete(),)*];
            let mut i = 0;
            while i < table.len() {
                table[i].place = i as u8;
                i += 1;
            }
            table
        };
        /// A line for each entry of the table.
        const NAMES: &str = concat!($(stringify!($handle), "\n"),*);
        static PREDEFINED: [Predefined; TABLE.len()] = TABLE;

        /// Largest number of bytes from one item to the next.
        pub(crate) const LARGEST_EXTENT: usize = {
            let (mut largest, mut i) = (0, 0);
            while i < TABLE.len() {
                largest = max(largest, TABLE[i].extent());
                i += 1;
            }
            largest
        };

        /// Index in `PREDEFINED` plus one, by the handle's distance from the first datatype handle; 0 for none.
        static PLACES: [u8; HANDLES] = {
            let mut places = [0; HANDLES];
            let handles = [$($handle),*];
            let mut i = 0;
            while i < handles.len() {
                places[handles[i].0 - FIRST] = i as u8 + 1;
                i += 1;
            }
            places
        };
    };
}

const FIRST: usize = MPI_DATATYPE_NULL.0;
const HANDLES: usize = 256;

/// Returns the bytes of an item of the datatypes whose items have no gaps, by their handles' distances from the first one;
/// 0 for others.
pub const fn dense_sizes<const N: usize>() -> [u8; N] {
    let (mut sizes, mut i) = ([0; N], 0);
    while i < N {
        if i < HANDLES && PLACES[i] > 0 {
            sizes[i] = TABLE[PLACES[i] as usize - 1].dense;
        }
        i += 1;
    }
    sizes
}

/// Returns the description of a predefined datatype; `None` for `MPI_DATATYPE_NULL`, derived and unknown ones.
#[inline]
pub fn predefined(datatype: Datatype) -> Option<&'static Predefined> {
    let place = *PLACES.get(datatype.0.wrapping_sub(FIRST))?;
    PREDEFINED.get(usize::from(place).wrapping_sub(1))
}

/// Iterates over all predefined datatypes with their handles, in no particular order.
pub fn all() -> impl Iterator<Item = (Datatype, &'static Predefined)> {
    (FIRST..FIRST + HANDLES)
        .filter_map(|handle| Some((Datatype(handle), predefined(Datatype(handle))?)))
}

/// Writes a datatype by its name, or by its handle if it has none.
pub(crate) struct Shown(pub(crate) Datatype);

impl ToText for Shown {
    fn put_text(&self, out: &mut dyn WriteText) {
        match predefined(self.0) {
            Some(known) => out.write_text(known.name()),
            None if self.0 == Datatype::NULL => out.write_text("MPI_DATATYPE_NULL"),
            None => fill!(out, "datatype 0x{}", Hexadecimal(self.0.0 as u64, 1)),
        }
    }
}

table! {
    MPI_AINT: MultiLanguage I64;
    MPI_COUNT: MultiLanguage I64;
    MPI_OFFSET: MultiLanguage I64;

    MPI_CHAR: CInteger I8;
    MPI_WCHAR: Opaque I32;
    MPI_PACKED: Opaque U8;
    MPI_BYTE: Byte U8;

    MPI_SIGNED_CHAR: CInteger I8;
    MPI_UNSIGNED_CHAR: CInteger U8;
    MPI_SHORT: CInteger I16;
    MPI_UNSIGNED_SHORT: CInteger U16;
    MPI_INT: CInteger I32;
    MPI_UNSIGNED: CInteger U32;
    MPI_LONG: CInteger I64;
    MPI_UNSIGNED_LONG: CInteger U64;
    MPI_LONG_LONG_INT: CInteger I64;
    MPI_UNSIGNED_LONG_LONG: CInteger U64;
    MPI_INT8_T: CInteger I8;
    MPI_UINT8_T: CInteger U8;
    MPI_INT16_T: CInteger I16;
    MPI_UINT16_T: CInteger U16;
    MPI_INT32_T: CInteger I32;
    MPI_UINT32_T: CInteger U32;
    MPI_INT64_T: CInteger I64;
    MPI_UINT64_T: CInteger U64;

    MPI_FLOAT: Floating F32;
    MPI_DOUBLE: Floating F64;
    MPI_LONG_DOUBLE: Floating LongDouble;
    MPI_C_COMPLEX: Complex F32;
    MPI_C_DOUBLE_COMPLEX: Complex F64;
    MPI_C_LONG_DOUBLE_COMPLEX: Complex LongDouble;
    MPI_CXX_FLOAT_COMPLEX: Complex F32;
    MPI_CXX_DOUBLE_COMPLEX: Complex F64;
    MPI_CXX_LONG_DOUBLE_COMPLEX: Complex LongDouble;
    MPI_C_BOOL: Logical U8;
    MPI_CXX_BOOL: Logical U8;

    MPI_CHARACTER: Opaque U8;
    MPI_LOGICAL: Logical U32;
    MPI_INTEGER: FortranInteger I32;
    MPI_REAL: Floating F32;
    MPI_DOUBLE_PRECISION: Floating F64;
    MPI_COMPLEX: Complex F32;
    MPI_DOUBLE_COMPLEX: Complex F64;
    MPI_LOGICAL1: Logical U8;
    MPI_LOGICAL2: Logical U16;
    MPI_LOGICAL4: Logical U32;
    MPI_LOGICAL8: Logical U64;
    MPI_LOGICAL16: Logical I128;
    MPI_INTEGER1: FortranInteger I8;
    MPI_INTEGER2: FortranInteger I16;
    MPI_INTEGER4: FortranInteger I32;
    MPI_INTEGER8: FortranInteger I64;
    MPI_INTEGER16: FortranInteger I128;
    MPI_REAL2: Floating F16;
    MPI_REAL4: Floating F32;
    MPI_REAL8: Floating F64;
    MPI_REAL16: Floating F128;
    MPI_COMPLEX4: Complex F16;
    MPI_COMPLEX8: Complex F32;
    MPI_COMPLEX16: Complex F64;
    MPI_COMPLEX32: Complex F128;

    MPI_FLOAT_INT: Indexed F32;
    MPI_DOUBLE_INT: Indexed F64;
    MPI_LONG_INT: Indexed I64;
    MPI_SHORT_INT: Indexed I16;
    MPI_LONG_DOUBLE_INT: Indexed LongDouble;
    MPI_2INT: Twin I32;
    MPI_2REAL: Twin F32;
    MPI_2DOUBLE_PRECISION: Twin F64;
    MPI_2INTEGER: Twin I32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::{c_int, c_long, c_short};

    /// Returns size, extent and true extent by the datatype's name, from the compiler's C types on this machine.
    fn layout(datatype: Datatype) -> (usize, usize, usize) {
        let known = predefined(datatype).unwrap();
        (known.size(), known.extent(), known.true_extent())
    }

    #[repr(C)]
    struct Pair<T>(T, c_int);

    #[test]
    fn pairs_lie_as_c_lays_them() {
        fn check<T>(datatype: Datatype) {
            let (size, extent, true_extent) = layout(datatype);
            assert_eq!(size, size_of::<T>() + size_of::<c_int>());
            assert_eq!(extent, size_of::<Pair<T>>());
            assert_eq!(
                true_extent,
                core::mem::offset_of!(Pair<T>, 1) + size_of::<c_int>()
            );
        }
        check::<f32>(MPI_FLOAT_INT);
        check::<f64>(MPI_DOUBLE_INT);
        check::<c_long>(MPI_LONG_INT);
        check::<c_short>(MPI_SHORT_INT);
        check::<u128>(MPI_LONG_DOUBLE_INT);
        assert_eq!(layout(MPI_2INT), (8, 8, 8));
        let extent = 16 + align_of::<u128>();
        assert_eq!(layout(MPI_LONG_DOUBLE_INT), (20, extent, 20));
    }

    #[test]
    fn handles_that_encode_their_size_agree() {
        // The ABI keeps the binary logarithm of the size of fixed-size types in bits 3 to 5 of the handle.
        for (handle, known) in all().filter(|(handle, _)| handle.0 >= 576) {
            assert_eq!(known.size(), 1 << (handle.0 >> 3 & 7), "{}", known.name());
        }
    }

    #[test]
    fn every_handle_is_found_once_and_strangers_are_not() {
        assert_eq!(all().count(), PREDEFINED.len());
        for (i, one) in PREDEFINED.iter().enumerate() {
            assert!(
                PREDEFINED[..i]
                    .iter()
                    .all(|other| other.name() != one.name())
            );
        }
        for stranger in [
            0,
            1,
            511,
            MPI_DATATYPE_NULL.0,
            516,
            767,
            768,
            4096,
            usize::MAX,
        ] {
            assert_eq!(predefined(Datatype(stranger)), None);
        }
        // Of two names the standard calls one the synonym.
        assert_eq!(
            predefined(MPI_LONG_LONG).unwrap().name(),
            "MPI_LONG_LONG_INT"
        );
        assert_eq!(
            predefined(MPI_C_FLOAT_COMPLEX).unwrap().name(),
            "MPI_C_COMPLEX"
        );
    }

    #[test]
    fn counts_and_elements_of_partial_data() {
        let pair = predefined(MPI_DOUBLE_INT).unwrap();
        assert_eq!((pair.count(24), pair.elements(24)), (Some(2), Some(4)));
        assert_eq!((pair.count(20), pair.elements(20)), (None, Some(3)));
        assert_eq!((pair.count(21), pair.elements(21)), (None, None));
        for (_, known) in all() {
            for elements in 0..5 {
                let bytes = known.element_bytes(elements).unwrap();
                assert_eq!(known.elements(bytes), Some(elements), "{}", known.name());
            }
            assert_eq!(known.element_bytes(u64::MAX).is_some(), known.size() == 1);
        }
        let int = predefined(MPI_INT).unwrap();
        assert_eq!(
            (int.count(12), int.elements(12), int.count(13)),
            (Some(3), Some(3), None)
        );
    }
}
