//! Collective calls: they check their arguments, select an algorithm, and run the kernel's schedules over this world's
//! point-to-point messages. Source: MPI 5.0, chapter 6.
//!
//! Every call is a [`Collective`]: [`Collective::run`] is the blocking call, [`Collective::start`] the non-blocking
//! one. Blocking calls of ranks that share memory use it without messages and without allocation; those of ranks on
//! several hosts do so inside each host, see `hierarchical`. Calls on intercommunicators go by messages, see
//! `intercommunicator`.
//!
//! A rank that receives another length than it expects continues the operation as far as other ranks depend on it, and
//! then returns that error: all ranks take part in the next operation.
//!
//! A rank that loses a peer during a multicast broadcast may miss its data: its next multicast broadcasts on the
//! communicator from the same root fail with the same error. Messages and other communicators are not affected.

mod adaptive;
pub(crate) mod algorithm;
mod buffers;
mod data_movement;
mod direct;
mod flat_movement;
mod flat_reductions;
mod hierarchical;
mod host_roles;
mod intercommunicator;
mod layout;
mod listed_tree;
pub(crate) mod message_times;
#[cfg(feature = "hosts")]
mod multicast_bcast;
#[cfg(not(feature = "hosts"))]
#[path = "no_multicast.rs"]
mod multicast_bcast;
mod neighbourhood;
mod operation;
mod other_rank;
mod p2p_executor;
mod predicted;
mod prepare;
mod reductions;
mod requests;
mod schedule;
mod scratch;
mod segmentation;
mod selection;
mod shared_memory;
mod shm_buffers;
mod shm_executor;
mod tree_form;

pub use algorithm::{Algorithm, Operation, Rule, Selection, TABLE};
pub use buffers::{Buffer, Buffers, Numbers, Types};
pub use data_movement::{
    allgather, allgatherv, alltoall, alltoallv, barrier, broadcast, gather, gatherv, scatter,
    scatterv,
};
pub use flat_reductions::Reduced;
pub(crate) use intercommunicator::{allgather_both, allreduce_both};
pub(crate) use listed_tree::parse_sites;
pub use message_times::MessageTimes;
pub(crate) use multicast_bcast::{
    close_group, enter as enter_multicast, has_room as has_group_room, open_group,
};
pub use neighbourhood::{
    neighbour_allgather, neighbour_allgatherv, neighbour_alltoall, neighbour_alltoallv,
};
pub use prepare::Collective;
pub use reductions::{allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan};
#[cfg(any(feature = "diagnostics", test))]
pub(crate) use selection::BUILT_IN_TIMES;
pub use selection::{Conditions, Decision, Reason, Selector};
pub(crate) use shared_memory::{areas, enter};
