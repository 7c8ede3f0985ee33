//! Tables of objects that a program makes and frees, such as groups: a handle is an index.

use crate::constants::FIRST_OWN_HANDLE;
use alloc::vec::Vec;

/// Objects by handle. A freed handle names the next object that is made. The only bound is memory.
pub(crate) struct HandleTable<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for HandleTable<T> {
    fn default() -> Self {
        HandleTable {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> HandleTable<T> {
    /// Adds an object and returns its handle, which is none of the predefined ones.
    pub(crate) fn insert(&mut self, object: T) -> usize {
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index] = Some(object);
                index
            }
            None => {
                self.slots.push(Some(object));
                self.slots.len() - 1
            }
        };
        FIRST_OWN_HANDLE + index
    }

    /// Returns the object of a handle.
    #[inline]
    pub(crate) fn get(&self, handle: usize) -> Option<&T> {
        self.slots
            .get(handle.wrapping_sub(FIRST_OWN_HANDLE))?
            .as_ref()
    }

    /// Returns the object of a handle.
    pub(crate) fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        self.slots
            .get_mut(handle.wrapping_sub(FIRST_OWN_HANDLE))?
            .as_mut()
    }

    /// Returns the handles of the objects that satisfy a condition.
    pub(crate) fn find(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<usize> {
        let slots = self.slots.iter().enumerate();
        let found = slots.filter(|(_, slot)| slot.as_ref().is_some_and(&is_wanted));
        found.map(|(index, _)| FIRST_OWN_HANDLE + index).collect()
    }

    /// Takes the object of a handle out.
    pub(crate) fn remove(&mut self, handle: usize) -> Option<T> {
        let index = handle.wrapping_sub(FIRST_OWN_HANDLE);
        let object = self.slots.get_mut(index)?.take()?;
        self.free.push(index);
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_name_their_objects_and_are_reused() {
        let mut table = HandleTable::default();
        let (first, second) = (table.insert('a'), table.insert('b'));
        assert!(first >= FIRST_OWN_HANDLE && first != second);
        assert_eq!(table.remove(first), Some('a'));
        assert_eq!(table.get(first), None);
        assert_eq!(table.remove(first), None);
        assert_eq!(table.find(|_| true), [second]);
        assert_eq!(table.insert('c'), first);
        assert_eq!(
            (table.get(first), table.get(second)),
            (Some(&'c'), Some(&'b'))
        );
        for stranger in [0, 257, second + 1, usize::MAX] {
            assert_eq!(table.get(stranger), None);
        }
    }
}
