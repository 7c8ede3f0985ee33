//! The order of broadcasts in a group, and the groups of communicators. `multicast_bcast` only.

use crate::error::Error;
use crate::kernel::{Destination, GroupBuffers};
use crate::runtime::world::World;
use crate::user_buffer::Region;
use alloc::vec::Vec;
use core::mem::take;
use pombo_job::groups::{JobGroups, RANKS};
use pombo_kernel::channel::GroupId;
use pombo_kernel::{Network, Peer, Source};
use pombo_transport::multicast::SendStatus;

/// The groups of the channel, where the ranks are on several hosts and the network carries one frame to all, and the
/// order in which this rank's calls use them.
pub(super) struct OpenGroups<'a> {
    table: &'a mut JobGroups,
    buffers: &'a mut GroupBuffers,
    state: &'a mut RootQueues,
}

/// The broadcasts that this rank's calls have begun.
#[derive(Default)]
pub(super) struct RootQueues {
    /// For every group and root that was used.
    queues: Vec<RootQueue>,
    /// An operation has ended, which others may wait for.
    ended: bool,
    /// Groups whose communicators are freed, while operations are under way.
    freed: Vec<GroupId>,
}

/// The messages of one root in one group, as this rank's calls have named them.
struct RootQueue {
    group: GroupId,
    root: Peer,
    begun: u32,
    over: u32,
    /// One of them ended with this error, and the others of the group do not know.
    broken: Option<Error>,
}

/// The group of a context: number 0 was that of the trial.
pub(super) const fn group_of(context: u32) -> GroupId {
    GroupId(context + 1)
}

/// Is there a place for the group of one more communicator?
pub(crate) fn has_room(world: &mut World) -> bool {
    table(world).is_some_and(|table| table.has_room())
}

/// Opens the group of a new communicator: all of these peers have a place for it. False if it has none. The same answer
/// at all its ranks, whether they are in the group or not.
pub(crate) fn open_group(world: &mut World, context: u32, peers: &[Peer]) -> bool {
    let (kernel, me) = (&world.kernel, world.kernel.me());
    let lost = peers.iter().copied().filter(|peer| kernel.is_gone(*peer));
    let lost: Vec<Peer> = lost.collect();
    let Some(table) = table(world).filter(|_| peers.len() <= RANKS) else {
        return false;
    };
    if peers.contains(&me) {
        // The numbers of contexts grow, and there is a place.
        let _ = table.open(group_of(context), peers.iter().copied());
        lost.into_iter().for_each(|peer| table.declare_lost(peer));
    }
    true
}

/// Closes the group of a communicator that was freed, when its operations are over.
pub(crate) fn close_group(world: &mut World, context: u32) {
    let group = group_of(context);
    if let Some(mut groups) = groups(world)
        && groups.table.is_open(group)
    {
        groups.state.freed.push(group);
        groups.close_freed();
    }
}

/// The groups, if there are any.
///
/// # Errors
/// What their device has failed with.
pub(super) fn open_groups(world: &mut World) -> Result<Option<OpenGroups<'_>>, Error> {
    let far = world.kernel.channel().remote();
    match far.and_then(|far| far.error()) {
        Some(error) => Err(pombo_kernel::Error::from(error).into()),
        None => Ok(groups(world)),
    }
}

fn groups(world: &mut World) -> Option<OpenGroups<'_>> {
    let World {
        kernel, extensions, ..
    } = world;
    let (table, buffers) = kernel.channel_mut().remote_mut()?.groups_mut()?;
    Some(OpenGroups {
        table,
        buffers,
        state: extensions.get(),
    })
}

/// The groups without their order.
pub(super) fn table(world: &mut World) -> Option<&mut JobGroups> {
    let far = world.kernel.channel_mut().remote_mut()?;
    far.groups_mut().map(|(table, _)| table)
}

/// Gives the next operation of that root its number: messages are sent in the order of the calls, not in that in which
/// they can begin.
pub(super) fn begin(world: &mut World, group: GroupId, root: Peer) -> Result<u32, Error> {
    let Some(groups) = open_groups(world)? else {
        return Ok(0);
    };
    let queue = groups.state.queue(group, root);
    queue.begun = queue.begun.wrapping_add(1);
    Ok(queue.begun.wrapping_sub(1))
}

/// Has an operation ended since the last time? The next one of its root may begin then, and nobody sleeps before.
pub(in crate::collective) fn take_ended(world: &mut World) -> bool {
    take(&mut world.extensions.get::<RootQueues>().ended)
}

impl RootQueue {
    fn is_pending(&self) -> bool {
        self.begun != self.over && self.broken.is_none()
    }
}

impl RootQueues {
    fn queue(&mut self, group: GroupId, root: Peer) -> &mut RootQueue {
        let mut known = self.queues.iter();
        let known = known.position(|queue| queue.group == group && queue.root == root);
        let place = known.unwrap_or_else(|| {
            self.queues.push(RootQueue {
                group,
                root,
                begun: 0,
                over: 0,
                broken: None,
            });
            self.queues.len() - 1
        });
        &mut self.queues[place]
    }
}

impl OpenGroups<'_> {
    /// Are all operations of that root before this one over?
    pub(super) fn is_next(
        &mut self,
        group: GroupId,
        root: Peer,
        number: u32,
    ) -> Result<bool, Error> {
        let queue = self.state.queue(group, root);
        match queue.broken {
            Some(error) => Err(error),
            None => Ok(queue.over == number),
        }
    }

    /// The operation of that root whose turn it was is over.
    pub(super) fn end(&mut self, group: GroupId, root: Peer) {
        let queue = self.state.queue(group, root);
        queue.over = queue.over.wrapping_add(1);
        self.take_back(group, root);
        self.close_freed();
    }

    /// It will not come to its end: what comes after it fails with the same error.
    pub(super) fn abandon(&mut self, group: GroupId, root: Peer, error: Error) {
        let queue = self.state.queue(group, root);
        queue.broken.get_or_insert(error);
        self.take_back(group, root);
    }

    fn take_back(&mut self, group: GroupId, root: Peer) {
        self.state.ended = true;
        if self.table.network().me() == root {
            self.buffers.take_outgoing(group);
        }
        self.buffers.take_incoming(group, root);
    }

    pub(super) fn send(
        &mut self,
        group: GroupId,
        region: Region,
    ) -> Result<SendStatus, pombo_kernel::Error> {
        let begun = self.table.send(group, &region)?;
        if begun == SendStatus::Borrowed {
            self.buffers.lend_outgoing(group, region);
        }
        Ok(begun)
    }

    pub(super) fn is_sent(&mut self, group: GroupId) -> Result<bool, Error> {
        Ok(self.table.is_sent(group)?)
    }

    pub(super) fn receive(
        &mut self,
        group: GroupId,
        root: Peer,
        region: Region,
    ) -> Result<bool, Error> {
        let received = self.table.receive(group, root, &mut Destination(region))?;
        let Some(received) = received else {
            self.buffers.lend_incoming(group, root, region);
            return Ok(false);
        };
        match Source::len(&region) {
            expected if received == expected => Ok(true),
            expected => Err(Error::unequal(received as u64, expected as u64)),
        }
    }

    /// Closes groups whose communicators are freed and whose operations are over.
    fn close_freed(&mut self) {
        let RootQueues { queues, freed, .. } = &mut *self.state;
        freed.retain(|group| {
            let mut own = queues.iter().filter(|queue| queue.group == *group);
            if own.any(RootQueue::is_pending) {
                return true;
            }
            queues.retain(|queue| queue.group != *group);
            // It is open.
            let _ = self.table.close(*group);
            false
        });
    }
}
