//! Broadcast and reduce along a minimum spanning tree of measured latencies that adapts to their changes. Source: A.
//!
//! Every communicator has a tree of its own, built in its first such call by messages between neighbours; nobody knows
//! the whole graph. Every n-th call adapts it: `POMBO_ADAPTIVE_EVERY`, `POMBO_ADAPTIVE_THRESHOLD`. The calls of a
//! communicator are counted alike by all its ranks, so all adapt in the same call. Any rank may be the root: the parent
//! of a broadcast is the neighbour whose message comes, that of a reduction the last one whose message does not.
//!
//! The messages of the tree have a context of their own. They are answered in every call that waits: see [`tree`].
//!
//! A rank that has ended fails the call that needs it, at all ranks that wait in it, and every later one.

mod clock;
mod frames;
mod links;
mod tree;

use super::flat_movement::broadcast_along;
use super::flat_reductions::{Reduced, reduce_along};
use super::listed_tree::ListedTree;
use super::prepare::{Call, CallError};
use super::{Buffer, Operation};
use crate::any_source_failure;
use crate::error::Error;
use crate::explanation;
use crate::message_header::MpiPattern;
use crate::runtime::world::{CommError, World};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ffi::c_int;
use tree::{CommTree, Trees};

/// Runs `MPI_Bcast`.
pub(super) fn broadcast(call: &mut Call<'_>, buffer: Buffer<'_>) -> Result<bool, CallError> {
    let region = buffer.region(call.datatypes(), 1)?;
    let branches = enter(call)?;
    let parent = match call.position.is_root() {
        true => None,
        false => Some(sender(call)?),
    };
    let ready = broadcast_along(call, region, below(branches, parent))?;
    call.run_part(ready)?;
    Ok(true)
}

/// Runs `MPI_Reduce` of an operation that commutes.
pub(super) fn reduce(call: &mut Call<'_>, reduced: Reduced<'_>) -> Result<bool, CallError> {
    let branches = enter(call)?;
    let parent = match call.position.is_root() {
        true => None,
        false => Some(last_to_send(call, &branches)?),
    };
    let ready = reduce_along(call, reduced, below(branches, parent))?;
    call.run_part(ready)?;
    Ok(true)
}

/// Returns the tree of a rank with these neighbours.
fn below(mut branches: Vec<usize>, parent: Option<usize>) -> ListedTree {
    branches.retain(|&rank| Some(rank) != parent);
    ListedTree {
        parent,
        children: Rc::from(branches),
    }
}

/// Takes part in the tree of a call that this rank has refused: its later calls then serve the others, which wait for the
/// tree.
#[cold]
pub(super) fn join_refused(call: &mut Call<'_>, kind: Operation) {
    if matches!(call.is_adaptive(kind), Ok(true)) {
        // An error leaves the call refused, as it is.
        let _ = join(call);
    }
}

/// Makes the tree, and has this call counted by it; returns the tree's context.
fn join(call: &mut Call<'_>) -> Result<u32, Error> {
    let record = call.record()?;
    let (context, own, peers) = (record.context, record.rank, record.peers.clone());
    let calls =
        [Operation::Bcast, Operation::Reduce].map(|kind| record.calls_by_kind[kind as usize]);
    let calls = calls.into_iter().map(u64::from).sum();
    let objects = &mut call.world.objects;
    let trees: &mut Trees = objects.extensions.get();
    let first = trees.is_empty();
    let make = || CommTree::new(context, own, &peers, calls, &objects.environment);
    let tree = trees.of(context, make);
    tree.begin_call(calls);
    if first {
        call.world.register(tree::progress);
    }
    Ok(context)
}

/// Builds or adapts the tree, where this call is to; returns the ranks of this one's neighbours in it.
fn enter(call: &mut Call<'_>) -> Result<Vec<usize>, CallError> {
    let context = join(call)?;
    let mut branches = None;
    wait(call, &mut |world| {
        let trees: &mut Trees = world.objects.extensions.get();
        branches = trees.get(context).map_or(Ok(None), CommTree::branches)?;
        Ok(branches.is_some())
    })?;
    Ok(branches.unwrap_or_default())
}

/// Returns the rank whose message of this call is the first.
fn sender(call: &mut Call<'_>) -> Result<usize, CallError> {
    let pattern = pattern(call, None)?;
    let mut from = None;
    wait(call, &mut |world| {
        from = world.kernel.probe(pattern)?.map(|envelope| envelope.peer());
        Ok(from.is_some())
    })?;
    let record = call.record()?;
    let rank = from.map_or(0, |peer| record.rank_of(peer));
    Ok(usize::try_from(rank).unwrap_or(0))
}

/// Returns the only one of the branches whose message of this call has not come, when those of the others have.
fn last_to_send(call: &mut Call<'_>, branches: &[usize]) -> Result<usize, CallError> {
    let mut missing = Vec::new();
    for &rank in branches {
        missing.push((rank, pattern(call, Some(rank))?));
    }
    wait(call, &mut |world| {
        let mut place = 0;
        while missing.len() > 1
            && let Some(&(_, pattern)) = missing.get(place)
        {
            match world.kernel.probe(pattern)? {
                Some(_) => drop(missing.swap_remove(place)),
                None => place += 1,
            }
        }
        Ok(missing.len() < 2)
    })?;
    Ok(missing.first().map_or(0, |&(rank, _)| rank))
}

/// Returns the pattern of this call's messages, of that rank or of any.
fn pattern(call: &mut Call<'_>, from: Option<usize>) -> Result<MpiPattern, Error> {
    let tag = call.tag();
    let record = call.record()?;
    let peer = from.map(|rank| record.peer(rank as c_int)).transpose()?;
    Ok(MpiPattern::new(record.context * 2 + 1, peer, Some(tag)))
}

/// Waits until `over` returns true, or a rank of the communicator has ended.
fn wait(
    call: &mut Call<'_>,
    over: &mut dyn FnMut(&mut World) -> Result<bool, Error>,
) -> Result<(), CallError> {
    let (index, comm) = (call.index, call.comm);
    let context = call.record()?.context * 2;
    let idle = call.world.first_idle();
    let done = call.world.until_after(idle, |world| {
        let done = over(world).map_err(|error| CommError::new(error, comm))?;
        let idle = world.idle_counts.waiting;
        if !done && any_source_failure::is_due(idle) {
            if let Some(peer) = any_source_failure::dead_member(world, index) {
                let rank = c_int::from(peer.0);
                return Err(CommError::new(Error::PeerLost { rank }, comm));
            }
            explanation::attend(world, idle, |world| {
                explanation::add_collective(world, context);
            });
        }
        Ok(done.then_some(()))
    });
    done.map_err(CallError::Failed)
}
