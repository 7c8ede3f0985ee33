//! One list each, searched from the front: the fastest up to some sixteen entries, which is what real programs have.

use super::{Arrived, Expected, Matcher, Posted, Unexpected};
use crate::aspect::{Slice, Storage};
use crate::config::{Config, Sizes};
use crate::envelope::Envelope;
use crate::header::{Header, Node, Pattern};
use crate::slab::{Entry, Queue, Slab};

/// The policy: search in order.
#[derive(Clone, Copy, Debug)]
pub struct Linear;

impl Matcher for Linear {
    type Expected<H: Header, C: Config> = List<
        Posted<H::Pattern>,
        <C::Storage as Storage>::Slice<Entry<Posted<H::Pattern>>, <C::Sizes as Sizes>::Operations>,
    >;
    type Unexpected<H: Header, C: Config> = List<
        Arrived<H, C>,
        <C::Storage as Storage>::Slice<Entry<Arrived<H, C>>, <C::Sizes as Sizes>::Pool>,
    >;
}

/// Entries in the order in which they came.
pub struct List<T, A: Slice<Entry<T>>> {
    slab: Slab<T, A>,
    order: Queue,
}

impl<T, A: Slice<Entry<T>>> List<T, A> {
    fn empty() -> Self {
        List {
            slab: Slab::new(),
            order: Queue::new(),
        }
    }

    fn append(&mut self, item: T) -> Option<u32> {
        let place = self.slab.insert(item).ok()?;
        self.order.push(&mut self.slab, place);
        Some(place)
    }

    #[inline]
    fn first(&self, wanted: impl Fn(&T) -> bool) -> Option<u32> {
        let mut at = self.order.first();
        while let Some(place) = at {
            if self.slab.get(place).is_some_and(&wanted) {
                return Some(place);
            }
            at = self.order.after(&self.slab, place);
        }
        None
    }

    fn take_out(&mut self, place: u32) {
        if self.slab.get(place).is_some() {
            self.order.unlink(&mut self.slab, place);
            self.slab.remove(place);
        }
    }
}

impl<H: Header, A: Slice<Entry<Posted<H::Pattern>>>> Expected<H> for List<Posted<H::Pattern>, A> {
    fn new() -> Self {
        List::empty()
    }

    fn post(&mut self, posted: Posted<H::Pattern>) -> Option<u32> {
        self.append(posted)
    }

    #[inline]
    fn find(&self, from: Node, header: &H) -> Option<(u32, Posted<H::Pattern>)> {
        let place = self.first(|posted| posted.pattern.matches(from, header))?;
        Some((place, *self.slab.get(place)?))
    }

    fn remove(&mut self, place: u32) {
        self.take_out(place);
    }

    fn following(&self, sequence: u64, from: Node) -> Option<Posted<H::Pattern>> {
        let place = self.first(|posted| {
            posted.sequence > sequence && posted.pattern.source().is_none_or(|node| node == from)
        })?;
        self.slab.get(place).copied()
    }

    fn len(&self) -> usize {
        self.slab.len()
    }
}

impl<H: Header, C: Config, A: Slice<Entry<Arrived<H, C>>>> Unexpected<H, C>
    for List<Arrived<H, C>, A>
{
    fn new() -> Self {
        List::empty()
    }

    fn push(&mut self, arrived: Arrived<H, C>) -> Option<u32> {
        self.append(arrived)
    }

    #[inline]
    fn find(&self, pattern: &H::Pattern) -> Option<u32> {
        self.position(|envelope| pattern.matches(envelope.node(), &envelope.header()))
    }

    #[inline]
    fn position(&self, wanted: impl Fn(&Envelope<H, C>) -> bool) -> Option<u32> {
        self.first(|arrived| wanted(&arrived.envelope))
    }

    fn get(&self, place: u32) -> Option<&Arrived<H, C>> {
        self.slab.get(place)
    }

    fn get_mut(&mut self, place: u32) -> Option<&mut Arrived<H, C>> {
        self.slab.get_mut(place)
    }

    fn remove(&mut self, place: u32) {
        self.take_out(place);
    }

    fn len(&self) -> usize {
        self.slab.len()
    }
}
