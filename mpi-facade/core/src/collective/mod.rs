//! Collective calls: check, choose an algorithm, let the kernel's schedules run over this world's point-to-point.
//! Source: MPI 5.0, chapter 6.
//!
//! Every call comes as a [`Prepared`] operation: [`Prepared::run`] is the blocking call, [`Prepared::start`] the
//! non-blocking one. An operation that was prepared must be run or started: the other ranks count on it.

mod buffers;
mod calls;
mod choice;
mod exchange;
mod layout;
mod prepared;
mod requests;
mod schedule;
mod scratch;

pub use buffers::{Buffer, Buffers, Numbers, Types};
pub use calls::{
    Reduced, allgather, allgatherv, allreduce, alltoall, alltoallv, barrier, broadcast, exscan,
    gather, gatherv, reduce, reduce_scatter, reduce_scatter_block, scan, scatter, scatterv,
};
pub(crate) use choice::Choices;
pub use choice::{Algorithm, Choice, Operation, Rule, TABLE};
pub use prepared::Prepared;
pub(crate) use requests::{Ongoing, is_request, progress, test};
