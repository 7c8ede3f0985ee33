//! Contiguous memory of values of one basic type, alone or in items of several values.

use super::{Memory, Sink, Source, word_width};
use crate::aspect::{Element, Level, Value};
use core::marker::PhantomData;
use zerocopy::IntoBytes;

/// Slices of one basic type.
pub struct Typed<'buf>(PhantomData<&'buf mut [u8]>);

/// Items of several values of one basic type.
pub struct Repeated<'buf>(PhantomData<&'buf mut [u8]>);

impl<'buf> Memory for Typed<'buf> {
    const LEVEL: Level = Level::Basic;
    type Out = Values<'buf>;
    type In = ValuesMut<'buf>;
}

impl<'buf> Memory for Repeated<'buf> {
    const LEVEL: Level = Level::Contiguous;
    type Out = Items<Values<'buf>>;
    type In = Items<ValuesMut<'buf>>;
}

/// Values to send.
#[derive(Clone, Copy, Debug)]
pub struct Values<'buf> {
    bytes: &'buf [u8],
    element: Element,
}

/// Memory for received values.
#[derive(Debug)]
pub struct ValuesMut<'buf> {
    bytes: &'buf mut [u8],
    element: Element,
}

impl<'buf> Values<'buf> {
    /// Lends values of that type by their bytes.
    #[inline]
    pub(super) fn of_bytes(bytes: &'buf [u8], element: Element) -> Self {
        Values { bytes, element }
    }

    /// Lends these values.
    pub fn of<T: Value>(values: &'buf [T]) -> Self {
        Values {
            bytes: values.as_bytes(),
            element: T::ELEMENT,
        }
    }
}

impl<'buf> ValuesMut<'buf> {
    /// Lends memory for values of that type by its bytes.
    #[inline]
    pub(super) fn of_bytes(bytes: &'buf mut [u8], element: Element) -> Self {
        ValuesMut { bytes, element }
    }

    /// Lends memory for these values.
    pub fn of<T: Value>(values: &'buf mut [T]) -> Self {
        ValuesMut {
            bytes: values.as_mut_bytes(),
            element: T::ELEMENT,
        }
    }

    /// Returns the bytes of the values.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }
}

/// Copies between slices of one length; single values without a call.
#[inline]
fn copy(from: &[u8], into: &mut [u8]) {
    if let (Ok(from), Ok(into)) = (<&[u8; 8]>::try_from(from), into.try_into()) {
        let into: &mut [u8; 8] = into;
        *into = *from;
    } else if let (Ok(from), Ok(into)) = (<&[u8; 4]>::try_from(from), into.try_into()) {
        let into: &mut [u8; 4] = into;
        *into = *from;
    } else {
        super::long_copy::copy(from, into);
    }
}

impl Source for Values<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.element.travelling(self.bytes.len())
    }

    #[inline]
    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        if self.element.is_narrow() {
            return word_width::widen(self.bytes, self.element, offset, into, false);
        }
        copy(&self.bytes[offset..offset + into.len()], into);
    }

    fn copy_out_swapped(&self, offset: usize, into: &mut [u8]) {
        if self.element.is_narrow() {
            return word_width::widen(self.bytes, self.element, offset, into, true);
        }
        let width = self.element.extent();
        for (at, byte) in (offset..).zip(into) {
            let inside = at % width;
            *byte = self.bytes[at - inside + (width - 1 - inside)];
        }
    }
}

impl Sink for ValuesMut<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.element.travelling(self.bytes.len())
    }

    #[inline]
    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        if self.element.is_narrow() {
            return word_width::narrow(self.bytes, offset, from, false);
        }
        copy(from, &mut self.bytes[offset..offset + from.len()]);
    }

    fn copy_in_swapped(&mut self, offset: usize, from: &[u8]) {
        if self.element.is_narrow() {
            return word_width::narrow(self.bytes, offset, from, true);
        }
        let width = self.element.extent();
        for (at, byte) in (offset..).zip(from) {
            let inside = at % width;
            self.bytes[at - inside + (width - 1 - inside)] = *byte;
        }
    }
}

/// Values in items of the same number of values each.
#[derive(Clone, Copy, Debug)]
pub struct Items<V> {
    values: V,
    count: usize,
}

impl<V> Items<V> {
    /// Creates items of `count` values each; the last one may be short.
    pub fn new(values: V, count: usize) -> Self {
        Items { values, count }
    }

    /// Returns the values.
    pub fn values(&self) -> &V {
        &self.values
    }
}

impl Items<Values<'_>> {
    /// Returns the number of bytes from one item to the next.
    pub fn extent(&self) -> usize {
        self.count * self.values.element.extent()
    }
}

impl<V: Source> Source for Items<V> {
    fn len(&self) -> usize {
        self.values.len()
    }

    #[inline]
    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        self.values.copy_out(offset, into);
    }

    fn copy_out_swapped(&self, offset: usize, into: &mut [u8]) {
        self.values.copy_out_swapped(offset, into);
    }
}

impl<V: Sink> Sink for Items<V> {
    fn len(&self) -> usize {
        self.values.len()
    }

    #[inline]
    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        self.values.copy_in(offset, from);
    }

    fn copy_in_swapped(&mut self, offset: usize, from: &[u8]) {
        self.values.copy_in_swapped(offset, from);
    }
}
