//! Receives and probes from `MPI_ANY_SOURCE` where ranks have ended: no name says whether their message can still come.
//! Where errors are fatal, a rank of the communicator that has ended is one. A program that handles errors may do without
//! some ranks, so there it is an error when no other rank of the communicator is left.
//!
//! Collective operations where ranks of the communicator have ended: whoever would have talked to one of those fails at
//! once and leaves, and others would wait for who has left. So all of them fail that are not over.
//!
//! Whoever waits or tests asks here, now and then.

use crate::constants::*;
use crate::error::Error;
use crate::message_header::MpiPattern;
use crate::request::{has_request_ops, ticket};
use crate::runtime::world::{CommError, World};
use core::ffi::c_int;
use pombo_job::WorldChannel;
use pombo_kernel::{Pattern, Peer};
use pombo_netdrivers::wait::constants::{LOSS_CHECK_INTERVAL, SLEEPING_AFTER};

/// Is a look due for who has looked so often in vain, one call long?
#[inline]
pub(crate) fn is_due(looks: u32) -> bool {
    looks >= SLEEPING_AFTER || looks % LOSS_CHECK_INTERVAL == LOSS_CHECK_INTERVAL - 1
}

/// The same for calls that look once, of which this is one.
#[inline]
pub(crate) fn is_due_once(world: &mut World) -> bool {
    let tested = &mut world.idle_counts.tested;
    *tested = (*tested + 1) % LOSS_CHECK_INTERVAL;
    *tested == 0
}

/// Ends those of the requests that nobody is left for.
#[cold]
pub(crate) fn fail_orphaned(world: &mut World, requests: &[Request]) {
    for &request in requests {
        if has_request_ops(request)
            && let Some(ops) = world.request_ops
        {
            (ops.fail_if_peer_lost)(world, request);
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

/// A rank that has ended, of the communicator at that place. One that has gone in good order has done its part: it has
/// met all others at its end.
#[cold]
pub(crate) fn dead_member(world: &mut World, comm: usize) -> Option<Peer> {
    let World {
        kernel,
        comms,
        hosts,
        ..
    } = world;
    let mut peers = comms.at(comm)?.peers.iter().copied();
    peers.find(|&peer| kernel.is_gone(peer) && !kernel.channel_mut().has_finished(hosts, peer))
}

/// Of a probe: an error if nobody is left for it.
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

/// Who has gone and may be missed by who wants this from anybody, and in which communicator.
fn dead_sender(world: &mut World, pattern: MpiPattern) -> Option<(Peer, Comm)> {
    let World { kernel, comms, .. } = world;
    if pattern.source().is_some() {
        return None;
    }
    let (comm, record) = comms.of_context(pattern.context())?;
    let own = kernel.me();
    let mut others = record.peers.iter().filter(|peer| **peer != own);
    let gone = |peer: &&Peer| kernel.is_gone(**peer);
    let peer = others.clone().find(gone)?;
    let matters = record.handler != MPI_ERRORS_RETURN || others.all(|peer| gone(&peer));
    matters.then_some((*peer, comm))
}
