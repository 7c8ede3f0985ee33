//! The tree of a communicator, as one of its ranks sees it, and what drives all of them. Only this folder uses it.
//!
//! Every call that waits or polls drives the trees, so a rank in another call answers. One that computes answers later:
//! a probe that may have waited for it gets no times, and is asked again.

use super::clock::Clock;
use super::frames::{Frames, Kind, read};
use super::links::Links;
use crate::error::Error;
use crate::runtime::world::World;
use crate::settings::{ADAPTIVE_EVERY, ADAPTIVE_THRESHOLD};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::mem::take;
use pombo_collective::adaptive::{EdgeState, Link, Message, Probe, Process};
use pombo_job::environment::EnvironmentCopy;
use pombo_job::log;
use pombo_job::settings::VERBOSE;
use pombo_job::text;
use pombo_kernel::{Channel, Peer};
use pombo_netdrivers::tuning::FREED_TREE;
use zerocopy::IntoBytes;

/// The trees of all communicators that have one, at most one each.
#[derive(Default)]
pub(super) struct Trees {
    trees: Vec<CommTree>,
    clock: Clock,
}

/// The tree of a communicator.
pub(super) struct CommTree {
    context: u32,
    /// This rank.
    own: usize,
    peers: Rc<[Peer]>,
    frames: Frames,
    links: Links,
    /// The number of the present call among the broadcasts and reductions of the communicator, refused ones too.
    calls: u64,
    /// Rounds that earlier calls would have asked for, and those that were asked for.
    rounds: u64,
    /// Every so many calls adapt the tree; 0: none.
    every: u64,
    /// Whether changes of links are told.
    is_verbose: bool,
    /// The protocol, once the links are known.
    process: Option<Process<Vec<Link>>>,
    /// What neighbours have sent before: a few messages each.
    early: Vec<(usize, Message)>,
    failed: Option<Error>,
    /// When the communicator was freed, in ns; 0 while it is not.
    freed: u64,
}

/// Drives all trees; see [`World::register`].
pub(super) fn progress(world: &mut World, idle: &mut u32, _: bool) -> bool {
    let mut all: Trees = take(world.objects.extensions.get());
    all.clock.note(world);
    for tree in &mut all.trees {
        match tree.drive(world, &all.clock) {
            Ok(true) => *idle = 0,
            Ok(false) => {}
            Err(error) => tree.failed = tree.failed.or(Some(error)),
        }
    }
    let now = all.clock.now;
    all.trees
        .retain(|tree| tree.freed == 0 || now < tree.freed + FREED_TREE || !tree.frames.is_idle());
    let goes_on = !all.trees.is_empty();
    *world.objects.extensions.get() = all;
    goes_on
}

impl Trees {
    pub(super) fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// Returns the tree of that context, made on first use.
    pub(super) fn of(&mut self, context: u32, make: impl FnOnce() -> CommTree) -> &mut CommTree {
        let is_it = |tree: &CommTree| tree.context == context;
        let place = self.trees.iter().position(is_it);
        let place = match place {
            Some(place) if self.trees[place].freed == 0 => place,
            Some(place) => {
                self.trees[place] = make();
                place
            }
            None => {
                self.trees.push(make());
                self.trees.len() - 1
            }
        };
        &mut self.trees[place]
    }

    pub(super) fn get(&self, context: u32) -> Option<&CommTree> {
        self.trees.iter().find(|tree| tree.context == context)
    }
}

impl CommTree {
    pub(super) fn new(
        context: u32,
        own: usize,
        peers: &Rc<[Peer]>,
        calls: u64,
        environment: &EnvironmentCopy,
    ) -> Self {
        let every = environment.number(ADAPTIVE_EVERY) as u64;
        CommTree {
            context,
            own,
            peers: peers.clone(),
            frames: Frames::new(context),
            links: Links::new(
                peers.len() - 1,
                environment.number(ADAPTIVE_THRESHOLD) as u32,
            ),
            calls,
            rounds: calls.saturating_sub(1).checked_div(every).unwrap_or(0),
            every,
            is_verbose: environment.is_on(VERBOSE),
            process: None,
            early: Vec::new(),
            failed: None,
            freed: 0,
        }
    }

    /// Begins the call of that number, from 1 on, and asks for a round of adaptation if it is its turn, or was that of
    /// one that this rank has refused.
    pub(super) fn begin_call(&mut self, number: u64) {
        self.calls = number;
        self.ask();
    }

    fn ask(&mut self) {
        let due = self.calls.checked_div(self.every).unwrap_or(0);
        let Some(process) = self.process.as_mut().filter(|_| self.rounds < due) else {
            return;
        };
        for link in 0..self.peers.len() - 1 {
            if let Some(weight) = self.links.change(link) {
                // Links to ranks that have ended have no weight.
                let _ = process.set_weight(link, weight);
                if self.is_verbose
                    && let Some(by) = self.links.forecaster(link)
                {
                    let other = link + usize::from(link >= self.own);
                    log::error(&text!(
                        "pombo: adaptive tree: rank {} counts {} ns for its link to rank {}, by the {}",
                        self.own,
                        weight,
                        other,
                        by
                    ));
                }
            }
        }
        for _ in self.rounds..due {
            process.adapt();
        }
        self.rounds = due;
    }

    /// Returns the ranks of this one's neighbours in the tree, the farthest first, once it stands.
    pub(super) fn branches(&self) -> Result<Option<Vec<usize>>, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let Some(process) = self.process.as_ref().filter(|it| it.is_settled()) else {
            return Ok(None);
        };
        let links = process.links().iter().enumerate();
        let branches = links.filter(|(_, link)| link.state() == EdgeState::Branch);
        let mut sorted: Vec<(u64, usize)> = Vec::new();
        for (place, link) in branches {
            let later = sorted.partition_point(|&(weight, _)| weight >= link.weight());
            sorted.insert(later, (link.weight(), self.rank(place)));
        }
        Ok(Some(sorted.into_iter().map(|(_, rank)| rank).collect()))
    }

    /// Returns the rank at the other end of a link.
    fn rank(&self, link: usize) -> usize {
        link + usize::from(link >= self.own)
    }

    fn link_to(&self, peer: Peer) -> Option<usize> {
        let rank = self.peers.iter().position(|it| *it == peer)?;
        (rank != self.own).then(|| rank - usize::from(rank > self.own))
    }

    /// Takes and sends frames as far as possible; returns whether there were any.
    fn drive(&mut self, world: &mut World, clock: &Clock) -> Result<bool, Error> {
        let mut any = false;
        self.frames.settle(world)?;
        while let Some((from, kind, bytes, len)) = self.frames.receive(world)? {
            any = true;
            let Some(link) = self.link_to(from) else {
                continue;
            };
            match kind {
                Kind::Tree => self.take(link, read(&bytes, len)),
                Kind::Probe if clock.is_doubtful() => {
                    self.frames.send(world, from, Kind::Late, &[])?;
                }
                Kind::Probe => {
                    if let Some(probe) = read::<Probe>(&bytes, len) {
                        let sent = world.kernel.channel().now();
                        let reply = probe.answer(clock.now, sent);
                        self.frames
                            .send(world, from, Kind::Reply, reply.as_bytes())?;
                    }
                }
                Kind::Reply => {
                    let reply = read(&bytes, len).filter(|_| !clock.is_doubtful());
                    self.links.take(link, reply, clock.now);
                }
                Kind::Late => self.links.take(link, None, clock.now),
            }
        }
        if world.objects.comms.of_context(2 * self.context).is_none() {
            self.freed = self
                .freed
                .max(clock.now.max(1) * u64::from(self.freed == 0));
            return Ok(any);
        }
        if self.process.is_none() && self.links.are_known() {
            self.start();
        }
        while let Some((link, message)) = self.process.as_mut().and_then(Process::next_outgoing) {
            any = true;
            let to = self.peers[self.rank(link)];
            self.frames
                .send(world, to, Kind::Tree, message.as_bytes())?;
        }
        let may_probe = self.process.is_none() || self.every > 0;
        // The clock is read only where a probe is sent: this runs in every poll.
        while may_probe && self.links.is_due(self.calls, clock.now) {
            let now = world.kernel.channel().now();
            let Some((link, probe)) = self.links.next_probe(self.calls, now) else {
                break;
            };
            let to = self.peers[self.rank(link)];
            self.frames.send(world, to, Kind::Probe, probe.as_bytes())?;
        }
        Ok(any)
    }

    /// Takes a message of the protocol, or keeps it until this rank takes part.
    fn take(&mut self, link: usize, message: Option<Message>) {
        let Some(message) = message else { return };
        match &mut self.process {
            // What no correct neighbour sends is dropped and counted there.
            Some(process) => {
                let _ = process.receive(link, &message);
            }
            None => self.early.push((link, message)),
        }
    }

    /// Begins to build the tree.
    fn start(&mut self) {
        let count = self.peers.len();
        let links =
            (0..count - 1).map(|link| Link::new(self.rank(link) as u32, self.links.first(link)));
        let links: Vec<Link> = links.collect();
        // Each neighbour is there once, so nothing is refused.
        let Ok(mut process) = Process::new(self.own as u32, count as u32, links) else {
            return;
        };
        process.start();
        for (link, message) in take(&mut self.early) {
            let _ = process.receive(link, &message);
        }
        self.process = Some(process);
        self.ask();
    }
}
