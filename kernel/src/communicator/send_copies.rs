//! Copies that the kernel sends in place of a user's memory; [`BufferTable`](super::lent_buffers::BufferTable) keeps
//! them.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | copies | operations of the composition | [`Error::Full`](crate::Error::Full) |
//! | bytes of one | a cell of the composition | no copy is made |
//! | bytes of all, with [`COPY_OVERHEAD`] for each | [`Limits::copies`](crate::Limits::copies) | no copy is made |

use super::lent_buffers::swaps;
use crate::aspect::{Buffering, Capacity, Cell, Slice, Storage};
use crate::config::{Config, Sizes};
use crate::matching::CellOf;
use crate::memory::{Source, Ticket};

/// The cost of a copy beside its bytes, in bytes: about the size of its table entries.
pub const COPY_OVERHEAD: usize = 128;

type CopyOf<C> = <<C as Config>::Buffering as Buffering>::Copy<CellOf<C>>;

/// One entry per operation, indexed by the ticket's slot.
pub(super) struct SendCopies<C: Config> {
    places:
        <C::Storage as Storage>::Slice<Option<(u32, CopyOf<C>)>, <C::Sizes as Sizes>::Operations>,
    /// Cost of all copies in bytes.
    cost: usize,
    /// Largest cost in bytes.
    limit: usize,
}

impl<C: Config> SendCopies<C> {
    /// Creates an empty table with room for `limit` bytes.
    pub(super) fn new(limit: Option<usize>) -> Self {
        SendCopies {
            places: Slice::new(),
            cost: 0,
            limit: limit.unwrap_or(usize::MAX),
        }
    }

    /// Copies a message in the byte order in which it is sent. Returns false if there is no room.
    pub(super) fn keep(&mut self, ticket: Ticket, source: &dyn Source) -> bool {
        let len = source.len();
        let cost = len + COPY_OVERHEAD;
        if len > <C::Sizes as Sizes>::Cell::N || cost > self.limit.saturating_sub(self.cost) {
            return false;
        }
        let mut copy = CopyOf::<C>::empty();
        copy.reserve(len);
        let (mut at, mut chunk) = (0, [0; 256]);
        while at < len {
            let now = chunk.len().min(len - at);
            if swaps::<C>() {
                source.copy_out_swapped(at, &mut chunk[..now]);
            } else {
                source.copy_out(at, &mut chunk[..now]);
            }
            if !copy.append(&chunk[..now]) {
                return false;
            }
            at += now;
        }
        let slot = ticket.slot() as usize;
        while self.places.as_ref().len() <= slot {
            if self.places.push(None).is_err() {
                return false;
            }
        }
        let Some(place) = self.places.as_mut().get_mut(slot) else {
            return false;
        };
        *place = Some((ticket.generation(), copy));
        self.cost += cost;
        true
    }

    /// Returns the bytes of a copy.
    #[inline]
    pub(super) fn find(&self, ticket: Ticket) -> Option<&[u8]> {
        match self.places.as_ref().get(ticket.slot() as usize)? {
            Some((generation, copy)) if *generation == ticket.generation() => Some(copy.bytes()),
            _ => None,
        }
    }

    /// Drops a copy that has left or never will. Returns false if there is none.
    pub(super) fn forget(&mut self, ticket: Ticket) -> bool {
        let Some(copy) = self.find(ticket) else {
            return false;
        };
        self.cost -= copy.len() + COPY_OVERHEAD;
        if let Some(place) = self.places.as_mut().get_mut(ticket.slot() as usize) {
            *place = None;
        }
        true
    }
}
