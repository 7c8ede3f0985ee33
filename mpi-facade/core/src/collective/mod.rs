//! Collective calls: check, choose an algorithm, let the kernel's schedules run over this world's point-to-point.
//! Source: MPI 5.0, chapter 6.
//!
//! Every call comes as a [`Prepared`] operation: [`Prepared::run`] is the blocking call, [`Prepared::start`] the
//! non-blocking one. An operation that was prepared must be run or started: the other ranks count on it.

mod buffers;
mod call;
mod choice;
mod exchange;
mod layout;
mod moves;
mod prepared;
mod reductions;
mod requests;
mod schedule;
mod scratch;

pub use buffers::{Buffer, Buffers, Numbers, Types};
pub(crate) use choice::Choices;
pub use choice::{Algorithm, Choice, Operation, Rule, TABLE};
pub use moves::{
    allgather, allgatherv, alltoall, alltoallv, barrier, broadcast, gather, gatherv, scatter,
    scatterv,
};
pub use prepared::Prepared;
pub use reductions::{
    Reduced, allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan,
};
pub(crate) use requests::{Ongoing, is_request, progress, test};
