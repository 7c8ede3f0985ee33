//! The header of groups, and the composition for it: one more protocol over the kernel.

use super::{FrozenGroup, MAX_PROCESSES, Member};
use pombo_kernel::aspect::Rendezvous;
use pombo_kernel::matching::Linear;
use pombo_kernel::prelude::*;
use pombo_kernel::{Capacities, Composition};
use pombo_netdrivers::HeapStorage;

header! {
    /// The header of messages to members of groups.
    pub struct GroupHeader {
        /// What the message is.
        kind: u8,
        /// The number of a collective operation; of a message, how many casts its sender has sent before.
        pub(super) number: U64,
        /// The identity of the group.
        pub(super) group: U32,
        /// The sender's view.
        pub(super) view: U64,
    }
}

header! {
    /// The header of messages by which the processes agree.
    pub struct AgreementHeader { version: u8 }
}

/// A message to the members of a group.
const MESSAGE: u8 = 1;
/// A message of a collective operation on a static group.
const COLLECTIVE: u8 = 2;
/// The form of the agreement's messages.
const VERSION: u8 = 2;
/// The form of a process' address for casts.
#[cfg(feature = "hosts")]
const ADDRESS: u8 = 0x80;

/// A composition for the messages to members of groups of up to `RANKS` processes, of which each may have `POOL / RANKS`
/// short messages unread at each other one. Messages above 1 KiB go by rendezvous.
pub type GroupComposition<const RANKS: usize, const POOL: usize> =
    Composition<U32, Rendezvous<1024>, Linear, HeapStorage, Capacities<256, POOL, 1024, RANKS>>;

/// The composition of the agreement: at each other process there is room for 16 messages at least.
pub type AgreementComposition = GroupComposition<MAX_PROCESSES, { 16 * MAX_PROCESSES }>;

impl AgreementHeader {
    pub(super) fn new() -> Self {
        AgreementHeader { version: VERSION }
    }

    #[cfg(feature = "hosts")]
    pub(super) fn address() -> Self {
        AgreementHeader { version: ADDRESS }
    }
}

impl GroupHeader {
    pub(super) fn message(group: u32, view: u64, casts: u64) -> Self {
        GroupHeader {
            kind: MESSAGE,
            number: casts.into(),
            group: group.into(),
            view: view.into(),
        }
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
            number: u64::from(operation).into(),
            group: self.id.into(),
            view: self.view.into(),
        }
    }

    /// Returns the pattern of such a message from a process.
    pub fn pattern(&self, operation: u16, from: Peer) -> Select<GroupHeader> {
        Select::from(Exact(self.header(operation))).from_peer(from)
    }
}
