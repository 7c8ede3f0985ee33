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
use crate::header::Wanted;
use crate::request::{is_of_engine, ticket};
use crate::world::{Fault, World};
use core::ffi::c_int;
use pombo_job::WorldChannel;
use pombo_kernel::{Node, Pattern};

/// Looks in vain between two looks who has gone.
const LOOKS: u32 = 256;
/// Looked in vain so often, a rank may sleep from one look to the next.
const CALM: u32 = 400;

/// Is a look due for who has looked so often in vain, one call long?
#[inline]
pub(crate) fn is_due(looks: u32) -> bool {
    looks >= CALM || looks % LOOKS == LOOKS - 1
}

/// The same for calls that look once, of which this is one.
#[inline]
pub(crate) fn is_due_once(world: &mut World) -> bool {
    let tested = &mut world.looks.tested;
    *tested = (*tested + 1) % LOOKS;
    *tested == 0
}

/// Ends those of the requests that nobody is left for.
#[cold]
pub(crate) fn end(world: &mut World, requests: &[Request]) {
    for &request in requests {
        if is_of_engine(request)
            && let Some(engine) = world.engine
        {
            (engine.forsake)(world, request);
        }
    }
    for ticket in requests.iter().filter_map(|it| ticket(*it)) {
        if let Some(wanted) = world.kernel.wanted(ticket)
            && let Some((node, _)) = missing(world, wanted)
        {
            world.kernel.give_up(ticket, node);
        }
    }
}

/// A rank that has ended, of the communicator at that place. One that has gone in good order has done its part: it has
/// met all others at its end.
#[cold]
pub(crate) fn ended(world: &mut World, comm: usize) -> Option<Node> {
    let World {
        kernel,
        comms,
        hosts,
        ..
    } = world;
    let mut nodes = comms.at(comm)?.nodes.iter().copied();
    nodes.find(|&node| kernel.is_gone(node) && !kernel.channel_mut().has_finished(hosts, node))
}

/// Of a probe: an error if nobody is left for it.
#[cold]
pub(crate) fn check(world: &mut World, wanted: Wanted) -> Result<(), Fault> {
    match missing(world, wanted) {
        None => Ok(()),
        Some((node, comm)) => {
            let rank = c_int::from(node.0);
            Err(Fault::on(comm)(Error::PeerLost { rank }))
        }
    }
}

/// Who has gone and may be missed by who wants this from anybody, and in which communicator.
fn missing(world: &mut World, wanted: Wanted) -> Option<(Node, Comm)> {
    let World { kernel, comms, .. } = world;
    if wanted.source().is_some() {
        return None;
    }
    let (comm, group) = comms.of_context(wanted.context())?;
    let own = kernel.node();
    let mut others = group.nodes.iter().filter(|node| **node != own);
    let gone = |node: &&Node| kernel.is_gone(**node);
    let node = others.clone().find(gone)?;
    let matters = group.handler != MPI_ERRORS_RETURN || others.all(|node| gone(&node));
    matters.then_some((*node, comm))
}
