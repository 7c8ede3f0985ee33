//! The topologies that a communicator can have, as data.

use super::arguments::wrong;
use super::grid::Cartesian;
use crate::error::{Class, Error};
use alloc::vec::Vec;
use core::ffi::c_int;

/// The topology of a communicator.
#[derive(Debug)]
pub(crate) enum Topology {
    /// A grid.
    Cartesian(Cartesian),
    /// A graph of which every rank knows all.
    Graph(Graph),
    /// A graph of which a rank knows its own edges.
    DistGraph(DistGraph),
}

/// A graph.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    /// For each rank, the number of edges of all ranks up to it.
    pub(super) index: Vec<c_int>,
    /// The neighbours of all ranks, one rank after the other.
    pub(super) edges: Vec<c_int>,
}

impl Graph {
    /// Checks a graph for a communicator of that many ranks.
    pub(super) fn new(index: Vec<c_int>, edges: Vec<c_int>, size: usize) -> Result<Self, Error> {
        if index.len() > size {
            return Err(wrong(
                Class::Arg,
                "nnodes",
                "at most the number of ranks of the communicator",
            ));
        }
        if !is_index(&index) {
            return Err(wrong(
                Class::Arg,
                "index",
                "non-negative and not decreasing",
            ));
        }
        let ranks = 0..index.len() as c_int;
        match edges.iter().find(|edge| !ranks.contains(edge)) {
            None => Ok(Graph { index, edges }),
            Some(&got) => Err(Error::Rank {
                got,
                size: index.len() as c_int,
            }),
        }
    }

    pub(super) fn neighbours(&self, rank: usize) -> &[c_int] {
        let first = rank.checked_sub(1).map_or(0, |before| self.index[before]);
        &self.edges[first as usize..self.index[rank] as usize]
    }
}

/// Returns whether the numbers are those of a graph's `index`.
pub fn is_index(index: &[c_int]) -> bool {
    index.first().is_none_or(|&first| first >= 0) && index.is_sorted()
}

/// The edges of a rank.
#[derive(Clone, Default, Debug)]
pub struct DistGraph {
    /// The edges that lead to it.
    pub incoming: Edges,
    /// The edges that lead from it.
    pub outgoing: Edges,
}

/// The ranks at the other end of edges, and the weights of the edges.
#[derive(Clone, Debug)]
pub struct Edges {
    /// The ranks.
    pub ranks: Vec<c_int>,
    /// The weights; `None` in a graph without weights.
    pub weights: Option<Vec<c_int>>,
}

impl Default for Edges {
    fn default() -> Self {
        Edges {
            ranks: Vec::new(),
            weights: Some(Vec::new()),
        }
    }
}

impl Edges {
    pub(super) fn check(&self, size: usize) -> Result<(), Error> {
        let ranks = 0..size as c_int;
        if let Some(&got) = self.ranks.iter().find(|rank| !ranks.contains(rank)) {
            let size = size as c_int;
            return Err(Error::Rank { got, size });
        }
        match self.weights.iter().flatten().all(|&weight| weight >= 0) {
            true => Ok(()),
            false => Err(wrong(Class::Arg, "weights", "not negative")),
        }
    }

    /// Returns whether the edges have weights; `None` if there are none.
    pub(super) fn are_weighted(&self) -> Option<bool> {
        (!self.ranks.is_empty()).then_some(self.weights.is_some())
    }
}

impl DistGraph {
    /// Returns whether the graph has weights.
    pub fn is_weighted(&self) -> bool {
        self.incoming.weights.is_some()
    }
}

/// The neighbours of a rank, with which it exchanges messages.
pub(crate) struct Neighbours {
    /// The ranks that it receives from; `MPI_PROC_NULL` beyond the border of a grid.
    pub(crate) sources: Vec<c_int>,
    /// The ranks that it sends to.
    pub(crate) destinations: Vec<c_int>,
    /// Whether they are directions of a grid, in pairs of opposite ones.
    pub(crate) are_directions: bool,
}

impl Topology {
    /// Returns the neighbours of a rank.
    pub(crate) fn neighbours(&self, rank: usize) -> Neighbours {
        let (sources, destinations) = match self {
            Topology::Cartesian(grid) => (grid.neighbours(rank), grid.neighbours(rank)),
            Topology::Graph(graph) => (
                graph.neighbours(rank).to_vec(),
                graph.neighbours(rank).to_vec(),
            ),
            Topology::DistGraph(graph) => {
                (graph.incoming.ranks.clone(), graph.outgoing.ranks.clone())
            }
        };
        Neighbours {
            sources,
            destinations,
            are_directions: matches!(self, Topology::Cartesian(_)),
        }
    }
}
