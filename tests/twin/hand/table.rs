//! Slots with stable numbers, and queues that link them.

use heapless::Vec;

const NONE: u32 = u32::MAX;

struct Place<T> {
    before: u32,
    behind: u32,
    value: Option<T>,
}

/// At most `N` values.
pub(crate) struct Table<T, const N: usize> {
    places: Vec<Place<T>, N>,
    free: u32,
    used: usize,
}

impl<T, const N: usize> Table<T, N> {
    pub(crate) fn new() -> Self {
        Table {
            places: Vec::new(),
            free: NONE,
            used: 0,
        }
    }

    /// Inserts a value and returns its number; `None` if the table is full.
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Option<u32> {
        let place = Place {
            before: NONE,
            behind: NONE,
            value: Some(value),
        };
        let number = self.free;
        if let Some(free) = self.places.get_mut(number as usize) {
            self.free = free.behind;
            *free = place;
            self.used += 1;
            return Some(number);
        }
        let number = self.places.len() as u32;
        self.places.push(place).ok()?;
        self.used += 1;
        Some(number)
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.places.get(number as usize)?.value.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.places.get_mut(number as usize)?.value.as_mut()
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let place = self.places.get_mut(number as usize)?;
        let value = place.value.take()?;
        place.behind = self.free;
        self.free = number;
        self.used -= 1;
        Some(value)
    }

    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Returns a number above every number in use.
    pub(crate) fn end(&self) -> u32 {
        self.places.len() as u32
    }
}

/// Some slots of a table, in order.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    first: u32,
    last: u32,
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Queue {
            first: NONE,
            last: NONE,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    #[inline]
    pub(crate) fn push<T, const N: usize>(&mut self, table: &mut Table<T, N>, number: u32) {
        let Some(place) = table.places.get_mut(number as usize) else {
            return;
        };
        place.before = self.last;
        place.behind = NONE;
        match table.places.get_mut(self.last as usize) {
            Some(last) => last.behind = number,
            None => self.first = number,
        }
        self.last = number;
    }

    #[inline]
    pub(crate) fn unlink<T, const N: usize>(&mut self, table: &mut Table<T, N>, number: u32) {
        let Some(place) = table.places.get_mut(number as usize) else {
            return;
        };
        let (before, behind) = (place.before, place.behind);
        match table.places.get_mut(before as usize) {
            Some(place) => place.behind = behind,
            None => self.first = behind,
        }
        match table.places.get_mut(behind as usize) {
            Some(place) => place.before = before,
            None => self.last = before,
        }
    }
}

/// A table whose values are all in one queue.
pub(crate) struct List<T, const N: usize> {
    table: Table<T, N>,
    order: Queue,
}

impl<T, const N: usize> List<T, N> {
    pub(crate) fn new() -> Self {
        List {
            table: Table::new(),
            order: Queue::new(),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, value: T) -> Option<u32> {
        let number = self.table.insert(value)?;
        self.order.push(&mut self.table, number);
        Some(number)
    }

    /// Returns the first value for which `wanted` is true.
    #[inline]
    pub(crate) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<u32> {
        let mut number = self.order.first;
        while let Some(place) = self.table.places.get(number as usize) {
            if place.value.as_ref().is_some_and(&wanted) {
                return Some(number);
            }
            number = place.behind;
        }
        None
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.table.get(number)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.table.get_mut(number)
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let places = &mut self.table.places;
        let place = places.get_mut(number as usize)?;
        let value = place.value.take()?;
        let (before, behind) = (place.before, place.behind);
        place.behind = self.table.free;
        self.table.free = number;
        self.table.used -= 1;
        match places.get_mut(before as usize) {
            Some(place) => place.behind = behind,
            None => self.order.first = behind,
        }
        match places.get_mut(behind as usize) {
            Some(place) => place.before = before,
            None => self.order.last = before,
        }
        Some(value)
    }

    /// Removes a value from the order; it keeps its slot.
    pub(crate) fn set_aside(&mut self, number: u32) {
        self.order.unlink(&mut self.table, number);
    }

    /// Removes a value that was set aside.
    pub(crate) fn drop_aside(&mut self, number: u32) -> Option<T> {
        self.table.remove(number)
    }

    /// Returns the number of values, including those set aside.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }
}
