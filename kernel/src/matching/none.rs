//! No queue of receives and no search: for programs with queues of their own. Source: the EPOS communication system,
//! section 3.3 (queues that the user switches off).

use super::linear::ListOf;
use super::{Arrived, Expected, Matcher, Posted, Search, Sequence, Unexpected};
use crate::config::{Config, Sizes};
use crate::envelope::Envelope;
use crate::header::{Header, Peer};

/// Policy: messages are received strictly in arrival order.
///
/// Messages wait in the pool, first in, first out. A receive takes the first one if its pattern matches it, so a
/// wildcard pattern always succeeds; no search goes beyond the first message. A receive without a match cannot wait and
/// is refused, so programs probe first.
#[derive(Clone, Copy, Debug)]
pub struct NoQueues;

impl Matcher for NoQueues {
    const QUEUES: bool = false;
    type Sequence<S: Sequence> = ();
    type Expected<H: Header, C: Config> = NoExpected;
    type Unexpected<H: Header, C: Config> = Fifo<H, C>;
}

/// An expected queue that accepts no receive and takes no bytes.
pub struct NoExpected;

impl<H: Header, S: Sequence> Expected<H, S> for NoExpected {
    fn new() -> Self {
        NoExpected
    }

    fn post(&mut self, _: Posted<H::Pattern, S>) -> bool {
        false
    }

    #[inline]
    fn search(&mut self, _: Peer, _: &H) -> Search<Posted<H::Pattern, S>> {
        Search {
            found: None,
            steps: 0,
        }
    }

    fn remove(&mut self, _: u32) {}

    fn wanted(&self, _: u32) -> Option<H::Pattern> {
        None
    }

    fn following(&self, _: u64, _: Peer) -> Option<Posted<H::Pattern, S>> {
        None
    }

    fn len(&self) -> usize {
        0
    }
}

/// An unexpected queue of which only the first message can be received.
pub struct Fifo<H: Header, C: Config>(ListOf<Arrived<H, C>, C::Storage, <C::Sizes as Sizes>::Pool>);

impl<H: Header, C: Config> Unexpected<H, C> for Fifo<H, C> {
    fn new() -> Self {
        Fifo(ListOf::<_, C::Storage, _>::empty())
    }

    fn push(&mut self, arrived: Arrived<H, C>) -> Option<u32> {
        self.0.append(arrived)
    }

    #[inline]
    fn search(&mut self, pattern: &H::Pattern) -> Search<u32> {
        let first = self.0.places().next();
        let matches = |&place: &u32| {
            let arrived = self.0.item(place);
            arrived.is_some_and(|arrived| arrived.matches(pattern))
        };
        Search {
            found: first.filter(matches),
            steps: usize::from(first.is_some()),
        }
    }

    fn position(&self, wanted: impl Fn(&Envelope<H, C>) -> bool) -> Option<u32> {
        Unexpected::<H, C>::position(&self.0, wanted)
    }

    fn get(&self, place: u32) -> Option<&Arrived<H, C>> {
        self.0.item(place)
    }

    fn get_mut(&mut self, place: u32) -> Option<&mut Arrived<H, C>> {
        self.0.item_mut(place)
    }

    fn remove(&mut self, place: u32) {
        self.0.take_out(place);
    }

    fn set_aside(&mut self, place: u32) {
        self.0.unlink(place);
    }

    fn drop_aside(&mut self, place: u32) {
        self.0.drop_unlinked(place);
    }

    fn len(&self) -> usize {
        self.0.count()
    }
}
