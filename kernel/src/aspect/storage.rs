//! Where tables live: [`Static`] in place and fixed, or in a growing storage that a hosted package brings.

/// Counts as types, because stable Rust cannot size an array by an associated constant.
pub trait Capacity: 'static {
    /// How many.
    const N: usize;
    /// Room for that many, in place.
    type Inline<T>: Slice<T>;
}

/// `Cap<8>` is the count eight.
#[derive(Clone, Copy, Debug)]
pub struct Cap<const N: usize>;

impl<const N: usize> Capacity for Cap<N> {
    const N: usize = N;
    type Inline<T> = heapless::Vec<T, N>;
}

/// A vector with a bound.
pub trait Slice<T>: AsRef<[T]> + AsMut<[T]> {
    /// Empty.
    fn new() -> Self;

    /// Appends.
    ///
    /// # Errors
    /// The item comes back when the bound is reached.
    fn push(&mut self, item: T) -> Result<(), T>;

    /// Appends them all; false, and nothing appended, when the bound would be passed.
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
    /// No bytes.
    fn empty() -> Self;

    /// Makes room for so many bytes at once, where that costs less than to append them piece by piece.
    fn reserve(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Appends; false when there is no room (the kernel checks the bound first, so this says that memory ran out).
    fn append(&mut self, bytes: &[u8]) -> bool;

    /// What is in it.
    fn bytes(&self) -> &[u8];
}

/// The policy family. A wrong implementation outside the kernel loses messages, never memory safety.
pub trait Storage: 'static {
    /// A vector of at most `K::N` items.
    type Slice<T, K: Capacity>: Slice<T>;
    /// A payload of at most `B::N` bytes.
    type Cell<B: Capacity>: Cell;
}

/// Everything in place, nothing allocated: a full table is [`Error::Full`](crate::Error::Full).
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
