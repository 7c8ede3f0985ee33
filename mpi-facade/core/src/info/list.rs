//! Keys and values, as info objects and communicators keep them.

use alloc::vec::Vec;

/// Keys with their values, in the order in which the keys were set first.
#[derive(Clone, Default, Debug)]
pub(crate) struct InfoList(Vec<(Vec<u8>, Vec<u8>)>);

impl InfoList {
    /// Returns the number of keys.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the key at a position.
    pub(crate) fn key(&self, position: usize) -> Option<&[u8]> {
        self.0.get(position).map(|(key, _)| &key[..])
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.iter()
            .find(|(it, _)| *it == key)
            .map(|(_, value)| value)
    }

    /// Sets the value of a key; the former value is lost.
    pub(crate) fn set(&mut self, key: &[u8], value: &[u8]) {
        match self.0.iter_mut().find(|(it, _)| it == key) {
            Some((_, former)) => *former = value.into(),
            None => self.0.push((key.into(), value.into())),
        }
    }

    /// Removes a key; returns whether it was there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        let before = self.0.len();
        self.0.retain(|(it, _)| it != key);
        self.0.len() < before
    }

    /// Iterates over keys and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(key, value)| (&key[..], &value[..]))
    }
}
