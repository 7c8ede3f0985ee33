//! Calls on graphs of which every rank knows all edges. Source: MPI 5.0, sections 8.5.3, 8.5.5 and 8.5.8.

use super::arguments::known_rank;
use super::calls::{NONE, colour, create, rank_and_size, with};
pub use super::kinds::is_index;
use super::kinds::{Graph, Topology};
use crate::constants::*;
use crate::error::Error;
use crate::runtime::world::CommError;
use alloc::vec::Vec;
use core::ffi::c_int;

fn graph(topology: &Topology) -> Result<&Graph, Error> {
    match topology {
        Topology::Graph(graph) => Ok(graph),
        _ => Err(NONE),
    }
}

/// Makes a communicator with a graph, as `MPI_Graph_create`: null at ranks beyond the graph. `edges` has as many
/// elements as the last of `index` says.
pub fn new(comm: Comm, index: Vec<c_int>, edges: Vec<c_int>) -> Result<Comm, CommError> {
    let (rank, size) = rank_and_size(comm)?;
    let graph = Graph::new(index, edges, size).map_err(CommError::on(comm))?;
    let ranks = graph.index.len();
    create(comm, colour(rank, ranks), 0, Topology::Graph(graph))
}

/// Returns this rank's place in a graph that could be made, as `MPI_Graph_map`.
pub fn map(comm: Comm, index: Vec<c_int>, edges: Vec<c_int>) -> Result<c_int, CommError> {
    let (rank, size) = rank_and_size(comm)?;
    let graph = Graph::new(index, edges, size).map_err(CommError::on(comm))?;
    Ok(match rank < graph.index.len() {
        true => rank as c_int,
        false => MPI_UNDEFINED,
    })
}

/// Returns `index` and `edges`, as `MPI_Graph_get` and `MPI_Graphdims_get`.
pub fn get(comm: Comm) -> Result<(Vec<c_int>, Vec<c_int>), CommError> {
    with(comm, |topology, _| {
        let graph = graph(topology)?;
        Ok((graph.index.clone(), graph.edges.clone()))
    })
}

/// Returns the neighbours of a rank, as `MPI_Graph_neighbors`.
pub fn neighbours(comm: Comm, rank: c_int) -> Result<Vec<c_int>, CommError> {
    with(comm, |topology, _| {
        let graph = graph(topology)?;
        let rank = known_rank(rank, graph.index.len())?;
        Ok(graph.neighbours(rank).into())
    })
}
