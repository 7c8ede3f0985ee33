//! Policy: whether the kernel may copy a message to send it later. Source: the EPOS thesis, sections 3.5 and 4.2.1.

use super::{Absent, Cell, Maybe, Present};

/// The policy family.
pub trait Buffering: 'static {
    /// Whether sends can be buffered.
    const ON: bool;
    /// Memory of a copy: a cell of the composition's storage, or nothing.
    type Copy<C: Cell>: Cell;
    /// State that copies need.
    type Held<T>: Maybe<T>;
}

/// No copies: the memory of a send stays lent until the message has left.
#[derive(Clone, Copy, Debug)]
pub struct Unbuffered;

/// [`send_buffered`](crate::Communicator::send_buffered) copies what cannot leave at once, and
/// [`detach`](crate::facade::PointToPointExt::detach) what waits for credit: as many messages as the composition has
/// operations, each up to a cell long, within the bytes of [`Limits::copies`](crate::Limits::copies).
#[derive(Clone, Copy, Debug)]
pub struct Buffered;

impl Buffering for Unbuffered {
    const ON: bool = false;
    type Copy<C: Cell> = NoCopy;
    type Held<T> = Absent;
}

impl Buffering for Buffered {
    const ON: bool = true;
    type Copy<C: Cell> = C;
    type Held<T> = Present<T>;
}

/// A cell of no bytes.
pub struct NoCopy;

impl Cell for NoCopy {
    fn empty() -> Self {
        NoCopy
    }

    fn append(&mut self, bytes: &[u8]) -> bool {
        bytes.is_empty()
    }

    fn bytes(&self) -> &[u8] {
        &[]
    }
}
