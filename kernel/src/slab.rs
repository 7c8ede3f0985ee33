//! Entries with stable indices, and queues that link them. Only the kernel uses them.
//!
//! Invariant: an entry is in at most one queue; a free entry is in none (its `next` links the free list). A table whose
//! indices the caller assigns ([`Queue::append_at`]) never takes one from the free list.

use crate::aspect::Slice;

/// The index of no entry.
pub(crate) const NONE: u32 = u32::MAX;

/// An entry of a [`Slab`].
pub struct Entry<T> {
    prev: u32,
    next: u32,
    value: Option<T>,
}

/// A table that assigns indices, bounded by its storage.
pub(crate) struct Slab<T, A: Slice<Entry<T>>> {
    entries: A,
    free: u32,
    used: usize,
    _items: core::marker::PhantomData<T>,
}

impl<T, A: Slice<Entry<T>>> Slab<T, A> {
    pub(crate) fn new() -> Self {
        Slab {
            entries: A::new(),
            free: NONE,
            used: 0,
            _items: core::marker::PhantomData,
        }
    }

    /// Inserts an entry and returns its index; returns `None` if the table is full.
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Option<u32> {
        if self.free == NONE {
            self.grow()?;
        }
        let index = self.free;
        let entry = self.entries.as_mut().get_mut(index as usize)?;
        self.free = entry.next;
        (entry.prev, entry.next, entry.value) = (NONE, NONE, Some(value));
        self.used += 1;
        Some(index)
    }

    /// Adds a free entry.
    #[inline(never)]
    fn grow(&mut self) -> Option<()> {
        let (index, prev, next) = (self.end(), NONE, NONE);
        let value = None;
        self.entries.push(Entry { prev, next, value }).ok()?;
        self.free = index;
        Some(())
    }

    /// Adds free entries up to that index, which the caller assigns.
    #[inline(never)]
    fn grow_to(&mut self, index: u32) -> Option<()> {
        while self.end() <= index {
            let (prev, next, value) = (NONE, NONE, None);
            self.entries.push(Entry { prev, next, value }).ok()?;
        }
        Some(())
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.entries.as_ref().get(index as usize)?.value.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.entries
            .as_mut()
            .get_mut(index as usize)?
            .value
            .as_mut()
    }

    /// Removes and returns an entry that is in no queue.
    #[inline]
    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let entry = self.entries.as_mut().get_mut(index as usize)?;
        let value = entry.value.take()?;
        entry.next = self.free;
        self.free = index;
        self.used -= 1;
        Some(value)
    }

    /// Removes an entry that is in no queue if `f` returns a result for it.
    #[inline(always)]
    pub(crate) fn remove_if<R>(
        &mut self,
        index: u32,
        f: impl FnOnce(&T) -> Option<R>,
    ) -> Option<R> {
        let entry = self.entries.as_mut().get_mut(index as usize)?;
        let result = f(entry.value.as_ref()?)?;
        (entry.value, entry.next) = (None, self.free);
        self.free = index;
        self.used -= 1;
        Some(result)
    }

    /// Returns the number of entries in use.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Returns one more than the highest index ever used.
    pub(crate) fn end(&self) -> u32 {
        self.entries.as_ref().len() as u32
    }

    fn link(&mut self, index: u32) -> Option<&mut Entry<T>> {
        self.entries.as_mut().get_mut(index as usize)
    }
}

/// A FIFO queue with removal from the middle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    head: u32,
    tail: u32,
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Queue {
            head: NONE,
            tail: NONE,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    #[inline]
    pub(crate) fn after<T, A: Slice<Entry<T>>>(
        &self,
        slab: &Slab<T, A>,
        index: u32,
    ) -> Option<u32> {
        let next = slab.entries.as_ref().get(index as usize)?.next;
        (next != NONE).then_some(next)
    }

    /// Iterates over all entries in order, with their indices.
    #[inline]
    pub(crate) fn iter<'a, T: 'a, A: Slice<Entry<T>>>(
        &self,
        slab: &'a Slab<T, A>,
    ) -> impl Iterator<Item = (u32, &'a T)> {
        let entries = slab.entries.as_ref();
        let mut next = self.head;
        core::iter::from_fn(move || {
            let index = next;
            let entry = entries.get(index as usize)?;
            next = entry.next;
            Some((index, entry.value.as_ref()?))
        })
    }

    #[inline]
    pub(crate) fn push<T, A: Slice<Entry<T>>>(&mut self, slab: &mut Slab<T, A>, index: u32) {
        let tail = self.tail;
        if let Some(entry) = slab.link(index) {
            entry.prev = tail;
            entry.next = NONE;
            self.tail = index;
            match slab.link(tail) {
                Some(last) => last.next = index,
                None => self.head = index,
            }
        }
    }

    /// Inserts an entry at the end of the queue and returns its index; returns `None` if the table is full.
    #[inline(always)]
    pub(crate) fn append<T, A: Slice<Entry<T>>>(
        &mut self,
        slab: &mut Slab<T, A>,
        value: T,
    ) -> Option<u32> {
        if slab.free == NONE {
            slab.grow()?;
        }
        let (index, tail) = (slab.free, self.tail);
        let entry = slab.link(index)?;
        let free = core::mem::replace(&mut entry.next, NONE);
        (entry.prev, entry.value) = (tail, Some(value));
        (slab.free, slab.used) = (free, slab.used + 1);
        self.tail = index;
        match slab.link(tail) {
            Some(last) => last.next = index,
            None => self.head = index,
        }
        Some(index)
    }

    /// Inserts an entry at the end of the queue, at an index that the caller assigns and at which there is none; returns
    /// false if the table is full.
    #[inline(always)]
    pub(crate) fn append_at<T, A: Slice<Entry<T>>>(
        &mut self,
        slab: &mut Slab<T, A>,
        index: u32,
        value: T,
    ) -> bool {
        let tail = self.tail;
        let is_there = (index as usize) < slab.entries.as_ref().len();
        if !is_there && slab.grow_to(index).is_none() {
            return false;
        }
        let Some(entry) = slab.link(index) else {
            return false;
        };
        (entry.prev, entry.next, entry.value) = (tail, NONE, Some(value));
        slab.used += 1;
        self.tail = index;
        match slab.link(tail) {
            Some(last) => last.next = index,
            None => self.head = index,
        }
        true
    }

    /// Removes the first entry from the queue and from the table, whose indices the caller assigns, if `wanted` holds for
    /// it.
    #[inline(always)]
    pub(crate) fn pop_if<T, A: Slice<Entry<T>>>(
        &mut self,
        slab: &mut Slab<T, A>,
        wanted: impl FnOnce(&T) -> bool,
    ) -> Option<T> {
        let entry = slab.link(self.head)?;
        let value = entry.value.take_if(|value| wanted(value))?;
        self.head = entry.next;
        slab.used -= 1;
        match slab.link(self.head) {
            Some(behind) => behind.prev = NONE,
            None => self.tail = NONE,
        }
        Some(value)
    }

    #[inline]
    pub(crate) fn unlink<T, A: Slice<Entry<T>>>(&mut self, slab: &mut Slab<T, A>, index: u32) {
        let Some(entry) = slab.link(index) else {
            return;
        };
        let (prev, next) = (entry.prev, entry.next);
        match slab.link(prev) {
            Some(before) => before.next = next,
            None => self.head = next,
        }
        match slab.link(next) {
            Some(behind) => behind.prev = prev,
            None => self.tail = prev,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    extern crate std;
    use std::vec::Vec;

    const BOUND: usize = 6;

    /// Two queues over one slab, compared with two vectors.
    #[derive(Default)]
    struct Model {
        queues: [Vec<u32>; 2],
        loose: Vec<u32>,
    }

    #[derive(Clone, Debug)]
    enum Act {
        Insert,
        Append(usize),
        RemoveIf(usize, u32),
        Remove(usize),
        Push(usize, usize),
        Unlink(usize, usize),
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            Just(Act::Insert),
            (0..2usize).prop_map(Act::Append),
            (0..BOUND, 0..200u32).prop_map(|(nth, limit)| Act::RemoveIf(nth, limit)),
            (0..BOUND).prop_map(Act::Remove),
            (0..2usize, 0..BOUND).prop_map(|(queue, nth)| Act::Push(queue, nth)),
            (0..2usize, 0..BOUND).prop_map(|(queue, nth)| Act::Unlink(queue, nth)),
        ]
    }

    type Table = Slab<u32, heapless::Vec<Entry<u32>, BOUND>>;

    fn act_on(act: &Act, value: u32, slab: &mut Table, queues: &mut [Queue; 2], model: &mut Model) {
        match *act {
            Act::Insert => {
                let used = model.loose.len() + model.queues[0].len() + model.queues[1].len();
                match slab.insert(value) {
                    Some(index) => {
                        assert!(used < BOUND);
                        model.loose.push(index);
                        assert_eq!(slab.get(index), Some(&value));
                    }
                    None => assert_eq!(used, BOUND),
                }
            }
            Act::Append(queue) => {
                let used = model.loose.len() + model.queues[0].len() + model.queues[1].len();
                match queues[queue].append(slab, value) {
                    Some(index) => {
                        assert!(used < BOUND);
                        model.queues[queue].push(index);
                        assert_eq!(slab.get(index), Some(&value));
                    }
                    None => assert_eq!(used, BOUND),
                }
            }
            Act::RemoveIf(nth, limit) if nth < model.loose.len() => {
                let index = model.loose[nth];
                let expected = slab.get(index).copied().filter(|it| *it < limit);
                let removed = slab.remove_if(index, |it| (*it < limit).then_some(*it));
                assert_eq!(removed, expected);
                if removed.is_some() {
                    model.loose.remove(nth);
                    assert_eq!(slab.remove_if(index, |it| Some(*it)), None);
                }
            }
            Act::Remove(nth) if nth < model.loose.len() => {
                let index = model.loose.remove(nth);
                assert!(slab.remove(index).is_some());
                assert_eq!((slab.remove(index), slab.get(index)), (None, None));
            }
            Act::Push(queue, nth) if nth < model.loose.len() => {
                let index = model.loose.remove(nth);
                queues[queue].push(slab, index);
                model.queues[queue].push(index);
            }
            Act::Unlink(queue, nth) if nth < model.queues[queue].len() => {
                let index = model.queues[queue].remove(nth);
                queues[queue].unlink(slab, index);
                model.loose.push(index);
            }
            _ => {}
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn queues_are_vectors(acts in prop::collection::vec(act(), 0..200)) {
            let mut slab = Table::new();
            let mut queues = [Queue::new(); 2];
            let mut model = Model::default();
            for (value, act) in acts.iter().enumerate() {
                act_on(act, value as u32, &mut slab, &mut queues, &mut model);
                for (queue, model) in queues.iter().zip(&model.queues) {
                    let first = queue.first();
                    let all: Vec<_> =
                        core::iter::successors(first, |&at| queue.after(&slab, at)).collect();
                    prop_assert_eq!(&all, model);
                    let all: Vec<_> = queue.iter(&slab).map(|(at, _)| at).collect();
                    prop_assert_eq!(&all, model);
                    prop_assert_eq!(queue.is_empty(), model.is_empty());
                }
                let used = model.loose.len() + model.queues[0].len() + model.queues[1].len();
                prop_assert_eq!(slab.len(), used);
                prop_assert!(slab.end() as usize <= BOUND);
            }
        }
    }

    #[derive(Clone, Debug)]
    enum AssignedAct {
        AppendAt(u32),
        PopIf(u32),
        Remove(usize),
    }

    fn assigned_act() -> impl Strategy<Value = AssignedAct> {
        prop_oneof![
            (0..BOUND as u32 + 2).prop_map(AssignedAct::AppendAt),
            (0..200u32).prop_map(AssignedAct::PopIf),
            (0..BOUND).prop_map(AssignedAct::Remove),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// A queue whose indices the caller assigns, compared with a vector of indices and values.
        #[test]
        fn a_queue_with_assigned_indices_is_a_vector(
            acts in prop::collection::vec(assigned_act(), 0..200),
        ) {
            let (mut slab, mut queue) = (Table::new(), Queue::new());
            let mut model: Vec<(u32, u32)> = Vec::new();
            for (value, act) in (0..).zip(&acts) {
                match *act {
                    AssignedAct::AppendAt(index) => {
                        if model.iter().all(|(at, _)| *at != index) {
                            let fits = queue.append_at(&mut slab, index, value);
                            prop_assert_eq!(fits, index < BOUND as u32);
                            model.extend(fits.then_some((index, value)));
                        }
                    }
                    AssignedAct::PopIf(limit) => {
                        let first = model.first().map(|(_, value)| *value);
                        let expected = first.filter(|value| *value < limit);
                        prop_assert_eq!(queue.pop_if(&mut slab, |it| *it < limit), expected);
                        if expected.is_some() {
                            model.remove(0);
                        }
                    }
                    AssignedAct::Remove(nth) if nth < model.len() => {
                        let (index, value) = model.remove(nth);
                        queue.unlink(&mut slab, index);
                        prop_assert_eq!(slab.remove(index), Some(value));
                    }
                    AssignedAct::Remove(_) => {}
                }
                let all: Vec<_> = queue.iter(&slab).map(|(at, value)| (at, *value)).collect();
                prop_assert_eq!(&all, &model);
                prop_assert_eq!(slab.len(), model.len());
            }
        }
    }

    #[test]
    fn what_is_not_there_is_harmless() {
        let mut slab = Table::new();
        let mut queue = Queue::new();
        for index in [0, 5, NONE - 1, NONE] {
            queue.push(&mut slab, index);
            queue.unlink(&mut slab, index);
            assert_eq!((slab.remove(index), slab.get(index)), (None, None));
            assert_eq!((slab.get_mut(index), queue.first()), (None, None));
        }
    }
}
