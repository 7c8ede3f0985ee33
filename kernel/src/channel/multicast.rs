//! Messages to groups of peers, which one frame carries to all members: what a channel may serve beside its own frames.
//! The kernel names groups and what serves them; the protocol is in package `pombo-transport`.

use super::{ChannelError, WaitSet};
use crate::header::Peer;

/// The number of a group: the same at all its members, and never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupId(pub u32);

impl core::fmt::Display for GroupId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// The groups of a peer, as the channel beside them sees them: it lets their frames come and go, sleeps for them, and
/// tells them who is dead. `B` shows them the users' memory.
pub trait Multicast<B: ?Sized>: 'static {
    /// Takes the frames that have arrived and sends what is due. Returns whether any arrived.
    ///
    /// # Errors
    /// What the device says, except that it has no room.
    fn poll(&mut self, buffers: &mut B) -> Result<bool, ChannelError>;

    /// Is a poll due: does a user wait for a message, or is something to be sent by now? If not, a poll now and then is
    /// enough.
    fn is_due(&self, buffers: &B) -> bool;

    /// What would end a sleep for these groups, as [`Channel::wait_sources`](super::Channel::wait_sources).
    fn wait_sources(&mut self) -> Option<WaitSet>;

    /// This peer is dead: nothing waits for it any more in the groups that are open.
    fn declare_lost(&mut self, peer: Peer);

    /// Has everything that this peer sent arrived at all members that live?
    fn is_settled(&self) -> bool;
}
