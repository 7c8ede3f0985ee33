//! Names of mailboxes, and the table of those that a process keeps. Each name has one keeper, chosen by its hash, so that
//! two processes that create the same name meet there. Only `mailbox` uses it.

use super::error::Error;
use super::header::Address;
use crate::aspect::{Slice, Storage};
use crate::config::{Config, Sizes};
use crate::header::Peer;

/// The longest name in bytes.
pub const MAX_NAME: usize = 48;

/// The name of a mailbox: 1 to [`MAX_NAME`] bytes of text without control characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name {
    bytes: [u8; MAX_NAME],
    len: u8,
}

impl Name {
    /// Creates a name.
    ///
    /// # Errors
    /// [`Error::BadName`].
    pub fn new(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::BadName("it is empty"));
        }
        if text.len() > MAX_NAME {
            return Err(Error::BadName("it is longer than 48 bytes"));
        }
        if text.chars().any(char::is_control) {
            return Err(Error::BadName("it has a control character"));
        }
        let mut bytes = [0; MAX_NAME];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        let len = text.len() as u8;
        Ok(Name { bytes, len })
    }

    /// Returns the name in these bytes, which another process has sent.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        Self::new(core::str::from_utf8(bytes).ok()?).ok()
    }

    /// Returns the bytes.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Returns the process that keeps this name, of so many. The hash is FNV-1a.
    pub(super) fn keeper(&self, peers: usize) -> Peer {
        let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        let hash = self.as_bytes().iter().fold(0x811c_9dc5, step);
        Peer((hash as usize % peers.max(1)) as u16)
    }
}

/// The names that a process keeps, with their mailboxes: as many as the composition has operations.
pub(super) struct Names<C: Config> {
    places: <C::Storage as Storage>::Slice<Option<Entry>, <C::Sizes as Sizes>::Operations>,
}

type Entry = (Name, Address);

impl<C: Config> Names<C> {
    pub(super) fn new() -> Self {
        let places = Slice::new();
        Names { places }
    }

    /// Returns the mailbox of a name.
    pub(super) fn find(&self, name: &Name) -> Option<Address> {
        let mut known = self.places.as_ref().iter().flatten();
        known
            .find(|(its, _)| its == name)
            .map(|(_, address)| *address)
    }

    /// Adds a name.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::TooManyNames`].
    pub(super) fn add(&mut self, name: Name, address: Address) -> Result<(), Error> {
        if self.find(&name).is_some() {
            return Err(Error::Exists);
        }
        let entry = Some((name, address));
        if let Some(free) = self.places.as_mut().iter_mut().find(|it| it.is_none()) {
            *free = entry;
            return Ok(());
        }
        self.places.push(entry).map_err(|_| Error::TooManyNames)
    }

    /// Removes the names of mailboxes of which `keeps` is false.
    pub(super) fn retain(&mut self, mut keeps: impl FnMut(Address) -> bool) {
        for place in self.places.as_mut() {
            place.take_if(|(_, owner)| !keeps(*owner));
        }
    }

    /// Removes the name of this mailbox.
    pub(super) fn remove(&mut self, name: &Name, address: Address) {
        for place in self.places.as_mut() {
            place.take_if(|(its, owner)| its == name && *owner == address);
        }
    }
}
