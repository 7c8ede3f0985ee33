//! The attributes of one object, as the object keeps them.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

/// Attributes by key, in the order in which the keys were set first.
#[derive(Default)]
pub(crate) struct Attributes(Vec<(c_int, *mut c_void)>);

impl Attributes {
    /// Returns the value of a key.
    pub(crate) fn get(&self, keyval: c_int) -> Option<*mut c_void> {
        let found = self.0.iter().find(|(key, _)| *key == keyval);
        found.map(|(_, value)| *value)
    }

    /// Sets the value of a key; returns whether it had none.
    pub(super) fn set(&mut self, keyval: c_int, value: *mut c_void) -> bool {
        match self.0.iter_mut().find(|(key, _)| *key == keyval) {
            Some((_, former)) => {
                *former = value;
                false
            }
            None => {
                self.0.push((keyval, value));
                true
            }
        }
    }

    /// Removes a key; returns whether it was there.
    pub(super) fn remove(&mut self, keyval: c_int) -> bool {
        let before = self.0.len();
        self.0.retain(|(key, _)| *key != keyval);
        self.0.len() < before
    }

    /// Returns the key that was set last.
    pub(super) fn last(&self) -> Option<c_int> {
        self.0.last().map(|(key, _)| *key)
    }

    /// Returns all keys, in the order in which they were set first.
    pub(super) fn keys(&self) -> Vec<c_int> {
        self.0.iter().map(|(key, _)| *key).collect()
    }
}
