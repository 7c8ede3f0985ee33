//! One list per queue, searched from the front: the fastest policy up to some sixteen entries, as real programs have.

use super::{Arrived, Expected, Matcher, Posted, Search, Sequence, Unexpected};
use crate::aspect::{Slice, Storage, Transfer};
use crate::config::{Config, Sizes};
use crate::envelope::Envelope;
use crate::header::{Header, Pattern, Peer};
use crate::slab::{Entry, Queue, Slab};
use core::cell::Cell;

/// Policy: searches in order.
#[derive(Clone, Copy, Debug)]
pub struct Linear;

impl Matcher for Linear {
    type Sequence<S: Sequence> = S;
    type Expected<H: Header, C: Config> = ListOf<
        Posted<H::Pattern, <C::Transfer as Transfer>::Sequence>,
        C::Storage,
        <C::Sizes as Sizes>::Operations,
    >;
    type Unexpected<H: Header, C: Config> =
        ListOf<Arrived<H, C>, C::Storage, <C::Sizes as Sizes>::Pool>;
}

/// A list of at most `K::N` entries.
pub(super) type ListOf<T, S, K> = List<T, <S as Storage>::Slice<Entry<T>, K>>;

/// Entries in arrival order.
pub struct List<T, A: Slice<Entry<T>>> {
    slab: Slab<T, A>,
    order: Queue,
}

impl<T, A: Slice<Entry<T>>> List<T, A> {
    pub(super) fn empty() -> Self {
        List {
            slab: Slab::new(),
            order: Queue::new(),
        }
    }

    #[inline]
    pub(super) fn append(&mut self, item: T) -> Option<u32> {
        self.order.append(&mut self.slab, item)
    }

    /// Appends an entry at a place that the caller assigns; all entries of a list have such places, or none.
    #[inline(always)]
    pub(super) fn append_at(&mut self, place: u32, item: T) -> bool {
        self.order.append_at(&mut self.slab, place, item)
    }

    /// Takes the first entry out if `wanted` is true for it.
    #[inline(always)]
    pub(super) fn pop_if(&mut self, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        self.order.pop_if(&mut self.slab, wanted)
    }

    #[inline]
    pub(super) fn first(&self, wanted: impl Fn(&T) -> bool) -> Option<u32> {
        for (place, item) in self.order.iter(&self.slab) {
            if wanted(item) {
                return Some(place);
            }
        }
        None
    }

    /// Returns the first entry for which `wanted` is true, and the number of entries visited.
    #[inline]
    pub(super) fn search(&self, wanted: impl Fn(&T) -> bool) -> Search<u32> {
        let steps = Cell::new(0);
        let found = self.first(|item| {
            steps.set(steps.get() + 1);
            wanted(item)
        });
        Search {
            found,
            steps: steps.get(),
        }
    }

    /// Returns all places in order.
    #[inline]
    pub(super) fn places(&self) -> impl Iterator<Item = u32> {
        self.order.iter(&self.slab).map(|(place, _)| place)
    }

    #[inline]
    pub(super) fn item(&self, place: u32) -> Option<&T> {
        self.slab.get(place)
    }

    pub(super) fn item_mut(&mut self, place: u32) -> Option<&mut T> {
        self.slab.get_mut(place)
    }

    #[inline]
    pub(super) fn take_out(&mut self, place: u32) {
        if self.slab.get(place).is_some() {
            self.order.unlink(&mut self.slab, place);
            self.slab.remove(place);
        }
    }

    /// Removes an entry from the order, but not from the table.
    #[inline(always)]
    pub(super) fn unlink(&mut self, place: u32) {
        if self.slab.get(place).is_some() {
            self.order.unlink(&mut self.slab, place);
        }
    }

    /// Removes an unlinked entry from the table.
    #[inline(always)]
    pub(super) fn drop_unlinked(&mut self, place: u32) {
        self.slab.remove(place);
    }

    pub(super) fn count(&self) -> usize {
        self.slab.len()
    }
}

impl<H: Header, S: Sequence, A: Slice<Entry<Posted<H::Pattern, S>>>> Expected<H, S>
    for List<Posted<H::Pattern, S>, A>
{
    fn new() -> Self {
        List::empty()
    }

    fn post(&mut self, posted: Posted<H::Pattern, S>) -> bool {
        self.append_at(posted.slot, posted)
    }

    fn search(&mut self, from: Peer, header: &H) -> Search<Posted<H::Pattern, S>> {
        let Search { found, steps } =
            List::search(self, |posted| posted.pattern.matches(from, header));
        let found = found.and_then(|slot| self.item(slot).copied());
        Search { found, steps }
    }

    #[inline]
    fn take(&mut self, from: Peer, header: &H) -> Option<u32> {
        let slot = self.first(|posted| posted.pattern.matches(from, header))?;
        self.take_out(slot);
        Some(slot)
    }

    fn remove(&mut self, slot: u32) {
        self.take_out(slot);
    }

    fn wanted(&self, slot: u32) -> Option<H::Pattern> {
        self.item(slot).map(|posted| posted.pattern)
    }

    fn following(&self, sequence: u64, from: Peer) -> Option<Posted<H::Pattern, S>> {
        let place = self.first(|posted| {
            posted.sequence.get() > sequence
                && posted.pattern.source().is_none_or(|peer| peer == from)
        })?;
        self.item(place).copied()
    }

    fn len(&self) -> usize {
        self.count()
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
    fn search(&mut self, pattern: &H::Pattern) -> Search<u32> {
        List::search(self, |arrived| arrived.matches(pattern))
    }

    #[inline]
    fn position(&self, wanted: impl Fn(&Envelope<H, C>) -> bool) -> Option<u32> {
        self.first(|arrived| wanted(&arrived.envelope))
    }

    fn get(&self, place: u32) -> Option<&Arrived<H, C>> {
        self.item(place)
    }

    fn get_mut(&mut self, place: u32) -> Option<&mut Arrived<H, C>> {
        self.item_mut(place)
    }

    fn remove(&mut self, place: u32) {
        self.take_out(place);
    }

    fn set_aside(&mut self, place: u32) {
        self.unlink(place);
    }

    fn drop_aside(&mut self, place: u32) {
        self.drop_unlinked(place);
    }

    fn len(&self) -> usize {
        self.count()
    }
}
