//! A list that maintains bins while its searches are deep. Only [`Adaptive`](super::Adaptive) uses it.

use super::Search;
use super::bins::Bins;
use super::linear::ListOf;
use crate::aspect::{Capacity, Storage};

/// At most `K::N` entries. The list always has all of them, in order; the bins have all or none.
pub(super) struct Indexed<
    T,
    S: Storage,
    K: Capacity,
    const LANES: usize,
    const DEPTH: usize,
    const BINS: usize,
> {
    list: ListOf<T, S, K>,
    bins: Bins<S, K, LANES>,
    binned: bool,
}

impl<T, S: Storage, K: Capacity, const LANES: usize, const DEPTH: usize, const BINS: usize>
    Indexed<T, S, K, LANES, DEPTH, BINS>
{
    pub(super) fn new() -> Self {
        const { assert!(BINS > 0, "a matcher needs at least one bin") };
        Indexed {
            list: ListOf::<T, S, K>::empty(),
            bins: Bins::new(),
            binned: DEPTH == 0,
        }
    }

    #[inline]
    pub(super) fn list(&self) -> &ListOf<T, S, K> {
        &self.list
    }

    #[inline]
    pub(super) fn item_mut(&mut self, place: u32) -> Option<&mut T> {
        self.list.item_mut(place)
    }

    /// Takes the first entry out if `wanted` is true for it and there are no bins.
    #[inline(always)]
    pub(super) fn pop_if(&mut self, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        if self.binned {
            return None;
        }
        self.list.pop_if(wanted)
    }

    /// Appends an item at a place that the caller assigns; valid only without bins. All places of a queue are assigned, or
    /// none.
    #[inline(always)]
    pub(super) fn append_to_list(&mut self, place: u32, item: T) -> bool {
        self.list.append_at(place, item)
    }

    /// Appends an item as [`Indexed::append`], at a place that the caller assigns.
    #[inline]
    pub(super) fn append_at(
        &mut self,
        place: u32,
        item: T,
        hashes: impl Fn(&T) -> [Option<u32>; LANES],
    ) -> bool {
        let groups = self.binned.then(|| hashes(&item));
        let fits = self.list.append_at(place, item);
        if fits {
            self.enter(place, groups);
        }
        fits
    }

    /// Puts an entry into its groups, if there are bins.
    #[inline]
    fn enter(&mut self, place: u32, groups: Option<[Option<u32>; LANES]>) {
        if let Some(groups) = groups
            && self.bins.insert(place, groups, BINS).is_none()
        {
            self.unbin();
        }
    }

    /// Appends an item; `hashes` returns the hashes of its groups.
    #[inline]
    pub(super) fn append(
        &mut self,
        item: T,
        hashes: impl Fn(&T) -> [Option<u32>; LANES],
    ) -> Option<u32> {
        let groups = self.binned.then(|| hashes(&item));
        let place = self.list.append(item)?;
        self.enter(place, groups);
        Some(place)
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, place: u32) {
        self.set_aside(place);
        self.drop_aside(place);
    }

    /// Removes an entry from the order and from its groups, but not from the table.
    #[inline(always)]
    pub(super) fn set_aside(&mut self, place: u32) {
        if self.binned && self.list.item(place).is_some() {
            self.bins.remove(place);
        }
        self.list.unlink(place);
    }

    /// Removes an entry that was set aside from the table.
    #[inline(always)]
    pub(super) fn drop_aside(&mut self, place: u32) {
        self.list.drop_unlinked(place);
        if self.list.count() == 0 {
            self.binned = DEPTH == 0;
        }
    }

    /// Returns whether [`Indexed::first`] is to be used instead of [`Indexed::search`].
    #[inline]
    pub(super) fn is_binned(&self) -> bool {
        self.binned
    }

    /// Returns the first entry for which `wanted` is true, from the front. If the search was too deep, builds the bins
    /// for later searches.
    #[inline]
    pub(super) fn search(
        &mut self,
        wanted: impl Fn(&T) -> bool,
        hashes: impl FnMut(&T) -> [Option<u32>; LANES],
    ) -> Search<u32> {
        let search = self.list.search(wanted);
        if search.steps > DEPTH {
            self.bin(hashes);
        }
        search
    }

    /// Returns the first entry of a group for which `wanted` is true.
    #[inline]
    pub(super) fn first(&self, hash: u32, wanted: impl Fn(&T) -> bool) -> Search<u32> {
        let wanted = |place| self.list.item(place).is_some_and(&wanted);
        self.bins.first(hash, wanted)
    }

    /// Puts every entry into bins.
    #[cold]
    fn bin(&mut self, mut hashes: impl FnMut(&T) -> [Option<u32>; LANES]) {
        self.binned = self.list.places().all(|place| {
            let groups = self.list.item(place).map_or([None; LANES], &mut hashes);
            self.bins.insert(place, groups, BINS).is_some()
        });
        if !self.binned {
            self.unbin();
        }
    }

    /// Drops the bins if there is no memory for them: searches are linear until the next deep search tries again.
    #[cold]
    fn unbin(&mut self) {
        self.bins.clear();
        self.binned = false;
    }
}
