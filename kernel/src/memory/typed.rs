//! Memory of values of known type: one basic type, items of several values, or segments of different types.

use super::{Memory, Sink, Source, word_width};
use crate::aspect::{Element, Level, Value};
use core::marker::PhantomData;
use zerocopy::IntoBytes;

/// Slices of one basic type.
pub struct Typed<'buf>(PhantomData<&'buf mut [u8]>);

/// Items of several values of one basic type.
pub struct Repeated<'buf>(PhantomData<&'buf mut [u8]>);

/// Up to `N` slices of any basic types, gathered and scattered without a copy in between.
pub struct Segmented<'buf, const N: usize>(PhantomData<&'buf mut [u8]>);

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

impl<'buf, const N: usize> Memory for Segmented<'buf, N> {
    const LEVEL: Level = Level::Full;
    type Out = Segments<Values<'buf>, N>;
    type In = Segments<ValuesMut<'buf>, N>;
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
    /// Lends these values.
    pub fn of<T: Value>(values: &'buf [T]) -> Self {
        Values {
            bytes: values.as_bytes(),
            element: T::ELEMENT,
        }
    }
}

impl<'buf> ValuesMut<'buf> {
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
        into.copy_from_slice(&self.bytes[offset..offset + into.len()]);
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
        self.bytes[offset..offset + from.len()].copy_from_slice(from);
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

/// Up to `N` pieces that form one message, in order.
#[derive(Clone, Debug)]
pub struct Segments<V, const N: usize>(heapless::Vec<V, N>);

impl<V, const N: usize> Segments<V, N> {
    /// Creates a message of no pieces.
    pub const fn new() -> Self {
        Segments(heapless::Vec::new())
    }

    /// Appends a piece.
    ///
    /// # Errors
    /// Returns the piece if there are `N` already.
    pub fn push(&mut self, piece: V) -> Result<(), V> {
        self.0.push(piece)
    }

    /// Returns the pieces.
    pub fn pieces(&self) -> &[V] {
        &self.0
    }
}

impl<V, const N: usize> Default for Segments<V, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Source, const N: usize> Segments<V, N> {
    /// Calls `f` with every piece that holds bytes of `offset..offset + into.len()`, the offset within the piece, and
    /// the part of `into` for those bytes.
    fn walk(
        &self,
        mut offset: usize,
        mut into: &mut [u8],
        mut f: impl FnMut(&V, usize, &mut [u8]),
    ) {
        for piece in &self.0 {
            let len = piece.len();
            if offset >= len {
                offset -= len;
                continue;
            }
            let now = into.len().min(len - offset);
            let (here, later) = core::mem::take(&mut into).split_at_mut(now);
            f(piece, offset, here);
            into = later;
            offset = 0;
            if into.is_empty() {
                return;
            }
        }
    }
}

impl<V: Source, const N: usize> Source for Segments<V, N> {
    fn len(&self) -> usize {
        self.0.iter().map(Source::len).sum()
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        self.walk(offset, into, |piece, inside, here| {
            piece.copy_out(inside, here)
        });
    }

    fn copy_out_swapped(&self, offset: usize, into: &mut [u8]) {
        self.walk(offset, into, |piece, inside, here| {
            piece.copy_out_swapped(inside, here)
        });
    }
}

impl<V: Sink, const N: usize> Segments<V, N> {
    /// Calls `f` with every piece that has space for bytes of `from`, the offset within the piece, and those bytes.
    fn scatter(&mut self, mut offset: usize, mut from: &[u8], f: impl Fn(&mut V, usize, &[u8])) {
        for piece in &mut self.0 {
            let len = piece.len();
            if offset >= len {
                offset -= len;
                continue;
            }
            let (now, later) = from.split_at(from.len().min(len - offset));
            f(piece, offset, now);
            from = later;
            offset = 0;
            if from.is_empty() {
                return;
            }
        }
    }
}

impl<V: Sink, const N: usize> Sink for Segments<V, N> {
    fn len(&self) -> usize {
        self.0.iter().map(Sink::len).sum()
    }

    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        self.scatter(offset, from, |piece, inside, here| {
            piece.copy_in(inside, here)
        });
    }

    fn copy_in_swapped(&mut self, offset: usize, from: &[u8]) {
        self.scatter(offset, from, |piece, inside, here| {
            piece.copy_in_swapped(inside, here)
        });
    }
}
