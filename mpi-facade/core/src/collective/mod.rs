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

mod buffers;
mod data_movement;
mod flat_movement;
mod flat_reductions;
mod hierarchical;
mod host_roles;
mod layout;
#[cfg(feature = "hosts")]
mod multicast_bcast;
#[cfg(not(feature = "hosts"))]
#[path = "no_multicast.rs"]
mod multicast_bcast;
mod operation;
mod p2p_executor;
mod prepare;
mod reductions;
mod requests;
mod schedule;
mod scratch;
mod selection;
mod shared_memory;
mod shm_buffers;
mod shm_executor;

pub use buffers::{Buffer, Buffers, Numbers, Types};
pub use data_movement::{
    allgather, allgatherv, alltoall, alltoallv, barrier, broadcast, gather, gatherv, scatter,
    scatterv,
};
pub use flat_reductions::Reduced;
pub(crate) use multicast_bcast::{
    close_group, has_room as has_group_room, open as open_multicast, open_group,
};
pub use prepare::Collective;
pub use reductions::{allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan};
pub(crate) use selection::KINDS;
pub use selection::{Algorithm, Operation, Rule, Selection, TABLE};
pub(crate) use shared_memory::{areas, enter};
