//! Collective calls: check, choose an algorithm, let the kernel's schedules run over this world's point-to-point.
//! Source: MPI 5.0, chapter 6.
//!
//! Every call comes as a [`Collective`]: [`Collective::run`] is the blocking call, [`Collective::start`] the non-blocking
//! one. Blocking calls of ranks that share memory go over boards in it, without messages and without allocating; those
//! of ranks on several hosts do so inside each host, see `levels`.
//!
//! An operation over boards or over the network's own broadcast that fails on a rank, because another has ended or
//! brings another length, leaves that rank behind the others. Its next operations of that kind on the communicator then
//! fail with the error of the first, and not with one of their own; messages and other communicators go on.

mod boards;
mod buffers;
mod call;
#[cfg(feature = "hosts")]
mod cast;
#[cfg(not(feature = "hosts"))]
#[path = "no_cast.rs"]
mod cast;
mod choice;
mod exchange;
mod layout;
mod levels;
mod moves;
mod over_boards;
mod prepared;
mod reductions;
mod requests;
mod schedule;
mod scratch;
mod sides;

pub(crate) use boards::{enter, free_areas};
pub use buffers::{Buffer, Buffers, Numbers, Types};
pub use call::Collective;
pub(crate) use cast::open as open_casts;
pub(crate) use choice::Choices;
pub use choice::{Algorithm, Choice, Operation, Rule, TABLE};
pub use moves::{
    allgather, allgatherv, alltoall, alltoallv, barrier, broadcast, gather, gatherv, scatter,
    scatterv,
};
pub use reductions::{
    Reduced, allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan,
};
pub(crate) use requests::{Ongoing, is_request, peek, progress, test};
