//! One run: a tree is built, broadcasts follow each other, and links change between them. `mod.rs` calls [`run`].
//!
//! All processes begin a phase together: building, checking, a broadcast. A phase ends when the last process has ended
//! its part, as ECCLib measures collectives; so broadcasts do not overlap, and a tree that is late pays for it at once.

use pombo_collective::topology::{Binomial, Rooted, Tree, TwoLevel};

use super::adaptive::Adaptive;
use super::failure::Failure;
use super::world::{Arrival, Sender, World};
use crate::sites::{HoldRule, Sites, When};

/// What a run does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) root: usize,
    pub(super) bytes: usize,
    pub(super) broadcasts: u64,
    pub(super) hold: HoldRule,
    /// How long a process waits for the answer to a probe, in ns.
    pub(super) limit: u64,
}

/// Along which tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scheme {
    /// The binomial tree by rank relative to the root, as MPICH has it.
    Binomial,
    /// The tree of two levels by the map of sites, as MagPIe has it.
    TwoLevel,
    /// The minimum spanning tree of the links at the beginning.
    SpanningTree,
    /// The spanning tree, adapted before the first broadcast and every so many later when a link has changed by more
    /// than the threshold in per cent.
    Adaptive { every: u64, threshold: u32 },
}

/// Times in ns since the beginning, by what they went to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Times {
    /// Measuring all links before the tree is built.
    pub(super) measuring: u64,
    pub(super) building: u64,
    /// Looking for changes, and adapting the tree.
    pub(super) checking: u64,
    pub(super) broadcasting: u64,
}

impl Times {
    pub(super) fn total(&self) -> u64 {
        self.measuring + self.building + self.checking + self.broadcasting
    }
}

/// The times of one tree after each broadcast.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) times: Vec<Times>,
}

/// Returns the times after each broadcast.
///
/// # Errors
/// [`Failure`] if the distributed algorithm came to no end or refused a message.
pub(super) fn run(sites: &Sites, plan: &Plan, scheme: Scheme) -> Result<Vec<Times>, Failure> {
    let (map, ranks, root) = (sites.site_of(), sites.hosts(), plan.root);
    match scheme {
        Scheme::Binomial => {
            let children = |rank| {
                Rooted::new(Binomial, rank, ranks, root)
                    .children()
                    .collect()
            };
            fixed(sites, plan, children)
        }
        Scheme::TwoLevel => fixed(sites, plan, |rank| {
            TwoLevel::new(map, rank, root).children().collect()
        }),
        Scheme::SpanningTree => adaptive(sites, plan, None, 0),
        Scheme::Adaptive { every, threshold } => adaptive(sites, plan, Some(every), threshold),
    }
}

/// Broadcasts along a tree that every process computes.
fn fixed(
    sites: &Sites,
    plan: &Plan,
    children: impl Fn(usize) -> Vec<usize>,
) -> Result<Vec<Times>, Failure> {
    let mut world = World::new(sites, plan.hold);
    let mut times = Times::default();
    let each = (1..=plan.broadcasts).map(|number| {
        change(&mut world, sites, number);
        times.broadcasting += broadcast(&mut world, plan, &children);
        times
    });
    Ok(each.collect())
}

fn adaptive(
    sites: &Sites,
    plan: &Plan,
    every: Option<u64>,
    threshold: u32,
) -> Result<Vec<Times>, Failure> {
    let mut processes = Adaptive::new(World::new(sites, plan.hold), threshold, plan.limit)?;
    let (measuring, building) = processes.build()?;
    let mut times = Times {
        measuring,
        building,
        ..Times::default()
    };
    let mut each = Vec::new();
    for number in 1..=plan.broadcasts {
        change(&mut processes.world, sites, number);
        if every.is_some_and(|every| (number - 1).is_multiple_of(every)) {
            times.checking += processes.check()?;
        }
        times.broadcasting += processes.broadcast(plan.root, plan.bytes)?;
        each.push(times);
    }
    Ok(each)
}

/// Applies the changes that come immediately before a broadcast.
fn change<M>(world: &mut World<M>, sites: &Sites, number: u64) {
    for event in sites.events() {
        if event.when == When::Broadcast(number) {
            world.change(&event.pairs, event.change);
        }
    }
}

/// What happens in a broadcast along a fixed tree.
enum Step {
    Data,
    /// The process has begun its last send.
    Sent,
}

fn broadcast(world: &mut World<Step>, plan: &Plan, children: impl Fn(usize) -> Vec<usize>) -> u64 {
    let begin = world.now();
    world.wake(plan.root, begin, Step::Data);
    while let Some(Arrival { to, message, .. }) = world.next() {
        if let Step::Data = message {
            for child in children(to) {
                world.send(Sender::Process, (to, child), plan.bytes, Step::Data);
            }
            world.wake(to, world.free_at(to), Step::Sent);
        }
    }
    world.now() - begin
}
