//! Receives and probes from `MPI_ANY_SOURCE` after ranks have ended: nothing says whether the sender of their message
//! is among those. Where errors are fatal, one ended rank of the communicator makes them fail. A program that handles
//! errors may continue without some ranks, so there they fail only when no other rank of the communicator is left.
//!
//! Collective operations after ranks of the communicator have ended: a rank that needs a message of an ended one fails
//! and leaves the operation, and the others would wait for the rank that left. So all unfinished operations fail.
//!
//! Calls that wait or test check this at intervals.

use crate::constants::*;
use crate::errhandler;
use crate::error::Error;
use crate::message_header::MpiPattern;
use crate::request::ticket;
use crate::runtime::world::{CommError, World};
use core::ffi::c_int;
use pombo_job::WorldChannel;
use pombo_kernel::{Pattern, Peer};
use pombo_netdrivers::tuning::{LOSS_CHECK_INTERVAL, SLEEPING_AFTER};

/// Returns whether a call that has polled `looks` times without success must check.
#[inline]
pub(crate) fn is_due(looks: u32) -> bool {
    looks >= SLEEPING_AFTER || looks % LOSS_CHECK_INTERVAL == LOSS_CHECK_INTERVAL - 1
}

/// Returns whether a call that polls once must check; it counts such calls.
#[inline]
pub(crate) fn is_due_once(world: &mut World) -> bool {
    let tested = &mut world.idle_counts.tested;
    *tested = (*tested + 1) % LOSS_CHECK_INTERVAL;
    *tested == 0
}

/// Fails those of the requests whose senders have all ended.
#[cold]
pub(crate) fn fail_orphaned(world: &mut World, requests: &[Request]) {
    for &request in requests {
        if let Some(ops) = world.request_ops(request) {
            (ops.recover_stalled)(world, request);
        }
    }
    for ticket in requests.iter().filter_map(|it| ticket(*it)) {
        if let Some(pattern) = world.kernel.pattern(ticket)
            && let Some((peer, _)) = dead_sender(world, pattern)
        {
            world.kernel.give_up(ticket, peer);
        }
    }
}

/// Returns a rank of the communicator at that index that has ended. A rank that ended after `MPI_Finalize` does not
/// count: it has completed all its operations with the others.
#[cold]
pub(crate) fn dead_member(world: &mut World, comm: usize) -> Option<Peer> {
    let World {
        kernel,
        objects,
        hosts,
        ..
    } = world;
    let mut peers = objects.comms.at(comm)?.members();
    peers.find(|&peer| kernel.is_gone(peer) && !kernel.channel_mut().has_finished(hosts, peer))
}

/// Checks a probe: fails if no sender is left for it.
#[cold]
pub(crate) fn check(world: &mut World, pattern: MpiPattern) -> Result<(), CommError> {
    match dead_sender(world, pattern) {
        None => Ok(()),
        Some((peer, comm)) => {
            let rank = c_int::from(peer.0);
            Err(CommError::on(comm)(Error::PeerLost { rank }))
        }
    }
}

/// Returns the ended rank that makes a receive with `pattern` fail, and its communicator.
fn dead_sender(world: &mut World, pattern: MpiPattern) -> Option<(Peer, Comm)> {
    let World {
        kernel, objects, ..
    } = world;
    if pattern.source().is_some() {
        return None;
    }
    let (comm, record) = objects.comms.of_context(pattern.context())?;
    let own = kernel.me();
    let mut others = record.peers.iter().filter(|peer| **peer != own);
    let gone = |peer: &&Peer| kernel.is_gone(**peer);
    let peer = others.clone().find(gone)?;
    let matters = errhandler::aborts(record.handler) || others.all(|peer| gone(&peer));
    matters.then_some((*peer, comm))
}
