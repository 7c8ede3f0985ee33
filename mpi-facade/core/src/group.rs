//! Groups: each is an ordered list of peers, which a program makes and frees. Source: MPI 5.0, section 7.3.

mod sets;

pub(crate) use sets::similarity;
pub use sets::{
    compare, difference, exclude, exclude_ranges, include, include_ranges, intersection, union,
};

use crate::constants::*;
use crate::error::{Error, Kind};
use crate::handle_table::HandleTable;
use crate::objects::Objects;
use crate::runtime::phase;
use crate::runtime::world::{self, CommError};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ffi::c_int;
use pombo_kernel::Peer;

/// The groups of this process.
#[derive(Default)]
struct Groups(HandleTable<Rc<[Peer]>>);

/// Returns the members of a group, in the order of their ranks.
pub(crate) fn members(objects: &mut Objects, group: Group) -> Result<Rc<[Peer]>, Error> {
    if group == MPI_GROUP_EMPTY {
        return Ok(Rc::new([]));
    }
    let groups = &objects.extensions.get::<Groups>().0;
    groups.get(group.0).cloned().ok_or(Error::Handle {
        kind: Kind::Group,
        got: group.0,
    })
}

/// Adds a group. One without members is `MPI_GROUP_EMPTY`.
pub(crate) fn insert(objects: &mut Objects, members: Rc<[Peer]>) -> Group {
    match members.is_empty() {
        true => MPI_GROUP_EMPTY,
        false => Group(objects.extensions.get::<Groups>().0.insert(members)),
    }
}

/// Returns the group of a communicator, as `MPI_Comm_group`.
pub fn of_comm(comm: Comm) -> Result<Group, CommError> {
    world::local(|objects| {
        let peers = objects.comms.get(comm)?.group().clone();
        Ok(insert(objects, peers))
    })
}

/// Returns the remote group of an intercommunicator, as `MPI_Comm_remote_group`.
pub fn of_remote(comm: Comm) -> Result<Group, CommError> {
    world::local(|objects| {
        let record = objects.comms.get(comm)?;
        record.check_inter().map_err(CommError::on(comm))?;
        let peers = record.peers.clone();
        Ok(insert(objects, peers))
    })
}

/// Returns the number of members, as `MPI_Group_size`.
pub fn size(group: Group) -> Result<c_int, CommError> {
    world::local(|objects| Ok(members(objects, group)?.len() as c_int))
}

/// Returns this process's rank, as `MPI_Group_rank`; `MPI_UNDEFINED` if it is not a member.
pub fn rank(group: Group) -> Result<c_int, CommError> {
    world::local(|objects| {
        let own = Peer(phase::rank() as u16);
        Ok(rank_in(&members(objects, group)?, own))
    })
}

/// Returns the ranks in another group of members of a group, as `MPI_Group_translate_ranks`.
pub fn translate_ranks(
    group: Group,
    ranks: &[c_int],
    other: Group,
) -> Result<Vec<c_int>, CommError> {
    world::local(|objects| {
        let (from, into) = (members(objects, group)?, members(objects, other)?);
        let translated = ranks.iter().map(|&rank| match rank {
            MPI_PROC_NULL => Ok(MPI_PROC_NULL),
            rank => Ok(rank_in(&into, member(&from, rank)?)),
        });
        translated.collect()
    })
}

/// Frees a group, as `MPI_Group_free`. `MPI_GROUP_EMPTY` stays, as other calls return it too.
pub fn free(group: Group) -> Result<(), CommError> {
    world::local(|objects| {
        members(objects, group)?;
        objects.extensions.get::<Groups>().0.remove(group.0);
        Ok(())
    })
}

/// Returns the rank of a peer; `MPI_UNDEFINED` if it is not a member.
fn rank_in(members: &[Peer], peer: Peer) -> c_int {
    let rank = members.iter().position(|it| *it == peer);
    rank.map_or(MPI_UNDEFINED, |rank| rank as c_int)
}

/// Returns the member with a rank.
fn member(members: &[Peer], rank: c_int) -> Result<Peer, Error> {
    let found = usize::try_from(rank)
        .ok()
        .and_then(|rank| members.get(rank).copied());
    found.ok_or(Error::GroupRank {
        got: rank,
        size: members.len() as c_int,
    })
}
