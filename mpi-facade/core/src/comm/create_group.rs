//! Communicators of the members of a group. Source: MPI 5.0, section 7.4.2.

use super::create::{Agreed, SPARES, agree, is_inter, make, split};
use crate::comm::{AGREEMENT, CommRecord};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::group::members;
use crate::runtime::phase;
use crate::runtime::world::{self, CommError};
use alloc::rc::Rc;
use core::ffi::c_int;
use pombo_kernel::Peer;

/// Makes a communicator of the group, as `MPI_Comm_create`. Other ranks may pass other groups, which share no member.
/// Returns `MPI_COMM_NULL` where this process is no member. On an intercommunicator the group is a part of the local
/// one, and the result is an intercommunicator with what the other group passes, or null if that is empty.
pub fn create(comm: Comm, group: Group) -> Result<Comm, CommError> {
    let Members {
        peers,
        handler,
        is_member,
    } = members_in(comm, group)?;
    if is_inter(comm)? {
        let own = Peer(phase::rank() as u16);
        let rank = peers.iter().position(|peer| *peer == own);
        return match rank {
            Some(rank) => split(comm, 0, rank as c_int),
            None => split(comm, MPI_UNDEFINED, 0),
        };
    }
    // Ranks of different groups exchange no messages, so one new context serves all groups.
    let agreed = agree(comm, SPARES)?;
    match is_member {
        true => world::with(|world| Ok(make(world, peers.to_vec(), handler, agreed))),
        false => Ok(Comm::NULL),
    }
}

/// Makes a communicator of the group, as `MPI_Comm_create_group`: only its members call. Returns `MPI_COMM_NULL` where
/// this process is none.
pub fn create_group(comm: Comm, group: Group, tag: c_int) -> Result<Comm, CommError> {
    let failure = CommError::on(comm);
    world::local(|objects| objects.comms.get(comm)?.check_intra().map_err(&failure))?;
    let tag = u32::try_from(tag).map_err(|_| {
        failure(Error::Tag {
            got: tag,
            largest: c_int::MAX,
        })
    })?;
    let Members {
        peers,
        handler,
        is_member,
    } = members_in(comm, group)?;
    if !is_member {
        return Ok(Comm::NULL);
    }
    let agreed = agree_among(peers.clone(), handler, tag)
        .map_err(|failure| CommError::new(failure.error, comm))?;
    world::with(|world| Ok(make(world, peers.to_vec(), handler, agreed)))
}

/// Agrees as [`agree`] does, among these peers alone, over a communicator that lives only meanwhile. Its context is the
/// same for all such agreements: messages between two ranks stay in order, and a rank is in one agreement at a time.
fn agree_among(peers: Rc<[Peer]>, handler: Errhandler, tag: u32) -> Result<Agreed, CommError> {
    let temporary = world::with(|world| {
        let (own, ranks) = (world.kernel.me(), world.kernel.peers());
        let mut record = CommRecord::new(AGREEMENT, own, peers.to_vec(), ranks, handler);
        // The tag becomes part of the tags of the agreement's messages.
        record.calls_by_kind.fill(tag);
        Ok(world.objects.comms.insert(record))
    })?;
    let agreed = agree(temporary, SPARES);
    world::local(|objects| Ok(objects.comms.free(temporary)?))?;
    agreed
}

/// The members of a group that is part of a communicator.
struct Members {
    peers: Rc<[Peer]>,
    /// The error handler of the communicator.
    handler: Errhandler,
    /// Whether this process is a member.
    is_member: bool,
}

/// Returns the group, all of whose members must be in the communicator.
fn members_in(comm: Comm, group: Group) -> Result<Members, CommError> {
    world::local(|objects| {
        objects.comms.get(comm)?;
        let peers = members(objects, group).map_err(CommError::on(comm))?;
        let record = objects.comms.get(comm)?;
        let is_in = |peer: &Peer| match record.is_inter() {
            false => record.rank_of(*peer) != MPI_UNDEFINED,
            true => record.group().contains(peer),
        };
        if !peers.iter().all(is_in) {
            let error = Error::Argument {
                class: Class::Group,
                name: "group",
                must: "a group whose members are all in the communicator (its local group if it has two)",
            };
            return Err(CommError::new(error, comm));
        }
        let own = record.group()[record.rank];
        Ok(Members {
            is_member: peers.contains(&own),
            handler: record.handler,
            peers,
        })
    })
}
