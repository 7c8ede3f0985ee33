//! A multicast broadcast under way at one rank.

use super::root_queues::{OpenGroups, open_groups};
use crate::datatype::representation::HETEROGENEOUS;
use crate::error::Error;
use crate::packed_message::PackedMessage;
use crate::runtime::world::World;
use crate::user_buffer::Region;
use pombo_kernel::channel::GroupId;
use pombo_kernel::{ChannelError, Peer, Source};
use pombo_transport::multicast::SendStatus;

/// One rank's part of a broadcast.
pub(in crate::collective) struct MulticastOperation {
    group: GroupId,
    root: Peer,
    region: Region,
    /// The message, where it has another form than the region: it arrives in any order.
    message: Option<PackedMessage>,
    /// The sequence number among its root's broadcasts in this group.
    pub(super) number: u32,
    /// Whether the root's region is lent to the channel while it is sent chunk by chunk.
    lent: bool,
    is_over: bool,
}

impl MulticastOperation {
    /// Creates a broadcast of that root, which is this rank if `is_own`, without a number and not yet begun.
    pub(super) fn new(
        group: GroupId,
        (root, is_own): (Peer, bool),
        region: Region,
    ) -> Result<Self, Error> {
        let is_converted = HETEROGENEOUS && !region.is_dense();
        let message = match (is_converted, is_own) {
            (false, _) => None,
            (true, true) => Some(PackedMessage::of(&region)?),
            (true, false) => Some(PackedMessage::room(Source::len(&region))?),
        };
        Ok(MulticastOperation {
            group,
            root,
            region,
            message,
            number: 0,
            lent: false,
            is_over: false,
        })
    }

    /// Returns the memory of the message.
    fn message(&mut self) -> Region {
        match &mut self.message {
            Some(message) => message.region(),
            None => self.region.clone(),
        }
    }

    /// Progresses as far as possible; returns whether the operation is complete.
    pub(in crate::collective) fn poll(&mut self, world: &mut World) -> Result<bool, Error> {
        let own = world.kernel.me() == self.root;
        let Some(mut groups) = open_groups(world)? else {
            // An error that the other ranks were told of has closed the group.
            return Err(pombo_kernel::Error::NoSuchGroup(self.group).into());
        };
        let (group, root) = (self.group, self.root);
        if !groups.is_next(group, root, self.number)? {
            return Ok(false);
        }
        let over = match own {
            true => self.send(&mut groups),
            false => groups.receive(group, root, self.message()),
        };
        if !matches!(over, Ok(false)) {
            groups.end(group, root);
            self.is_over = true;
        }
        if matches!(over, Ok(true))
            && !own
            && let Some(message) = &mut self.message
        {
            message.region().copy_to(&self.region);
        }
        over
    }

    fn send(&mut self, groups: &mut OpenGroups<'_>) -> Result<bool, Error> {
        if self.lent {
            return groups.is_sent(self.group);
        }
        match groups.send(self.group, self.message()) {
            Ok(begun) => {
                self.lent = begun == SendStatus::Borrowed;
                Ok(!self.lent)
            }
            Err(pombo_kernel::Error::Channel(ChannelError::Full)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives up the operation's memory because of `error`. Later broadcasts from the same root fail likewise, as its
    /// frames may have reached some ranks only.
    pub(in crate::collective) fn abandon(&mut self, world: &mut World, error: Error) {
        if let Ok(Some(mut groups)) = open_groups(world)
            && !self.is_over
        {
            groups.abandon(self.group, self.root, error);
        }
    }
}
