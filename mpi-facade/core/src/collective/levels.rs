//! Blocking calls of ranks on several hosts, in parts: inside every host, between the hosts, inside every host again.
//! Only where some hosts have several ranks; called by `moves` and `reductions`.
//!
//! One rank speaks for each host: the root for its own where that saves a step, else the host's first one. A part is an
//! operation like any other, on fewer ranks: over boards inside a host, between hosts by messages or by the network's
//! own broadcast. Every operation there is commutes, so ranks may lie anywhere; only all-gather wants them in order.

use super::call::{Call, Part, Ready, Stop};
use super::layout::{Cut, Layout};
use super::moves::{allgather_here, broadcast_by_messages, broadcast_here, collect};
use super::reductions::{allreduce_by_messages, reduce_by_messages, reduce_here};
use super::schedule::{Stand, Steps};
use super::scratch::Scratch;
use super::{Buffer, Reduced};
use crate::constants::{MPI_BOR, MPI_BYTE, MPI_IN_PLACE};
use crate::error::Error;
use crate::hosts::Levels;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::mem::ManuallyDrop;
use pombo_kernel::collective::Buffer as Name;
use pombo_kernel::{Node, Source};

/// What the parts of one operation have in common.
pub(super) struct Parts {
    near: Rc<[Node]>,
    first: Rc<[Node]>,
    /// This rank's host, and its place there.
    own: (usize, usize),
    /// The root's host, and its place there.
    root: (usize, usize),
    /// The root's node.
    node: Node,
}

impl Parts {
    pub(super) fn of(call: &mut Call<'_>) -> Result<Parts, Error> {
        let Stand { rank, root, .. } = call.stand;
        let group = call.group()?;
        let node = group.node(root as i32)?;
        let levels = group.levels.as_ref();
        // Whoever asks has looked.
        let levels = levels.ok_or(pombo_kernel::Error::NoSuchNode(node))?;
        Ok(Parts {
            near: levels.near().clone(),
            first: levels.first().clone(),
            own: levels.place(rank),
            root: levels.place(root),
            node,
        })
    }

    /// Is nobody else of the communicator on this host?
    fn alone(&self) -> bool {
        self.near.len() == 1
    }

    /// Is the root on this host?
    pub(super) fn at_root(&self) -> bool {
        self.own.0 == self.root.0
    }

    /// The place of the root if it is on this host, else of the first rank.
    fn speaker(&self) -> usize {
        if self.at_root() { self.root.1 } else { 0 }
    }

    /// What is next is among the ranks of this host.
    pub(super) fn near(&self, call: &mut Call<'_>, root: usize) {
        self.go(call, true, self.near.clone(), (self.own.1, root));
    }

    /// What is next is between those that speak for their hosts, to or from the root itself.
    fn far(&self, call: &mut Call<'_>) {
        let mut speakers = self.first.clone();
        if self.root.1 > 0 {
            let all = self.first.iter().enumerate();
            let speaker = |(host, node): (usize, &Node)| match host == self.root.0 {
                true => self.node,
                false => *node,
            };
            speakers = all.map(speaker).collect();
        }
        self.go(call, false, speakers, (self.own.0, self.root.0));
    }

    fn go(&self, call: &mut Call<'_>, near: bool, nodes: Rc<[Node]>, stand: (usize, usize)) {
        call.stand = Stand {
            rank: stand.0,
            ranks: nodes.len(),
            root: stand.1,
        };
        call.part = Some(Part { nodes, near });
    }

    /// The place of the one who sends to the other hosts or hears from them, and of the root if it has to tell that
    /// one first.
    pub(super) fn casters(&self) -> (usize, Option<usize>) {
        let before = self.at_root() && self.root.1 > 0;
        (0, before.then_some(self.root.1))
    }

    /// The number of the root's host.
    pub(super) fn host(&self) -> usize {
        self.root.0
    }

    /// This rank's place on its host.
    pub(super) fn place(&self) -> usize {
        self.own.1
    }
}

/// `MPI_Bcast`.
pub(super) fn broadcast(call: &mut Call<'_>, buffer: Buffer) -> Result<bool, Stop> {
    let region = buffer.region(1)?;
    let cast = call.casts(Source::len(&region))?;
    let parts = Parts::of(call)?;
    let (speaker, before) = match cast {
        true => parts.casters(),
        false => (parts.speaker(), None),
    };
    if let Some(root) = before {
        parts.near(call, root);
        broadcast_here(call, buffer)?;
    }
    if parts.place() == speaker {
        parts.far(call);
        let ready = match cast {
            true => {
                let cast = Steps::Cast(call.cast(parts.host(), region)?);
                Ready::plain(cast, Layout::nothing(), Layout::nothing())
            }
            false => broadcast_by_messages(call, buffer)?,
        };
        call.carry_out(ready)?;
    }
    if before.is_none() {
        parts.near(call, speaker);
        broadcast_here(call, buffer)?;
    }
    Ok(true)
}

/// `MPI_Reduce`.
pub(super) fn reduce(call: &mut Call<'_>, reduced: Reduced) -> Result<bool, Stop> {
    let parts = Parts::of(call)?;
    let speaks = parts.place() == parts.speaker();
    let (mut inside, mut outside) = (reduced, reduced);
    // If it comes to no good end, a message may still lead here: then it is kept for ever.
    let mut sum = ManuallyDrop::new(Scratch::default());
    if speaks && !parts.alone() {
        outside.input = MPI_IN_PLACE;
        if !parts.at_root() {
            let (scratch, place) = call.pool().like(&reduced.input()?)?;
            inside.output = place.region(Name::Work.block(0)).base().cast();
            outside.input = inside.output;
            *sum = scratch;
        }
    }
    if !parts.alone() {
        parts.near(call, parts.speaker());
        reduce_here(call, inside)?;
    }
    if speaks {
        parts.far(call);
        let ready = reduce_by_messages(call, outside)?;
        call.carry_out(ready)?;
    }
    let sum = ManuallyDrop::into_inner(sum);
    call.pool().give([sum, Scratch::default()]);
    Ok(true)
}

/// `MPI_Allreduce`.
pub(super) fn allreduce(call: &mut Call<'_>, reduced: Reduced) -> Result<bool, Stop> {
    let parts = Parts::of(call)?;
    let (mut inside, mut outside) = (reduced, reduced);
    if !parts.alone() {
        outside.input = MPI_IN_PLACE;
        if parts.place() > 0 && reduced.is_in_place() {
            inside.input = reduced.output;
        }
        parts.near(call, 0);
        reduce_here(call, inside)?;
    }
    if parts.place() == 0 {
        parts.far(call);
        let ready = allreduce_by_messages(call, outside)?;
        call.carry_out(ready)?;
    }
    parts.near(call, 0);
    broadcast_here(call, reduced.at(reduced.output))?;
    Ok(true)
}

/// `MPI_Barrier`: nobody has the sum before everybody came.
pub(super) fn barrier(call: &mut Call<'_>) -> Result<bool, Stop> {
    let mut nothing = 0_u8;
    let reduced = Reduced {
        input: MPI_IN_PLACE,
        output: (&raw mut nothing).cast(),
        count: 1,
        datatype: MPI_BYTE,
        op: MPI_BOR,
    };
    allreduce(call, reduced)
}

/// `MPI_Allgather`, where every host's ranks follow each other.
pub(super) fn allgather(call: &mut Call<'_>, send: Buffer, receive: Buffer) -> Result<bool, Stop> {
    let parts = Parts::of(call)?;
    let mut ends = call.levels()?.map_or_else(Vec::new, Levels::ends);
    let (all, ranks) = (receive.blocks(call.stand.ranks)?, call.stand.ranks);
    let each = all.items() / ranks;
    let start = parts.own.0.checked_sub(1).map_or(0, |before| ends[before]);
    let offset = (start * each).wrapping_mul(all.shape().extent());
    ends.iter_mut().for_each(|end| *end *= each);
    let mut own = send;
    if !parts.alone() {
        parts.near(call, 0);
        let here = receive.address.wrapping_byte_add(offset);
        let receive = Buffer {
            address: here,
            ..receive
        };
        allgather_here(call, send, receive)?;
        own.address = MPI_IN_PLACE;
    }
    if parts.place() == 0 {
        parts.far(call);
        let ready = collect(call, own, all.cut(Cut::At(ends)))?;
        call.carry_out(ready)?;
    }
    parts.near(call, 0);
    let count = receive.count.saturating_mul(ranks as i64);
    broadcast_here(call, Buffer { count, ..receive })?;
    Ok(true)
}
