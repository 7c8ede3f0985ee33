//! Multicast: one frame carries a message to all members of a group, in addition to the channel's own frames. The
//! kernel defines the group number and the interface; the protocol is in package `pombo-transport`.

use super::{ChannelError, WaitSet};
use crate::header::Peer;
use crate::text::{ToText, WriteText};

/// The number of a group: equal at all members, and never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupId(pub u32);

impl ToText for GroupId {
    fn put_text(&self, out: &mut dyn WriteText) {
        self.0.put_text(out);
    }
}

impl core::fmt::Display for GroupId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// The groups of a peer as the channel sees them: it makes progress on their frames, sleeps for them, and reports lost
/// peers to them. `B` gives access to the users' memory.
pub trait Multicast<B: ?Sized>: 'static {
    /// Handles arrived frames and sends what is due. Returns whether any frame arrived.
    ///
    /// # Errors
    /// The errors of the device, except that it has no room.
    fn poll(&mut self, buffers: &mut B) -> Result<bool, ChannelError>;

    /// Returns whether a poll is due, because a user waits for a message or a frame has to be sent by now. If not, an
    /// occasional poll is enough.
    fn is_due(&self, buffers: &B) -> bool;

    /// Returns the events that would end a sleep for these groups, as
    /// [`Channel::wait_sources`](super::Channel::wait_sources).
    fn wait_sources(&mut self) -> Option<WaitSet>;

    /// Reports a lost peer: the open groups do not wait for it any more.
    fn declare_lost(&mut self, peer: Peer);
}
