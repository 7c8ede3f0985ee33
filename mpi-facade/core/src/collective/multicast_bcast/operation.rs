//! A broadcast over the network's own that is under way at one rank.

use super::root_queues::{OpenGroups, open_groups};
use crate::error::Error;
use crate::runtime::world::World;
use crate::user_buffer::Region;
use pombo_kernel::channel::GroupId;
use pombo_kernel::{ChannelError, Peer};
use pombo_transport::multicast::SendStatus;

/// One rank's part in a broadcast.
pub(in crate::collective) struct MulticastOperation {
    group: GroupId,
    root: Peer,
    region: Region,
    /// Which one of its root's in this group.
    number: u32,
    /// It is being sent, piece by piece.
    lent: bool,
    is_over: bool,
}

impl MulticastOperation {
    /// The broadcast of that number in its group, not yet begun.
    pub(super) fn new(group: GroupId, root: Peer, region: Region, number: u32) -> Self {
        MulticastOperation {
            group,
            root,
            region,
            number,
            lent: false,
            is_over: false,
        }
    }

    /// Goes as far as it can.
    pub(in crate::collective) fn poll(&mut self, world: &mut World) -> Result<bool, Error> {
        let own = world.kernel.me() == self.root;
        let Some(mut groups) = open_groups(world)? else {
            // It was closed by an error that others were told of.
            return Err(pombo_kernel::Error::NoSuchGroup(self.group).into());
        };
        let (group, root) = (self.group, self.root);
        if !groups.is_next(group, root, self.number)? {
            return Ok(false);
        }
        let over = match own {
            true => self.send(&mut groups),
            false => groups.receive(group, root, self.region),
        };
        if !matches!(over, Ok(false)) {
            groups.end(group, root);
            self.is_over = true;
        }
        over
    }

    fn send(&mut self, groups: &mut OpenGroups<'_>) -> Result<bool, Error> {
        if self.lent {
            return groups.is_sent(self.group);
        }
        match groups.send(self.group, self.region) {
            Ok(begun) => {
                self.lent = begun == SendStatus::Borrowed;
                Ok(!self.lent)
            }
            Err(pombo_kernel::Error::Channel(ChannelError::Full)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Its memory goes away, for this error. What comes after it from the same root fails likewise: its frames may have
    /// reached some.
    pub(in crate::collective) fn abandon(&mut self, world: &mut World, error: Error) {
        if let Ok(Some(mut groups)) = open_groups(world)
            && !self.is_over
        {
            groups.abandon(self.group, self.root, error);
        }
    }
}
