//! What the processes agree on: requests, and the entries of the common log that contain them.

use super::processes::Processes;
use super::{GroupError, NAME_LEN};
use alloc::vec::Vec;
use core::fmt;
use pombo_kernel::Peer;

/// The name of a group: 1 to [`NAME_LEN`] bytes of text without control characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Zeros after the name.
    bytes: [u8; NAME_LEN],
    len: u8,
}

impl Name {
    /// Checks a name.
    ///
    /// # Errors
    /// [`GroupError::BadName`].
    pub fn new(name: &str) -> Result<Self, GroupError> {
        if name.is_empty() || name.len() > NAME_LEN || name.chars().any(char::is_control) {
            return Err(GroupError::BadName);
        }
        let mut bytes = [0; NAME_LEN];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Name {
            bytes,
            len: name.len() as u8,
        })
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len.into()]).unwrap_or_default()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// What a process wants of the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Become a member; creates the group.
    Join(Name),
    /// Be a member no more; the last one destroys the group.
    Leave(Name),
    /// Wait until `count` members wait; 0: until all members do.
    Barrier(Name, u16),
    /// Make the group static when `count` members have asked for it; 0: all members.
    Freeze(Name, u16),
    /// Complete after every operation that was complete before it began.
    Fence,
    /// Wait for nothing any more: the caller's time is over.
    Withdraw,
}

/// An operation of a process, with that process' count of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The process.
    pub origin: Peer,
    /// The number of the request: the first of a process has 1.
    pub number: u32,
    /// The operation.
    pub operation: Operation,
}

/// An entry of the common log: the step from one view to the next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// Processes that are dead or out of reach: they leave the job's directory before the requests.
    pub removed: Processes,
    /// Processes that joined the job while it runs: they come into the directory before the requests. One that has ever
    /// been in it does not come again.
    pub admitted: Processes,
    /// The requests, in order: at most [`BATCH`](super::BATCH).
    pub requests: Vec<Request>,
}
