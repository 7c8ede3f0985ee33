//! The header of groups, and the composition for it: one more protocol over the kernel.

use super::{FrozenGroup, Member};
use pombo_kernel::aspect::Rendezvous;
use pombo_kernel::matching::Linear;
use pombo_kernel::prelude::*;
use pombo_kernel::{Capacities, Composition};
use pombo_netdrivers::HeapStorage;

header! {
    /// The header of every message between processes with groups.
    pub struct GroupHeader {
        /// What the message is.
        kind: u8,
        /// The number of a collective operation.
        number: U16,
        /// The identity of the group.
        pub(super) group: U32,
        /// The sender's view.
        pub(super) view: U64,
    }
}

/// A message of the agreement.
const AGREEMENT: u8 = 1;
/// A message to the members of a group.
const MESSAGE: u8 = 2;
/// A message of a collective operation on a static group.
const COLLECTIVE: u8 = 3;

/// A composition for groups of up to `RANKS` processes, of which each may have `POOL / RANKS` short messages unread at
/// each other one: 8 at least. Messages above 1 KiB go by rendezvous.
pub type GroupComposition<const RANKS: usize, const POOL: usize> =
    Composition<U32, Rendezvous<1024>, Linear, HeapStorage, Capacities<256, POOL, 1024, RANKS>>;

impl GroupHeader {
    pub(super) fn agreement() -> Self {
        GroupHeader {
            kind: AGREEMENT,
            number: 0.into(),
            group: 0.into(),
            view: 0.into(),
        }
    }

    pub(super) fn message(group: u32, view: u64) -> Self {
        GroupHeader {
            kind: MESSAGE,
            group: group.into(),
            view: view.into(),
            ..GroupHeader::agreement()
        }
    }

    pub(super) fn of_agreement() -> Select<GroupHeader> {
        GroupHeader::kind(AGREEMENT)
    }

    pub(super) fn of_group(group: u32) -> Select<GroupHeader> {
        GroupHeader::kind(MESSAGE) & GroupHeader::group(group.into())
    }

    pub(super) fn is_message(&self) -> bool {
        self.kind == MESSAGE
    }
}

/// What collective operations on a static group need: its ranks are dense.
impl FrozenGroup {
    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Returns the rank of a process; `None` if it is no member.
    pub fn rank(&self, peer: Peer) -> Option<usize> {
        self.members.iter().position(|member| member.peer == peer)
    }

    /// Returns the process of a rank below [`FrozenGroup::size`].
    pub fn peer(&self, rank: usize) -> Option<Peer> {
        self.members.get(rank).map(|Member { peer, .. }| *peer)
    }

    /// Returns the header of the messages of a collective operation. Operations that are under way at the same time need
    /// different numbers.
    pub fn header(&self, operation: u16) -> GroupHeader {
        GroupHeader {
            kind: COLLECTIVE,
            number: operation.into(),
            group: self.id.into(),
            view: self.view.into(),
        }
    }

    /// Returns the pattern of such a message from a process.
    pub fn pattern(&self, operation: u16, from: Peer) -> Select<GroupHeader> {
        Select::from(Exact(self.header(operation))).from_peer(from)
    }
}
