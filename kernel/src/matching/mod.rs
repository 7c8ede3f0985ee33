//! Matching of receives with messages: a policy family that only the kernel uses.
//!
//! The rules are MPI's: a message goes to the first posted receive that matches it, and a receive takes the first
//! message that matches it, in arrival order. Entries are appended only at the end of both queues.
//!
//! | policy | steps of a search among n entries | bytes that it adds to an entry |
//! | --- | --- | --- |
//! | [`Linear`] | up to n | 0 |
//! | [`Binned`] | a few for each class of patterns ([`Pattern::CLASSES`]) | 20 expected, 68 unexpected |
//! | [`Adaptive`] | as `Linear` while searches are short, then as `Binned` | as `Binned`; growing storage: only then |
//! | [`NoQueues`] | 1 | there are no expected entries; 0 unexpected |

#![allow(clippy::len_without_is_empty, reason = "a length is a statistic here")]

mod adaptive;
mod bins;
mod indexed;
mod linear;
mod none;
mod sequence;

pub use adaptive::{Adaptive, Binned, BinnedExpected, BinnedUnexpected};
pub use linear::{Linear, List};
pub use none::{Fifo, NoExpected, NoQueues};
pub use sequence::Sequence;

use crate::aspect::{Cell, Storage, Transfer};
use crate::config::{Config, Sizes};
use crate::envelope::{Envelope, EnvelopeFormat};
use crate::header::{Header, Pattern, Peer};

/// The sequence numbers of a composition's receives.
pub type SequenceOf<C> = <<C as Config>::Matcher as Matcher>::Sequence<
    <<C as EnvelopeFormat>::Transfer as Transfer>::Sequence,
>;

/// The policy family.
pub trait Matcher: 'static {
    /// Whether a receive may wait for its message. If not, a receive that finds no message is refused.
    const QUEUES: bool = true;
    /// The sequence numbers of receives, if the transfer policy needs `S`.
    type Sequence<S: Sequence>: Sequence;
    /// The queue of receives that wait for a message.
    type Expected<H: Header, C: Config>: Expected<H, Self::Sequence<<C::Transfer as Transfer>::Sequence>>;
    /// The queue of messages that wait for a receive.
    type Unexpected<H: Header, C: Config>: Unexpected<H, C>;
}

/// The result of a search and its cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Search<T> {
    /// The first match.
    pub found: Option<T>,
    /// Number of entries visited.
    pub steps: usize,
}

/// A posted receive.
#[derive(Clone, Copy)]
pub struct Posted<P, S = u64> {
    /// What the receive matches.
    pub pattern: P,
    /// The slot of its operation.
    pub slot: u32,
    /// Increases with every post.
    pub sequence: S,
}

/// The queue of receives that wait for a message.
pub trait Expected<H: Header, S: Sequence = u64> {
    /// Creates an empty queue.
    fn new() -> Self;
    /// Appends a receive, whose slot no other receive in the queue has; returns false if the queue is full.
    fn post(&mut self, posted: Posted<H::Pattern, S>) -> bool;
    /// Returns the first receive that matches, and the cost of the search.
    fn search(&mut self, from: Peer, header: &H) -> Search<Posted<H::Pattern, S>>;
    /// Returns the same without the cost.
    #[inline]
    fn find(&mut self, from: Peer, header: &H) -> Option<Posted<H::Pattern, S>> {
        self.search(from, header).found
    }
    /// Takes the first receive that matches out and returns the slot of its operation.
    #[inline]
    fn take(&mut self, from: Peer, header: &H) -> Option<u32> {
        let Posted { slot, .. } = self.find(from, header)?;
        self.remove(slot);
        Some(slot)
    }
    /// Removes the receive of a slot.
    fn remove(&mut self, slot: u32);
    /// Returns the pattern of the receive of a slot.
    fn wanted(&self, slot: u32) -> Option<H::Pattern>;
    /// Returns the first receive behind this sequence number that could match a message from `from`.
    fn following(&self, sequence: u64, from: Peer) -> Option<Posted<H::Pattern, S>>;
    /// Returns the number of receives.
    fn len(&self) -> usize;
}

/// The payload type of the pool in a composition.
pub type CellOf<C> =
    <<C as Config>::Storage as Storage>::Cell<<<C as Config>::Sizes as Sizes>::Cell>;

/// A message without a receive.
pub struct Arrived<H: Header, C: Config> {
    /// The envelope.
    pub envelope: Envelope<H, C>,
    /// The payload, empty if the message is only announced.
    pub payload: CellOf<C>,
}

impl<H: Header, C: Config> Arrived<H, C> {
    /// Creates a whole message. Returns `None` if the payload does not fit the composition.
    pub fn whole(from: Peer, header: H, payload: &[u8]) -> Option<Self> {
        let mut arrived = Self::new(Envelope::new(header, payload.len(), from, None)?);
        arrived.payload.append(payload).then_some(arrived)
    }

    /// Returns whether a receive with this pattern matches the message.
    #[inline]
    pub(crate) fn matches(&self, pattern: &H::Pattern) -> bool {
        pattern.matches(self.envelope.peer(), &self.envelope.header())
    }

    /// Creates a message that has no payload yet.
    pub(crate) fn new(envelope: Envelope<H, C>) -> Self {
        Arrived {
            envelope,
            payload: CellOf::<C>::empty(),
        }
    }
}

/// The queue of messages that wait for a receive.
pub trait Unexpected<H: Header, C: Config> {
    /// Creates an empty queue.
    fn new() -> Self;
    /// Appends a message and returns its place; `None` if the queue is full.
    fn push(&mut self, arrived: Arrived<H, C>) -> Option<u32>;
    /// Returns the place of the first message that this pattern matches, and the cost of the search.
    fn search(&mut self, pattern: &H::Pattern) -> Search<u32>;
    /// Returns the same without the cost.
    #[inline]
    fn find(&mut self, pattern: &H::Pattern) -> Option<u32> {
        self.search(pattern).found
    }
    /// Returns the place of the first message for which `wanted` is true.
    fn position(&self, wanted: impl Fn(&Envelope<H, C>) -> bool) -> Option<u32>;
    /// Returns the message at a place.
    fn get(&self, place: u32) -> Option<&Arrived<H, C>>;
    /// Returns the message at a place.
    fn get_mut(&mut self, place: u32) -> Option<&mut Arrived<H, C>>;
    /// Drops the message at a place.
    fn remove(&mut self, place: u32);
    /// Hides the message at a place from every search; it keeps its place until [`Unexpected::drop_aside`].
    fn set_aside(&mut self, place: u32);
    /// Drops a message that was set aside.
    fn drop_aside(&mut self, place: u32);
    /// Returns the number of messages, including those set aside.
    fn len(&self) -> usize;
}
