//! Topologies of communicators: grids, graphs and distributed graphs. Source: MPI 5.0, chapter 8.
//!
//! A new communicator with a topology has the ranks of the old one in their order: no call reorders them.

mod arguments;
mod calls;
pub mod cartesian;
pub mod dims;
pub mod dist_graph;
pub mod graph;
mod grid;
pub(crate) mod kinds;

pub use calls::kind;
