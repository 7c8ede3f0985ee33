//! Calls on distributed graphs: a rank knows the edges that lead to it and from it. Source: MPI 5.0, sections 8.5.4 and
//! 8.5.5.

use super::arguments::wrong;
use super::calls::{NONE, create, rank_and_size, with};
use super::kinds::Topology;
pub use super::kinds::{DistGraph, Edges};
use crate::collective::{self, Buffer, Collective, Reduced};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::runtime::world::CommError;
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;

/// Makes a communicator with a distributed graph of which each rank names its own edges, as
/// `MPI_Dist_graph_create_adjacent`.
pub fn new_adjacent(comm: Comm, graph: DistGraph) -> Result<Comm, CommError> {
    let (_, size) = rank_and_size(comm)?;
    let DistGraph {
        mut incoming,
        mut outgoing,
    } = graph;
    let checked = incoming.check(size).and_then(|()| outgoing.check(size));
    checked.map_err(CommError::on(comm))?;
    let (to, from) = (incoming.are_weighted(), outgoing.are_weighted());
    if to.zip(from).is_some_and(|(to, from)| to != from) {
        let error = wrong(Class::Arg, "weights", "MPI_UNWEIGHTED for both or for none");
        return Err(CommError::new(error, comm));
    }
    let is_weighted = to.or(from).unwrap_or(incoming.weights.is_some());
    for edges in [&mut incoming, &mut outgoing] {
        edges.weights = match is_weighted {
            true => edges.weights.take().or(Some(Vec::new())),
            false => None,
        };
    }
    let graph = DistGraph { incoming, outgoing };
    create(comm, 0, 0, Topology::DistGraph(graph))
}

/// An edge of a distributed graph.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The rank that it leads from.
    pub source: c_int,
    /// The rank that it leads to.
    pub destination: c_int,
    /// Its weight.
    pub weight: c_int,
}

/// Makes a communicator with a distributed graph of which each rank names any edges, as `MPI_Dist_graph_create`. The
/// neighbours of a rank are in the order of the ranks that named the edges, and in the order in which each named them.
pub fn new(comm: Comm, edges: &[Edge], is_weighted: bool) -> Result<Comm, CommError> {
    let (rank, size) = rank_and_size(comm)?;
    check(edges, size).map_err(CommError::on(comm))?;
    // Every rank gets all edges, in blocks as long as the longest list; a source of -1 fills a block up.
    let mut longest = [edges.len() as u64];
    let largest = Reduced::in_place(&mut longest, MPI_UINT64_T, MPI_MAX);
    collective::allreduce(largest, comm).run()?;
    let [longest] = longest;
    let mut own = vec![[-1; 3]; longest as usize];
    for (place, edge) in own.iter_mut().zip(edges) {
        *place = [edge.source, edge.destination, edge.weight];
    }
    let mut all = vec![[-1; 3]; own.len() * size];
    if longest > 0 {
        let (send, receive) = (
            Buffer::of(&mut own, 1, MPI_INT),
            Buffer::of(&mut all, size, MPI_INT),
        );
        collective::allgather(send, receive, comm).run()?;
    }
    let here = |at: usize, other: usize| {
        let of_this_rank = all
            .iter()
            .filter(|edge| edge[at] == rank as c_int && edge[0] >= 0);
        let (ranks, weights) = of_this_rank.map(|edge| (edge[other], edge[2])).unzip();
        Edges {
            ranks,
            weights: Some(weights).filter(|_| is_weighted),
        }
    };
    let graph = DistGraph {
        incoming: here(1, 0),
        outgoing: here(0, 1),
    };
    create(comm, 0, 0, Topology::DistGraph(graph))
}

fn check(edges: &[Edge], size: usize) -> Result<(), Error> {
    let ranks = 0..size as c_int;
    let ends = edges
        .iter()
        .flat_map(|edge| [edge.source, edge.destination]);
    if let Some(got) = ends.into_iter().find(|end| !ranks.contains(end)) {
        let size = size as c_int;
        return Err(Error::Rank { got, size });
    }
    match edges.iter().all(|edge| edge.weight >= 0) {
        true => Ok(()),
        false => Err(wrong(Class::Arg, "weights", "not negative")),
    }
}

/// Returns the edges of this rank, as `MPI_Dist_graph_neighbors` and `MPI_Dist_graph_neighbors_count`.
pub fn get(comm: Comm) -> Result<DistGraph, CommError> {
    with(comm, |topology, _| match topology {
        Topology::DistGraph(graph) => Ok(graph.clone()),
        _ => Err(NONE),
    })
}
