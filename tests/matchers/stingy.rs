//! Storage that has room for entries but runs out of it for bins.

use pombo_kernel::aspect::{Capacity, Slice, Static, Storage};

pub(crate) struct Stingy;

impl Storage for Stingy {
    type Slice<T, K: Capacity> = Short<T, K>;
    type Cell<B: Capacity> = <Static as Storage>::Cell<B>;
}

/// Bound of tables of 32-bit numbers, which bins are and entries are not; tables of links are bounded too.
const FEW: usize = 9;

pub(crate) struct Short<T, K: Capacity>(K::Inline<T>);

impl<T, K: Capacity> AsRef<[T]> for Short<T, K> {
    fn as_ref(&self) -> &[T] {
        self.0.as_ref()
    }
}

impl<T, K: Capacity> AsMut<[T]> for Short<T, K> {
    fn as_mut(&mut self) -> &mut [T] {
        self.0.as_mut()
    }
}

impl<T, K: Capacity> Slice<T> for Short<T, K> {
    fn new() -> Self {
        Short(K::Inline::new())
    }

    fn push(&mut self, item: T) -> Result<(), T> {
        if align_of::<T>() == align_of::<u32>() && self.0.as_ref().len() == FEW {
            return Err(item);
        }
        self.0.push(item)
    }

    fn extend(&mut self, items: &[T]) -> bool
    where
        T: Clone,
    {
        self.0.extend(items)
    }
}
