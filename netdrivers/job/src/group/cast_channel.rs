//! What casts need of the channel of a job on several hosts. Only `casts` uses it.

use crate::job_channel::JobChannel;
use crate::job_channel::groups::{JobGroups, MulticastSocket};
use alloc::boxed::Box;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::{Channel, Peer};
use pombo_transport::multicast::BufferProvider;

/// A channel over hosts that serves groups of the network in addition to its own frames.
pub trait CastChannel {
    /// Opens a socket for groups, unless the channel serves some or its network has none.
    fn open_socket(&self) -> Option<MulticastSocket>;

    /// Serves these groups from now on.
    fn set_groups(&mut self, groups: JobGroups);

    /// Returns the groups that the channel serves, if it does.
    fn groups(&mut self) -> Option<&mut JobGroups>;

    /// Returns why the groups' device has failed, if it has.
    fn failure_of_groups(&self) -> Option<ChannelError>;

    /// Returns whether that process shares memory with this one.
    fn is_local(&self, peer: Peer) -> bool;

    /// Returns whether another host has not acknowledged all of the channel's own frames.
    fn has_unicasts_under_way(&self) -> bool;
}

impl<const RANKS: usize, B: BufferProvider + 'static> CastChannel for JobChannel<RANKS, B> {
    fn open_socket(&self) -> Option<MulticastSocket> {
        let is_free = self.remote()?.groups().is_none();
        is_free.then(|| MulticastSocket::open(self, self.me()))?
    }

    fn set_groups(&mut self, groups: JobGroups) {
        if let Some(far) = self.remote_mut() {
            far.set_groups(Box::new(groups));
        }
    }

    fn groups(&mut self) -> Option<&mut JobGroups> {
        Some(self.remote_mut()?.groups_mut()?.0.table())
    }

    fn failure_of_groups(&self) -> Option<ChannelError> {
        self.remote()?.error()
    }

    fn is_local(&self, peer: Peer) -> bool {
        Self::is_local(self, peer)
    }

    fn has_unicasts_under_way(&self) -> bool {
        let far = self.remote();
        far.is_some_and(|far| far.channel().has_frames_under_way())
    }
}
