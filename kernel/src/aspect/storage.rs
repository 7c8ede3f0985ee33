//! Storage of tables: [`Static`] in place and of fixed size, or a growing storage of a hosted package.

/// Counts as types, because stable Rust cannot size an array by an associated constant.
pub trait Capacity: 'static {
    /// The count.
    const N: usize;
    /// Memory for this many items, in place.
    type Inline<T>: Slice<T>;
}

/// `Cap<8>` is the count eight.
#[derive(Clone, Copy, Debug)]
pub struct Cap<const N: usize>;

impl<const N: usize> Capacity for Cap<N> {
    const N: usize = N;
    type Inline<T> = heapless::Vec<T, N>;
}

/// A vector of bounded length.
pub trait Slice<T>: AsRef<[T]> + AsMut<[T]> {
    /// Creates an empty vector.
    fn new() -> Self;

    /// Appends an item.
    ///
    /// # Errors
    /// Returns the item if the bound is reached.
    fn push(&mut self, item: T) -> Result<(), T>;

    /// Appends all items; returns false and appends nothing if the bound would be exceeded.
    fn extend(&mut self, items: &[T]) -> bool
    where
        T: Clone;
}

impl<T, const N: usize> Slice<T> for heapless::Vec<T, N> {
    fn new() -> Self {
        heapless::Vec::new()
    }

    fn push(&mut self, item: T) -> Result<(), T> {
        heapless::Vec::push(self, item)
    }

    fn extend(&mut self, items: &[T]) -> bool
    where
        T: Clone,
    {
        self.extend_from_slice(items).is_ok()
    }
}

/// The payload of one unexpected message.
pub trait Cell {
    /// Creates an empty cell.
    fn empty() -> Self;

    /// Reserves memory for `bytes` bytes, where that costs less than to append them piece by piece.
    fn reserve(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Appends bytes. The kernel checks the bound first, so false means that the allocator has no memory.
    fn append(&mut self, bytes: &[u8]) -> bool;

    /// Returns the bytes of the cell.
    fn bytes(&self) -> &[u8];
}

/// The policy family. A wrong implementation outside the kernel loses messages, never memory safety.
pub trait Storage: 'static {
    /// A vector of at most `K::N` items.
    type Slice<T, K: Capacity>: Slice<T>;
    /// A payload of at most `B::N` bytes.
    type Cell<B: Capacity>: Cell;
}

/// Everything lies in place and nothing is allocated: a full table is [`Error::Full`](crate::Error::Full).
#[derive(Clone, Copy, Debug)]
pub struct Static;

impl Storage for Static {
    type Slice<T, K: Capacity> = K::Inline<T>;
    type Cell<B: Capacity> = InlineCell<B>;
}

/// A payload in place.
pub struct InlineCell<B: Capacity>(B::Inline<u8>);

impl<B: Capacity> Cell for InlineCell<B> {
    fn empty() -> Self {
        InlineCell(B::Inline::new())
    }

    fn append(&mut self, bytes: &[u8]) -> bool {
        self.0.extend(bytes)
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }
}
