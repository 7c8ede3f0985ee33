//! The groups of a rank, and the memory that they are shown. `multicast_bcast` only.

use crate::error::Error;
use crate::runtime::world::World;
use crate::user_buffer::Region;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pombo_job::{Traffic, multicast_setup};
use pombo_kernel::{ChannelError, Network, Peer, Sink, Source};
use pombo_netdrivers::HeapStorage;
use pombo_transport::multicast::{
    BufferProvider, GroupCapacities, GroupTable, ReassemblyBuffer, SendStatus,
};

/// Communicators of a rank that have a group.
pub(super) const GROUPS: usize = 32;
/// Ranks of a group.
pub(super) const RANKS: usize = 64;
/// Bytes of a frame: what Ethernet carries with an address of version 4.
pub(super) const FRAME: usize = 1472;

pub(super) type Table =
    GroupTable<multicast_setup::Net, GroupCapacities<63, FRAME, 32, 1024, GROUPS>, HeapStorage>;

/// The groups, where the ranks are on several hosts and the network carries one frame to all.
#[derive(Default)]
pub(crate) struct MulticastBcast(Option<Box<OpenGroups>>);

pub(super) struct OpenGroups {
    table: Table,
    memory: LentMemory,
    /// For every group and root.
    queues: Vec<RootQueue>,
    /// An operation has ended, which others may wait for.
    ended: bool,
    /// Groups whose communicators are freed.
    freed: Vec<u32>,
    /// Peers of whose end the table knows.
    lost: Vec<Peer>,
    /// What has failed.
    failed: Option<ChannelError>,
    /// Looks at the memory until the next look at who has gone.
    rest: u32,
    /// Turns until the next look at groups in which nobody waits for anything.
    pass: u32,
}

/// The messages of one root in one group, as this rank's calls have named them.
struct RootQueue {
    group: u32,
    root: Peer,
    begun: u32,
    over: u32,
    /// One of them ended like this, and the others of the group do not know.
    broken: Option<Error>,
}

/// What the calls under way have lent.
#[derive(Default)]
pub(super) struct LentMemory {
    out: Vec<(u32, Region)>,
    into: Vec<(u32, Peer, Destination)>,
}

/// Where a message is put together. It is lent to the operation that shows it.
pub(super) struct Destination(Region);

impl ReassemblyBuffer for Destination {
    fn len(&self) -> usize {
        Source::len(&self.0)
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.0.copy_in(at, bytes);
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        self.0.copy_out(at, into);
    }
}

impl BufferProvider for LentMemory {
    type Out = Region;
    type Into = Destination;

    fn outgoing(&mut self, group: u32) -> Option<&Region> {
        let mut out = self.out.iter();
        out.find(|(of, _)| *of == group).map(|(_, region)| region)
    }

    fn incoming(&mut self, group: u32, source: Peer) -> Option<&mut Destination> {
        let mut into = self.into.iter_mut();
        let found = into.find(|(of, from, _)| *of == group && *from == source);
        found.map(|(_, _, place)| place)
    }
}

/// The group of a context: number 0 was that of the trial.
pub(super) const fn number(context: u32) -> u32 {
    context + 1
}

/// Turns between two looks for frames while nobody waits for one.
const IDLE_POLL_INTERVAL: u32 = 32;
/// Turns between two looks at who has gone.
const DEATH_CHECK_INTERVAL: u32 = 1024;
/// So often without news it looks every time.
const SLEEPING_AFTER: u32 = 400;
/// So often, and the rank may sleep: in the channel, for the groups as well.
const SLEEP_AFTER: u32 = 50;

impl MulticastBcast {
    pub(super) fn new(table: Table) -> Self {
        MulticastBcast(Some(Box::new(OpenGroups {
            table,
            memory: LentMemory::default(),
            queues: Vec::new(),
            ended: false,
            freed: Vec::new(),
            lost: Vec::new(),
            failed: None,
            rest: 0,
            pass: 0,
        })))
    }

    /// Is there a place for one more?
    pub(crate) fn has_room(&self) -> bool {
        let open = self.0.as_ref();
        open.is_some_and(|open| open.table.has_room())
    }

    pub(super) fn open(&mut self) -> Result<Option<&mut OpenGroups>, Error> {
        match &mut self.0 {
            Some(open) => match open.failed {
                Some(error) => Err(pombo_kernel::Error::from(error).into()),
                None => Ok(Some(open)),
            },
            None => Ok(None),
        }
    }

    /// A new communicator, with these peers in its group if it has one: all have a place for it. Has it? The same
    /// answer at all its ranks, whether they are in the group or not.
    pub(crate) fn enter(&mut self, context: u32, peers: &[Peer]) -> bool {
        let Some(open) = self.0.as_mut().filter(|_| peers.len() <= RANKS) else {
            return false;
        };
        if peers.contains(&open.table.network().me()) {
            // The numbers of contexts grow, and there is a place.
            let _ = open.table.open(number(context), peers.iter().copied());
            for peer in &open.lost {
                open.table.declare_lost(*peer);
            }
        }
        true
    }

    /// A communicator was freed; its operations may still be under way.
    pub(crate) fn leave(&mut self, context: u32) {
        let group = number(context);
        if let Some(open) = &mut self.0
            && open.table.is_open(group)
        {
            open.freed.push(group);
            open.sweep();
        }
    }

    /// Has everything that this rank sent reached the others?
    pub(crate) fn is_settled(&self) -> bool {
        let open = self.0.as_ref();
        open.is_none_or(|open| open.failed.is_some() || open.table.is_settled())
    }

    /// What has become of frames so far.
    pub(crate) fn traffic(&self) -> Traffic {
        let Some(open) = &self.0 else {
            return Traffic::default();
        };
        let (counts, network) = (open.table.counts(), open.table.network());
        let (refused, overflow) = multicast_setup::refused(network);
        Traffic {
            frames: counts.packets + counts.polls + counts.reports,
            resent: counts.resent,
            repairs: counts.repairs,
            duplicates: counts.useless + counts.stale,
            dropped: multicast_setup::lost(network) + overflow,
            rejected: refused + counts.foreign + counts.corrupt + counts.impossible,
        }
    }
}

/// Lets frames come and go: see [`World::register`].
#[cold]
pub(super) fn progress(world: &mut World, idle: &mut u32, _came: bool) -> bool {
    let Some(open) = &mut world.extensions.get::<MulticastBcast>().0 else {
        return false;
    };
    let due = open.is_due(*idle);
    if due {
        match open.table.poll(&mut open.memory) {
            Ok(true) => *idle = 0,
            Ok(false) => {}
            Err(error) => open.failed = Some(error),
        }
    }
    if *idle >= SLEEP_AFTER {
        let groups = open.table.wait_sources();
        if let Some(far) = world.kernel.channel_mut().remote_mut() {
            far.wakes_also_by(groups);
        }
    }
    let Some(open) = &mut world.extensions.get::<MulticastBcast>().0 else {
        return false;
    };
    // Others may wait for what has ended here.
    if core::mem::take(&mut open.ended) {
        *idle = 0;
    }
    if due {
        match open.rest {
            0 => note_deaths(world),
            // A sleep is as long as many turns.
            _ if *idle >= SLEEPING_AFTER => note_deaths(world),
            _ => open.rest -= 1,
        }
    }
    true
}

/// Who has gone?
fn note_deaths(world: &mut World) {
    let World {
        kernel, extensions, ..
    } = world;
    let Some(open) = &mut extensions.get::<MulticastBcast>().0 else {
        return;
    };
    open.rest = DEATH_CHECK_INTERVAL;
    for peer in (0..kernel.peers()).map(|peer| Peer(peer as u16)) {
        if kernel.is_gone(peer) && !open.lost.contains(&peer) {
            open.lost.push(peer);
            open.table.declare_lost(peer);
        }
    }
}

impl OpenGroups {
    /// Is it time to look? Where no operation waits, a look is three calls of the system for nothing.
    fn is_due(&mut self, idle: u32) -> bool {
        let waits = self.queues.iter().any(|queue| queue.begun != queue.over);
        let sleeps = idle >= SLEEPING_AFTER;
        self.pass = match self.pass {
            _ if waits || sleeps => 0,
            0 => IDLE_POLL_INTERVAL,
            more => more - 1,
        };
        self.pass == 0 || self.table.deadline() <= self.table.network().now()
    }

    fn queue(&mut self, group: u32, root: Peer) -> &mut RootQueue {
        let known = self.queues.iter();
        let known = known
            .clone()
            .position(|queue| queue.group == group && queue.root == root);
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

    /// The number of the next operation of that root.
    pub(super) fn begin(&mut self, group: u32, root: Peer) -> u32 {
        let queue = self.queue(group, root);
        queue.begun = queue.begun.wrapping_add(1);
        queue.begun.wrapping_sub(1)
    }

    /// Are all before it over?
    pub(super) fn is_next(&mut self, group: u32, root: Peer, number: u32) -> Result<bool, Error> {
        let queue = self.queue(group, root);
        match queue.broken {
            Some(error) => Err(error),
            None => Ok(queue.over == number),
        }
    }

    /// It is over.
    pub(super) fn end(&mut self, group: u32, root: Peer) {
        let queue = self.queue(group, root);
        queue.over = queue.over.wrapping_add(1);
        self.ended = true;
        self.forget(group, root);
        self.sweep();
    }

    /// It will not come to its end: what comes after it fails as it did.
    pub(super) fn abandon(&mut self, group: u32, root: Peer, error: Error) {
        self.queue(group, root).broken.get_or_insert(error);
        self.ended = true;
        self.forget(group, root);
    }

    /// The memory that was shown for it is not any more.
    fn forget(&mut self, group: u32, root: Peer) {
        if self.table.network().me() == root {
            self.memory.out.retain(|(of, _)| *of != group);
        }
        let into = &mut self.memory.into;
        into.retain(|(of, from, _)| *of != group || *from != root);
    }

    pub(super) fn send(
        &mut self,
        group: u32,
        region: Region,
    ) -> Result<SendStatus, pombo_kernel::Error> {
        let begun = self.table.send(group, &region)?;
        if begun == SendStatus::Borrowed {
            self.memory.out.push((group, region));
        }
        Ok(begun)
    }

    pub(super) fn is_sent(&mut self, group: u32) -> Result<bool, Error> {
        Ok(self.table.is_sent(group)?)
    }

    pub(super) fn receive(
        &mut self,
        group: u32,
        root: Peer,
        region: Region,
    ) -> Result<bool, Error> {
        let received = self.table.receive(group, root, &mut Destination(region))?;
        let Some(received) = received else {
            if self.memory.incoming(group, root).is_none() {
                self.memory.into.push((group, root, Destination(region)));
            }
            return Ok(false);
        };
        match Source::len(&region) {
            expected if received == expected => Ok(true),
            expected => Err(Error::unequal(received as u64, expected as u64)),
        }
    }

    /// Closes groups that are freed, when their operations are over.
    fn sweep(&mut self) {
        let (queues, table) = (&mut self.queues, &mut self.table);
        self.freed.retain(|group| {
            let mut own = queues.iter().filter(|queue| queue.group == *group);
            if own.any(|queue| queue.begun != queue.over && queue.broken.is_none()) {
                return true;
            }
            queues.retain(|queue| queue.group != *group);
            // It is open.
            let _ = table.close(*group);
            false
        });
    }
}
