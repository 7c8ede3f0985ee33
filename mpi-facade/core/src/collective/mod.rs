//! Collective calls: check, choose an algorithm, let the kernel's schedules run over this world's point-to-point.
//! Source: MPI 5.0, chapter 6.
//!
//! Every call comes as a [`Collective`]: [`Collective::run`] is the blocking call, [`Collective::start`] the non-blocking
//! one. Blocking calls of ranks that share memory go over boards in it, without messages and without allocating; those
//! of ranks on several hosts do so inside each host, see `hierarchical`.
//!
//! A rank that gets another length than it expects goes on with the operation, as far as others count on it, and then
//! returns that error: the next operation finds all ranks together.
//!
//! A rank that loses another one during a broadcast over the network's own may be left behind: its next operations of
//! that kind on the communicator, of the same root, fail with the same error. Messages and other communicators go on.

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
mod flat_moves;
mod flat_reductions;
mod layout;
mod hierarchical;
mod moves;
mod over_boards;
mod parts;
mod prepared;
mod reductions;
mod requests;
mod schedule;
mod scratch;
mod sides;

pub(crate) use boards::{areas, enter};
pub use buffers::{Buffer, Buffers, Numbers, Types};
pub use call::Collective;
pub(crate) use cast::{MulticastBcast, open as open_multicast};
pub(crate) use choice::KINDS;
pub use choice::{Algorithm, Selection, Operation, Rule, TABLE};
pub use flat_reductions::Reduced;
pub use moves::{
    allgather, allgatherv, alltoall, alltoallv, barrier, broadcast, gather, gatherv, scatter,
    scatterv,
};
pub use reductions::{allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan};
