//! The contents of messages: bytes, values of one basic type, items of several such values, or values in any layout.
//! Source: the EPOS thesis, section 4.3, where a program's own symbols select the lowest level that suffices.
//!
//! The levels are kinds of [`Memory`](crate::Memory), so the kernel's own code is the same at every level, and a
//! communicator whose composition is below its memory's level does not compile.

/// The policy family: the datatypes that a composition supports.
pub trait Datatypes: 'static {
    /// The highest level of memory that can be lent.
    const LEVEL: Level;
}

/// The levels, each of which includes all below it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Level {
    /// Bytes: the extent is 1.
    Bytes,
    /// Values of one basic type: the extent is in a table.
    Basic,
    /// Items of several values of one basic type: the extent is a product.
    Contiguous,
    /// Values at any displacements: the layout says the extent.
    Full,
}

/// Bytes only.
#[derive(Clone, Copy, Debug)]
pub struct NoDatatypes;

/// Basic types.
#[derive(Clone, Copy, Debug)]
pub struct Basic;

/// Contiguous types.
#[derive(Clone, Copy, Debug)]
pub struct Contiguous;

/// All types.
#[derive(Clone, Copy, Debug)]
pub struct Full;

impl Datatypes for NoDatatypes {
    const LEVEL: Level = Level::Bytes;
}

impl Datatypes for Basic {
    const LEVEL: Level = Level::Basic;
}

impl Datatypes for Contiguous {
    const LEVEL: Level = Level::Contiguous;
}

impl Datatypes for Full {
    const LEVEL: Level = Level::Full;
}

/// A basic type. On the wire each type has one width for all machines; only the byte order differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "each is what it says")]
pub enum Element {
    Byte,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    NarrowInt,
    NarrowUint,
}

impl Element {
    /// The table of extents, in bytes.
    const EXTENTS: [usize; 13] = [1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 4, 4];

    /// Bytes from one value to the next.
    pub const fn extent(self) -> usize {
        Self::EXTENTS[self as usize]
    }

    /// Returns whether this is a machine word of 32 bits, which travels as a word of 64 bits.
    #[inline]
    pub(crate) const fn is_narrow(self) -> bool {
        matches!(self, Element::NarrowInt | Element::NarrowUint)
    }

    /// Returns the number of bytes on the wire of values that take `bytes` bytes in memory.
    #[inline]
    pub(crate) const fn travelling(self, bytes: usize) -> usize {
        if self.is_narrow() { 2 * bytes } else { bytes }
    }
}

/// A Rust type that is a basic type.
pub trait Value: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable {
    /// The basic type.
    const ELEMENT: Element;
}

macro_rules! values {
    ($($type:ty: $element:ident,)*) => {$(
        impl Value for $type {
            const ELEMENT: Element = Element::$element;
        }
    )*};
}

/// A word of a machine whose words have 32 bits. Words travel with 64 bits, so machines of both kinds understand each
/// other and only the narrow one converts: there `isize` and `usize` are such words, elsewhere `i64` and `u64`. A word
/// that does not fit a narrow machine loses its upper half there, as in a C cast.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable,
)]
#[repr(transparent)]
pub struct Narrow<T>(pub T);

impl Value for Narrow<i32> {
    const ELEMENT: Element = Element::NarrowInt;
}

impl Value for Narrow<u32> {
    const ELEMENT: Element = Element::NarrowUint;
}

#[cfg(target_pointer_width = "64")]
values! { isize: I64, usize: U64, }
#[cfg(not(target_pointer_width = "64"))]
values! { isize: NarrowInt, usize: NarrowUint, }

values! {
    i8: I8, u8: U8, i16: I16, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64, f32: F32, f64: F64,
}
