//! Memory that several loans may share: an operation sends, receives and combines pieces of it.

use core::cell::Cell;
use core::marker::PhantomData;
use pombo_kernel::{Memory, Sink, Source};
use zerocopy::{FromBytes, IntoBytes};

/// The kind of memory whose loans are [`SharedBytes`].
pub struct SharedMemory<'buf>(PhantomData<&'buf [Cell<u8>]>);

impl<'buf> Memory for SharedMemory<'buf> {
    type Out = SharedBytes<'buf>;
    type In = SharedBytes<'buf>;
}

/// Bytes that can be lent more than once at a time, whole or in part, to sends and receives alike.
#[derive(Clone, Copy, Debug)]
pub struct SharedBytes<'buf>(&'buf [Cell<u8>]);

impl<'buf> SharedBytes<'buf> {
    /// Makes the bytes lendable more than once, for as long as they are borrowed here.
    pub fn new(bytes: &'buf mut [u8]) -> Self {
        SharedBytes(Cell::from_mut(bytes).as_slice_of_cells())
    }

    /// Wraps bytes that others of this thread may change.
    pub const fn from_cells(cells: &'buf [Cell<u8>]) -> Self {
        SharedBytes(cells)
    }

    /// Wraps the bytes of values.
    pub fn of<T: FromBytes + IntoBytes>(values: &'buf mut [T]) -> Self {
        Self::new(values.as_mut_bytes())
    }

    /// Returns memory of no bytes.
    pub const fn nothing() -> Self {
        SharedBytes(&[])
    }

    /// Returns the number of bytes.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no bytes.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the bytes from `start` to `end`, cut to what there is.
    pub fn part(&self, start: usize, end: usize) -> Self {
        let end = end.min(self.0.len());
        SharedBytes(&self.0[start.min(end)..end])
    }

    /// Copies these bytes to `into`, as many as fit both.
    #[inline]
    pub fn read(&self, into: &mut [u8]) {
        for (byte, cell) in into.iter_mut().zip(self.0) {
            *byte = cell.get();
        }
    }

    /// Copies `from` to these bytes, as many as fit both.
    #[inline]
    pub fn write(&self, from: &[u8]) {
        for (byte, cell) in from.iter().zip(self.0) {
            cell.set(*byte);
        }
    }

    /// Copies these bytes to `into`, as many as fit both. The two may be the same memory.
    #[inline]
    pub fn copy_to(&self, into: SharedBytes<'_>) {
        for (from, into) in self.0.iter().zip(into.0) {
            into.set(from.get());
        }
    }
}

impl Source for SharedBytes<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        self.part(offset, offset + into.len()).read(into);
    }
}

impl Sink for SharedBytes<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        self.part(offset, offset + from.len()).write(from);
    }
}
