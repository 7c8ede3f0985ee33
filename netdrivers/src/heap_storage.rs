//! Storage that grows on the heap, for programs with an allocator: tables start empty and grow up to the composition's
//! bound, payloads take exactly the bytes that they need.

use alloc::vec::Vec;
use core::marker::PhantomData;
use pombo_kernel::aspect::{Capacity, Cell, Slice, Storage};

/// The storage policy. A table at its bound behaves as with [`Static`](pombo_kernel::aspect::Static) storage.
#[derive(Clone, Copy, Debug)]
pub struct HeapStorage;

impl Storage for HeapStorage {
    type Slice<T, K: Capacity> = HeapSlice<T, K>;
    type Cell<B: Capacity> = HeapCell<B>;
}

/// The storage policy in which tables stand in place, as with [`Static`](pombo_kernel::aspect::Static), and payloads take
/// memory of the heap: no code that lets tables grow.
#[derive(Clone, Copy, Debug)]
pub struct HeapCells;

impl Storage for HeapCells {
    type Slice<T, K: Capacity> = K::Inline<T>;
    type Cell<B: Capacity> = HeapCell<B>;
}

/// A vector of at most `K::N` items.
pub struct HeapSlice<T, K>(Vec<T>, PhantomData<K>);

impl<T, K> AsRef<[T]> for HeapSlice<T, K> {
    fn as_ref(&self) -> &[T] {
        &self.0
    }
}

impl<T, K> AsMut<[T]> for HeapSlice<T, K> {
    fn as_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T, K: Capacity> Slice<T> for HeapSlice<T, K> {
    fn new() -> Self {
        HeapSlice(Vec::new(), PhantomData)
    }

    fn push(&mut self, item: T) -> Result<(), T> {
        if self.0.len() == K::N || self.0.try_reserve(1).is_err() {
            return Err(item);
        }
        self.0.push(item);
        Ok(())
    }

    fn extend(&mut self, items: &[T]) -> bool
    where
        T: Clone,
    {
        let fits = self.0.len() + items.len() <= K::N && self.0.try_reserve(items.len()).is_ok();
        if fits {
            self.0.extend_from_slice(items);
        }
        fits
    }
}

/// A payload of at most `B::N` bytes.
pub struct HeapCell<B>(Vec<u8>, PhantomData<B>);

impl<B: Capacity> Cell for HeapCell<B> {
    fn empty() -> Self {
        HeapCell(Vec::new(), PhantomData)
    }

    fn reserve(&mut self, bytes: usize) {
        // If there is no memory the next append reports it.
        let _ = self.0.try_reserve_exact(bytes.min(B::N));
    }

    fn append(&mut self, bytes: &[u8]) -> bool {
        let fits =
            self.0.len() + bytes.len() <= B::N && self.0.try_reserve_exact(bytes.len()).is_ok();
        if fits {
            self.0.extend_from_slice(bytes);
        }
        fits
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }
}
