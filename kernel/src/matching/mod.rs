//! How receives and messages find each other. A policy family; kernel only.
//!
//! The rules are MPI's: a message goes to the first posted receive that matches it, a receive takes the first
//! message that matches it, in arrival order. Both queues only ever grow at their end.
//!
//! | policy | steps of a search among n entries | bytes that it adds to an entry |
//! | --- | --- | --- |
//! | [`Linear`] | up to n | 0 |
//! | [`Binned`] | a few for each class of patterns ([`Pattern::CLASSES`]) | 20 expected, 68 unexpected |
//! | [`Adaptive`] | as `Linear` while searches are short, then as `Binned` | as `Binned`; with growing storage none before it switches |
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
use crate::composition::{Config, Sizes};
use crate::envelope::Envelope;
use crate::header::{Header, Pattern, Peer};

/// The sequence numbers of a composition's receives.
pub type SequenceOf<C> =
    <<C as Config>::Matcher as Matcher>::Sequence<<<C as Config>::Transfer as Transfer>::Sequence>;

/// The policy family.
pub trait Matcher: 'static {
    /// May a receive wait for its message? When not, a receive that finds no message is refused.
    const QUEUES: bool = true;
    /// The sequence numbers of receives, when the transfer policy needs `S`.
    type Sequence<S: Sequence>: Sequence;
    /// Receives that wait for a message.
    type Expected<H: Header, C: Config>: Expected<H, Self::Sequence<<C::Transfer as Transfer>::Sequence>>;
    /// Messages that wait for a receive.
    type Unexpected<H: Header, C: Config>: Unexpected<H, C>;
}

/// What a search gave and what it took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Search<T> {
    /// The first match.
    pub found: Option<T>,
    /// Entries looked at.
    pub steps: usize,
}

/// A posted receive.
#[derive(Clone, Copy)]
pub struct Posted<P, S = u64> {
    /// What it wants.
    pub pattern: P,
    /// Its operation.
    pub slot: u32,
    /// Grows with every post.
    pub sequence: S,
}

/// The queue of receives that wait for a message.
pub trait Expected<H: Header, S: Sequence = u64> {
    /// Empty.
    fn new() -> Self;
    /// Appends; the place is for [`Expected::remove`]. `None` when full.
    fn post(&mut self, posted: Posted<H::Pattern, S>) -> Option<u32>;
    /// The first one that matches, with its place, and how long it took to find it.
    fn search(&mut self, from: Peer, header: &H) -> Search<(u32, Posted<H::Pattern, S>)>;
    /// The same for those who do not ask how long it took.
    #[inline]
    fn find(&mut self, from: Peer, header: &H) -> Option<(u32, Posted<H::Pattern, S>)> {
        self.search(from, header).found
    }
    /// Takes the first one that matches out; its operation.
    #[inline]
    fn take(&mut self, from: Peer, header: &H) -> Option<u32> {
        let (place, posted) = self.find(from, header)?;
        self.remove(place);
        Some(posted.slot)
    }
    /// Takes one out by its place.
    fn remove(&mut self, place: u32);
    /// What the one at that place wants.
    fn wanted(&self, place: u32) -> Option<H::Pattern>;
    /// The first one behind this sequence number that could match a message from `from`.
    fn following(&self, sequence: u64, from: Peer) -> Option<Posted<H::Pattern, S>>;
    /// How many.
    fn len(&self) -> usize;
}

/// The payload type of the pool in a composition.
pub type CellOf<C> =
    <<C as Config>::Storage as Storage>::Cell<<<C as Config>::Sizes as Sizes>::Cell>;

/// A message that nobody has asked for yet.
pub struct Arrived<H: Header, C: Config> {
    /// Its envelope.
    pub envelope: Envelope<H, C>,
    /// Its payload, empty when it was announced.
    pub payload: CellOf<C>,
}

impl<H: Header, C: Config> Arrived<H, C> {
    /// A whole message. `None` if the payload does not fit the composition.
    pub fn whole(from: Peer, header: H, payload: &[u8]) -> Option<Self> {
        let mut arrived = Self::new(Envelope::new(header, payload.len(), from, None)?);
        arrived.payload.append(payload).then_some(arrived)
    }

    /// Does a receive with this pattern take it?
    #[inline]
    pub(crate) fn matches(&self, pattern: &H::Pattern) -> bool {
        pattern.matches(self.envelope.peer(), &self.envelope.header())
    }

    /// Without payload yet.
    pub(crate) fn new(envelope: Envelope<H, C>) -> Self {
        Arrived {
            envelope,
            payload: CellOf::<C>::empty(),
        }
    }
}

/// The queue of messages that wait for a receive.
pub trait Unexpected<H: Header, C: Config> {
    /// Empty.
    fn new() -> Self;
    /// Appends and gives the place; `None` when full.
    fn push(&mut self, arrived: Arrived<H, C>) -> Option<u32>;
    /// The place of the first one that a receive with this pattern takes, and how long it took to find it.
    fn search(&mut self, pattern: &H::Pattern) -> Search<u32>;
    /// The same for those who do not ask how long it took.
    #[inline]
    fn find(&mut self, pattern: &H::Pattern) -> Option<u32> {
        self.search(pattern).found
    }
    /// The place of the first one of which `wanted` says so.
    fn position(&self, wanted: impl Fn(&Envelope<H, C>) -> bool) -> Option<u32>;
    /// The message at a place.
    fn get(&self, place: u32) -> Option<&Arrived<H, C>>;
    /// The message at a place.
    fn get_mut(&mut self, place: u32) -> Option<&mut Arrived<H, C>>;
    /// Drops the message at a place.
    fn remove(&mut self, place: u32);
    /// Takes the message at a place out of every search; it stays where it is for [`Unexpected::drop_aside`].
    fn set_aside(&mut self, place: u32);
    /// Drops a message that was set aside.
    fn drop_aside(&mut self, place: u32);
    /// How many, those set aside included.
    fn len(&self) -> usize;
}
