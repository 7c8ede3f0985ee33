//! Memory whose data is where a layout says: gathered and scattered without a copy in between.

use super::typed::{Values, ValuesMut};
use super::{Memory, Sink, Source};
use crate::Error;
use crate::aspect::{Element, Level, Slice};
use crate::layout::{Entry, Layout};
use core::marker::PhantomData;

/// Items of a [`Layout`] in slices of bytes. `N` is the storage of the layout's table.
pub struct WithLayout<'buf, N>(PhantomData<&'buf mut N>);

impl<'buf, N: Slice<Entry<Element>> + 'static> Memory for WithLayout<'buf, N> {
    const LEVEL: Level = Level::Full;
    type Out = LayoutSource<'buf, N>;
    type In = LayoutSink<'buf, N>;
}

/// Items that a send gathers from a slice.
#[derive(Debug)]
pub struct LayoutSource<'buf, N> {
    memory: &'buf [u8],
    items: Items<'buf, N>,
}

/// Memory for received items. Bytes between the values are not written.
#[derive(Debug)]
pub struct LayoutSink<'buf, N> {
    memory: &'buf mut [u8],
    items: Items<'buf, N>,
}

#[derive(Debug)]
struct Items<'buf, N> {
    layout: &'buf Layout<N>,
    items: usize,
    /// The place of displacement 0 in the memory.
    origin: usize,
    /// Bytes of a message of all items.
    len: usize,
}

impl<N> Clone for Items<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Items<'_, N> {}

impl<'buf, N: Slice<Entry<Element>>> Items<'buf, N> {
    fn new(
        memory: &[u8],
        origin: usize,
        items: usize,
        layout: &'buf Layout<N>,
    ) -> Result<Self, Error> {
        let size = usize::try_from(layout.size()).map_err(|_| Error::LayoutOverflow)?;
        let len = size.checked_mul(items).ok_or(Error::LayoutOverflow)?;
        let (first, end) = layout.reach(items as u64);
        let begins = origin as i128 + first;
        match len == 0 || (begins >= 0 && origin as i128 + end <= memory.len() as i128) {
            true => Ok(Items {
                layout,
                items,
                origin,
                len,
            }),
            false => Err(Error::OutOfBounds),
        }
    }

    /// Calls `f` for every piece of `len` bytes of data from `offset` on: with the place of its first value in the
    /// memory, the bytes of that value that are skipped, its length in the form in which it is sent, and the type of
    /// its values.
    #[inline]
    fn pieces(&self, offset: usize, len: usize, mut f: impl FnMut(usize, usize, usize, Element)) {
        let blocks = self
            .layout
            .blocks(self.items as u64, offset as u64, len as u64);
        for block in blocks {
            let mut place = (self.origin as i64).wrapping_add(block.displacement);
            for _ in 0..block.count {
                f(
                    place as usize,
                    block.phase as usize,
                    block.len as usize,
                    block.element,
                );
                place = place.wrapping_add(block.stride);
            }
        }
    }
}

/// Returns the bytes in memory of the values that hold `len` bytes of a message, behind `phase` bytes.
#[inline]
fn in_memory(phase: usize, len: usize, element: Element) -> usize {
    let size = element.extent();
    (phase + len).div_ceil(element.travelling(size)) * size
}

impl<'buf, N: Slice<Entry<Element>>> LayoutSource<'buf, N> {
    /// Lends items whose displacement 0 is at byte `origin` of the memory.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]: an item reaches beyond the memory. [`Error::LayoutOverflow`]: more data than memory can
    /// hold.
    pub fn new(
        memory: &'buf [u8],
        origin: usize,
        items: usize,
        layout: &'buf Layout<N>,
    ) -> Result<Self, Error> {
        let items = Items::new(memory, origin, items, layout)?;
        Ok(LayoutSource { memory, items })
    }

    #[inline]
    fn gather(&self, offset: usize, into: &mut [u8], f: impl Fn(Values<'_>, usize, &mut [u8])) {
        let (memory, mut rest) = (self.memory, &mut *into);
        self.items
            .pieces(offset, rest.len(), |place, phase, len, element| {
                let (here, later) = core::mem::take(&mut rest).split_at_mut(len);
                let bytes = &memory[place..place + in_memory(phase, len, element)];
                f(Values::of_bytes(bytes, element), phase, here);
                rest = later;
            });
    }
}

impl<'buf, N: Slice<Entry<Element>>> LayoutSink<'buf, N> {
    /// Lends memory for items whose displacement 0 is at byte `origin`.
    ///
    /// # Errors
    /// As [`LayoutSource::new`].
    pub fn new(
        memory: &'buf mut [u8],
        origin: usize,
        items: usize,
        layout: &'buf Layout<N>,
    ) -> Result<Self, Error> {
        let items = Items::new(memory, origin, items, layout)?;
        Ok(LayoutSink { memory, items })
    }

    /// Returns the memory.
    pub fn memory(&self) -> &[u8] {
        self.memory
    }

    /// Returns the items to read.
    pub fn as_source(&self) -> LayoutSource<'_, N> {
        LayoutSource {
            memory: self.memory,
            items: self.items,
        }
    }

    #[inline]
    fn scatter(&mut self, offset: usize, from: &[u8], f: impl Fn(ValuesMut<'_>, usize, &[u8])) {
        let (memory, mut rest) = (&mut *self.memory, from);
        self.items
            .pieces(offset, from.len(), |place, phase, len, element| {
                let (here, later) = rest.split_at(len);
                let bytes = &mut memory[place..place + in_memory(phase, len, element)];
                f(ValuesMut::of_bytes(bytes, element), phase, here);
                rest = later;
            });
    }
}

impl<N: Slice<Entry<Element>>> Source for LayoutSource<'_, N> {
    fn len(&self) -> usize {
        self.items.len
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        self.gather(offset, into, |values, phase, here| {
            values.copy_out(phase, here);
        });
    }

    fn copy_out_swapped(&self, offset: usize, into: &mut [u8]) {
        self.gather(offset, into, |values, phase, here| {
            values.copy_out_swapped(phase, here);
        });
    }
}

impl<N: Slice<Entry<Element>>> Sink for LayoutSink<'_, N> {
    fn len(&self) -> usize {
        self.items.len
    }

    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        self.scatter(offset, from, |mut values, phase, here| {
            values.copy_in(phase, here)
        });
    }

    fn copy_in_swapped(&mut self, offset: usize, from: &[u8]) {
        self.scatter(offset, from, |mut values, phase, here| {
            values.copy_in_swapped(phase, here);
        });
    }
}
