//! The order of broadcasts in a group, and the groups of communicators. Only `multicast_bcast` uses it.

use crate::comm::Multicast;
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

/// The groups of the channel, where the ranks are on several hosts and the network has multicast, and the order in
/// which this rank's calls use them.
pub(super) struct OpenGroups<'a> {
    table: &'a mut JobGroups,
    buffers: &'a mut GroupBuffers,
    state: &'a mut RootQueues,
}

/// The broadcasts that this rank's calls have begun.
#[derive(Default)]
pub(super) struct RootQueues {
    /// A queue for every group and root in use.
    queues: Vec<RootQueue>,
    /// Whether an operation has ended, so that another one may begin.
    ended: bool,
    /// Groups whose communicators were freed while operations were under way.
    freed: Vec<GroupId>,
}

/// The broadcasts of one root in one group, numbered in the order of this rank's calls.
struct RootQueue {
    group: GroupId,
    root: Peer,
    begun: u32,
    over: u32,
    /// The error of a broadcast that failed here, which the other members do not know.
    broken: Option<Error>,
}

/// Returns the group of a context; group 0 is the one of the start-up test.
pub(super) const fn group_of(context: u32) -> GroupId {
    GroupId(context + 1)
}

/// Returns whether there is room for the group of one more communicator.
pub(crate) fn has_room(world: &mut World) -> bool {
    table(world).is_some_and(|table| table.has_room())
}

/// Opens the group of a new communicator whose members `peers` all have room for it. Returns whether the
/// communicator has a group. All its ranks get the same answer, whether they are in the group or not.
pub(crate) fn open_group(world: &mut World, context: u32, peers: &[Peer]) -> Multicast {
    let (kernel, me) = (&world.kernel, world.kernel.me());
    let lost = peers.iter().copied().filter(|peer| kernel.is_gone(*peer));
    let lost: Vec<Peer> = lost.collect();
    let Some(table) = table(world).filter(|_| peers.len() <= RANKS) else {
        return Multicast::None;
    };
    if peers.contains(&me) {
        // Context numbers never repeat, and the members have room, so this cannot fail.
        let _ = table.open(group_of(context), peers.iter().copied());
        lost.into_iter().for_each(|peer| table.declare_lost(peer));
    }
    Multicast::Group
}

/// Closes the group of a freed communicator once its operations are over.
pub(crate) fn close_group(world: &mut World, context: u32) {
    let group = group_of(context);
    if let Some(mut groups) = groups(world)
        && groups.table.is_open(group)
    {
        groups.state.freed.push(group);
        groups.close_freed();
    }
}

/// Returns the groups, if there are any.
///
/// # Errors
/// The error with which the groups' device has failed.
pub(super) fn open_groups(world: &mut World) -> Result<Option<OpenGroups<'_>>, Error> {
    let far = world.kernel.channel().remote();
    match far.and_then(|far| far.error()) {
        Some(error) => Err(pombo_kernel::Error::from(error).into()),
        None => Ok(groups(world)),
    }
}

fn groups(world: &mut World) -> Option<OpenGroups<'_>> {
    let World {
        kernel, objects, ..
    } = world;
    let (table, buffers) = kernel.channel_mut().remote_mut()?.groups_mut()?;
    Some(OpenGroups {
        table: table.table(),
        buffers,
        state: objects.extensions.get(),
    })
}

/// Returns the groups without the order of calls.
pub(super) fn table(world: &mut World) -> Option<&mut JobGroups> {
    let far = world.kernel.channel_mut().remote_mut()?;
    far.groups_mut().map(|(groups, _)| groups.table())
}

/// Assigns its number to the next operation of `root`: messages are sent in the order of the calls, even if a later one
/// could begin earlier.
pub(super) fn begin(world: &mut World, group: GroupId, root: Peer) -> Result<u32, Error> {
    let Some(groups) = open_groups(world)? else {
        return Ok(0);
    };
    let queue = groups.state.queue(group, root);
    queue.begun = queue.begun.wrapping_add(1);
    Ok(queue.begun.wrapping_sub(1))
}

/// Returns whether an operation has ended since the last call. The next one of its root may then begin, so the rank
/// must not sleep.
pub(in crate::collective) fn take_ended(world: &mut World) -> bool {
    take(&mut world.objects.extensions.get::<RootQueues>().ended)
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
    /// Returns whether all earlier operations of that root are over.
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

    /// Ends the current operation of that root.
    pub(super) fn end(&mut self, group: GroupId, root: Peer) {
        let queue = self.state.queue(group, root);
        queue.over = queue.over.wrapping_add(1);
        self.take_back(group, root);
        self.close_freed();
    }

    /// Abandons an operation: the later ones of that root fail with the same error.
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
        let received = self
            .table
            .receive(group, root, &mut Destination(region.clone()))?;
        let Some(received) = received else {
            self.buffers.lend_incoming(group, root, region.clone());
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
            let _ = self.table.close(*group);
            false
        });
    }
}
