//! What the calls of all topologies share: access to a communicator's topology, and new communicators with one.

use super::kinds::Topology;
use crate::comm::create;
use crate::constants::*;
use crate::error::{Class, Error};
use crate::runtime::world::{self, CommError};
use alloc::rc::Rc;
use core::ffi::c_int;

/// Returns the kind of a communicator's topology, as `MPI_Topo_test`.
pub fn kind(comm: Comm) -> Result<c_int, CommError> {
    world::local(|objects| {
        Ok(match objects.comms.get(comm)?.topology.as_deref() {
            None => MPI_UNDEFINED,
            Some(Topology::Cartesian(_)) => MPI_CART,
            Some(Topology::Graph(_)) => MPI_GRAPH,
            Some(Topology::DistGraph(_)) => MPI_DIST_GRAPH,
        })
    })
}

/// Calls a function with a communicator's topology, and this rank.
pub(super) fn with<R>(
    comm: Comm,
    call: impl FnOnce(&Topology, usize) -> Result<R, Error>,
) -> Result<R, CommError> {
    world::local(|objects| {
        let record = objects.comms.get(comm)?;
        let rank = record.rank;
        let topology = record.topology.as_deref();
        let result = topology.map_or(Err(NONE), |topology| call(topology, rank));
        result.map_err(CommError::on(comm))
    })
}

/// The error of a communicator without the topology that a call is about.
pub(super) const NONE: Error = Error::Argument {
    class: Class::Topology,
    name: "comm",
    must: "a communicator with the topology that this function is about",
};

/// Makes a communicator with a topology, of the ranks with the same colour.
pub(super) fn create(
    comm: Comm,
    colour: c_int,
    key: c_int,
    topology: Topology,
) -> Result<Comm, CommError> {
    let made = create::split(comm, colour, key)?;
    if made != Comm::NULL {
        world::local(|objects| {
            objects.comms.get(made)?.topology = Some(Rc::new(topology));
            Ok(())
        })?;
    }
    Ok(made)
}

/// Returns the colour of a rank in a topology of that many ranks, which has no place for the others.
pub(super) fn colour(rank: usize, ranks: usize) -> c_int {
    match rank < ranks {
        true => 0,
        false => MPI_UNDEFINED,
    }
}

/// Returns this rank and the number of ranks of a communicator.
pub(super) fn rank_and_size(comm: Comm) -> Result<(usize, usize), CommError> {
    world::local(|objects| {
        let record = objects.comms.get(comm)?;
        record.check_intra().map_err(CommError::on(comm))?;
        Ok((record.rank, record.size()))
    })
}
