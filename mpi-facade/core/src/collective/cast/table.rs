//! The groups of a rank, and the memory that they are shown. `cast` only.

use crate::error::Error;
use crate::memory::Region;
use crate::world::World;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pombo_job::{Traffic, groups};
use pombo_kernel::{ChannelError, Network, Node, Sink, Source};
use pombo_netdrivers::Growing;
use pombo_transport::group::{Begun, Casts, Group, Hands, Room};

/// Communicators of a rank that have a group.
pub(super) const GROUPS: usize = 32;
/// Ranks of a group.
pub(super) const RANKS: usize = 64;
/// Bytes of a frame: what Ethernet carries with an address of version 4.
pub(super) const FRAME: usize = 1472;

pub(super) type Table = Casts<groups::Net, Group<63, FRAME, 32, 1024, GROUPS>, Growing>;

/// The groups, where the ranks are on several hosts and the network carries one frame to all.
#[derive(Default)]
pub(crate) struct Casting(Option<Box<Open>>);

pub(super) struct Open {
    table: Table,
    memory: Memory,
    /// For every group and root.
    lanes: Vec<Lane>,
    /// An operation has ended, which others may wait for.
    ended: bool,
    /// Groups whose communicators are freed.
    freed: Vec<u32>,
    /// Nodes of whose end the table knows.
    gone: Vec<Node>,
    /// What has failed.
    failed: Option<ChannelError>,
    /// Looks at the memory until the next look at who has gone.
    rest: u32,
    /// Turns until the next look at groups in which nobody waits for anything.
    pass: u32,
}

/// The messages of one root in one group, as this rank's calls have named them.
struct Lane {
    group: u32,
    root: Node,
    begun: u32,
    over: u32,
    /// One of them ended like this, and the others of the group do not know.
    broken: Option<Error>,
}

/// What the calls under way have lent.
#[derive(Default)]
pub(super) struct Memory {
    out: Vec<(u32, Region)>,
    into: Vec<(u32, Node, Place)>,
}

/// Where a message is put together. It is lent to the operation that shows it.
pub(super) struct Place(Region);

impl Room for Place {
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

impl Hands for Memory {
    type Out = Region;
    type Into = Place;

    fn outgoing(&mut self, group: u32) -> Option<&Region> {
        let mut out = self.out.iter();
        out.find(|(of, _)| *of == group).map(|(_, region)| region)
    }

    fn incoming(&mut self, group: u32, source: Node) -> Option<&mut Place> {
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
const PASSES: u32 = 32;
/// Turns between two looks at who has gone.
const REST: u32 = 1024;
/// So often without news it looks every time.
const CALM: u32 = 400;
/// So often, and the rank may sleep: in the channel, for the groups as well.
const SLEEP: u32 = 50;

impl Casting {
    pub(super) fn new(table: Table) -> Self {
        Casting(Some(Box::new(Open {
            table,
            memory: Memory::default(),
            lanes: Vec::new(),
            ended: false,
            freed: Vec::new(),
            gone: Vec::new(),
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

    pub(super) fn open(&mut self) -> Result<Option<&mut Open>, Error> {
        match &mut self.0 {
            Some(open) => match open.failed {
                Some(error) => Err(pombo_kernel::Error::from(error).into()),
                None => Ok(Some(open)),
            },
            None => Ok(None),
        }
    }

    /// A new communicator, with these nodes in its group if it has one: all have a place for it. Has it? The same
    /// answer at all its ranks, whether they are in the group or not.
    pub(crate) fn enter(&mut self, context: u32, nodes: &[Node]) -> bool {
        let Some(open) = self.0.as_mut().filter(|_| nodes.len() <= RANKS) else {
            return false;
        };
        if nodes.contains(&open.table.network().node()) {
            // The numbers of contexts grow, and there is a place.
            let _ = open.table.open(number(context), nodes.iter().copied());
            for node in &open.gone {
                open.table.declare_lost(*node);
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
        let (refused, overflow) = groups::refused(network);
        Traffic {
            frames: counts.packets + counts.polls + counts.reports,
            resent: counts.resent,
            repairs: counts.repairs,
            duplicates: counts.useless + counts.stale,
            dropped: groups::lost(network) + overflow,
            rejected: refused + counts.foreign + counts.corrupt + counts.impossible,
        }
    }
}

/// Lets frames come and go: see [`World::register`].
#[cold]
pub(super) fn progress(world: &mut World, idle: &mut u32, _came: bool) -> bool {
    let Some(open) = &mut world.parts.get::<Casting>().0 else {
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
    if *idle >= SLEEP {
        let groups = open.table.wakes_by();
        if let Some(far) = world.kernel.channel_mut().far_mut() {
            far.wakes_also_by(groups);
        }
    }
    let Some(open) = &mut world.parts.get::<Casting>().0 else {
        return false;
    };
    // Others may wait for what has ended here.
    if core::mem::take(&mut open.ended) {
        *idle = 0;
    }
    if due {
        match open.rest {
            0 => look(world),
            // A sleep is as long as many turns.
            _ if *idle >= CALM => look(world),
            _ => open.rest -= 1,
        }
    }
    true
}

/// Who has gone?
fn look(world: &mut World) {
    let World { kernel, parts, .. } = world;
    let Some(open) = &mut parts.get::<Casting>().0 else {
        return;
    };
    open.rest = REST;
    for node in (0..kernel.nodes()).map(|node| Node(node as u16)) {
        if kernel.is_gone(node) && !open.gone.contains(&node) {
            open.gone.push(node);
            open.table.declare_lost(node);
        }
    }
}

impl Open {
    /// Is it time to look? Where no operation waits, a look is three calls of the system for nothing.
    fn is_due(&mut self, idle: u32) -> bool {
        let waits = self.lanes.iter().any(|lane| lane.begun != lane.over);
        let sleeps = idle >= CALM;
        self.pass = match self.pass {
            _ if waits || sleeps => 0,
            0 => PASSES,
            more => more - 1,
        };
        self.pass == 0 || self.table.deadline() <= self.table.network().now()
    }

    fn lane(&mut self, group: u32, root: Node) -> &mut Lane {
        let known = self.lanes.iter();
        let known = known
            .clone()
            .position(|lane| lane.group == group && lane.root == root);
        let place = known.unwrap_or_else(|| {
            self.lanes.push(Lane {
                group,
                root,
                begun: 0,
                over: 0,
                broken: None,
            });
            self.lanes.len() - 1
        });
        &mut self.lanes[place]
    }

    /// The number of the next operation of that root.
    pub(super) fn begin(&mut self, group: u32, root: Node) -> u32 {
        let lane = self.lane(group, root);
        lane.begun = lane.begun.wrapping_add(1);
        lane.begun.wrapping_sub(1)
    }

    /// Are all before it over?
    pub(super) fn is_next(&mut self, group: u32, root: Node, number: u32) -> Result<bool, Error> {
        let lane = self.lane(group, root);
        match lane.broken {
            Some(error) => Err(error),
            None => Ok(lane.over == number),
        }
    }

    /// It is over.
    pub(super) fn end(&mut self, group: u32, root: Node) {
        let lane = self.lane(group, root);
        lane.over = lane.over.wrapping_add(1);
        self.ended = true;
        self.forget(group, root);
        self.sweep();
    }

    /// It will not come to its end: what comes after it fails as it did.
    pub(super) fn abandon(&mut self, group: u32, root: Node, error: Error) {
        self.lane(group, root).broken.get_or_insert(error);
        self.ended = true;
        self.forget(group, root);
    }

    /// The memory that was shown for it is not any more.
    fn forget(&mut self, group: u32, root: Node) {
        if self.table.network().node() == root {
            self.memory.out.retain(|(of, _)| *of != group);
        }
        let into = &mut self.memory.into;
        into.retain(|(of, from, _)| *of != group || *from != root);
    }

    pub(super) fn send(
        &mut self,
        group: u32,
        region: Region,
    ) -> Result<Begun, pombo_kernel::Error> {
        let begun = self.table.send(group, &region)?;
        if begun == Begun::Lent {
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
        root: Node,
        region: Region,
    ) -> Result<bool, Error> {
        let received = self.table.receive(group, root, &mut Place(region))?;
        let Some(received) = received else {
            if self.memory.incoming(group, root).is_none() {
                self.memory.into.push((group, root, Place(region)));
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
        let (lanes, table) = (&mut self.lanes, &mut self.table);
        self.freed.retain(|group| {
            let mut own = lanes.iter().filter(|lane| lane.group == *group);
            if own.any(|lane| lane.begun != lane.over && lane.broken.is_none()) {
                return true;
            }
            lanes.retain(|lane| lane.group != *group);
            // It is open.
            let _ = table.close(*group);
            false
        });
    }
}
