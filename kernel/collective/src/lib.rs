//! Collective operations as topology x direction x functions. Source: the EPOS thesis, section 4.4.
//!
//! An operation is an iterator of [`Step`]s, one rank's part, made from a [`topology`]. It knows neither a protocol nor
//! memory: an [`Executor`] carries the steps out, over a communicator ([`CommCall`]), over MPI or over anything else
//! that sends and receives. [`Execution`] drives the steps without blocking: a caller polls it until it is complete, or
//! keeps it and polls it now and then. An operation allocates nothing and stores only its position in the iterator.
//! [`model`] estimates its cost; [`adaptive`] makes a tree of the links that are fast at present. Only [`CommCall`] and
//! the memory that it lends ([`SharedBytes`]) depend on the kernel.
//!
//! ```
//! use pombo_collective::{Blocks, CommCall, SharedBytes, Combining, OperationBuffers, Protocol, SharedMemory, allreduce};
//! use pombo_collective::topology::{Ring, Topology};
//! use pombo_kernel::{Communicator, Error, Header, Peer, Pattern};
//! use pombo_netdrivers::Loopback;
//! use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
//!
//! /// The number of an operation, and whom a receive wants it from.
//! #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
//! #[repr(C)]
//! struct Number(u8, u8);
//!
//! impl Header for Number {
//!     const NAME: &str = "Number";
//!     type Pattern = Number;
//! }
//!
//! impl Pattern<Number> for Number {
//!     fn matches(&self, from: Peer, arrived: &Number) -> bool {
//!         self.0 == arrived.0 && self.source() == Some(from)
//!     }
//!     fn source(&self) -> Option<Peer> {
//!         Some(Peer(self.1.into()))
//!     }
//! }
//!
//! impl Protocol<Number> for Number {
//!     fn header(&self) -> Number {
//!         *self
//!     }
//!     fn pattern(&self, from: Peer) -> Number {
//!         Number(self.0, from.0 as u8)
//!     }
//! }
//!
//! # fn main() -> Result<(), Error> {
//! let ring = Ring::new(3);
//! let mut data = [[1_u32, 0, 0], [2, 0, 0], [3, 0, 0]];
//! let mut ranks = Vec::new();
//! for (rank, (channel, data)) in Loopback::world(3).into_iter().zip(&mut data).enumerate() {
//!     let [input, work, incoming] = data.each_mut().map(|value| Blocks::one(SharedBytes::of(core::slice::from_mut(value))));
//!     let parts = OperationBuffers { input, work, incoming, ..OperationBuffers::NONE };
//!     let steps = allreduce(ring.tree(rank, 0), 1);
//!     let sum = Combining::by(|left: u32, right: u32| left + right);
//!     let comm = Communicator::<Number, _, SharedMemory<'_>>::new(channel)?;
//!     ranks.push((comm, CommCall::new(steps, Number(1, 0), parts, sum)));
//! }
//! while !ranks.iter_mut().try_fold(true, |over, (comm, call)| Ok::<_, Error>(call.poll(comm)? && over))? {}
//! drop(ranks);
//! assert_eq!(data.map(|[_, sum, _]| sum), [6; 3]);
//! # Ok(())
//! # }
//! ```
//!
//! | operation | the paper's form | others |
//! | --- | --- | --- |
//! | barrier | [`barrier`]: line reverse, then tree straight | [`barrier_tree`], [`barrier_dissemination`] |
//! | broadcast | [`broadcast`]: tree straight, in segments | [`broadcast_in_turn`], [`broadcast_scatter_allgather`] |
//! | gather | [`gather`]: line reverse | [`gather_tree`] |
//! | scatter | [`scatter`]: line straight | [`scatter_tree`] |
//! | all-gather | [`allgather`]: circle, both directions | [`allgather_recursive_doubling`], [`allgather_spread_out`], [`allgather_linear`] |
//! | all-to-all | [`alltoall`]: pairwise on the circle, both directions | [`alltoall_bruck`] |
//! | reduce | [`reduce`]: tree reverse | [`reduce_line`]: in order on every topology; [`reduce_pair`]: of two ranks |
//! | all-reduce | [`allreduce`]: reduce, then broadcast | [`allreduce_recursive_doubling`], [`allreduce_rabenseifner`], [`allreduce_ring`] |
//! | reduce-scatter | [`reduce_scatter`]: reduce, then scatter | [`reduce_scatter_ring`] |
//! | scan | [`scan`], [`exscan`]: from rank to rank | [`scan_recursive_doubling`], [`exscan_recursive_doubling`] |
//!
//! Ranks that share memory need not forward data: [`barrier_shm`], [`broadcast_shm`], [`reduce_shm`],
//! [`reduce_scatter_gather_shm`], [`allreduce_shm`], [`allreduce_pair_shm`], [`allgather_shm`] and [`alltoall_shm`] are
//! for executors over boards, on which each rank publishes for all others. Module `shared_memory` documents what the steps mean there;
//! each function documents the buffers that it uses.
//!
//! # Buffers
//!
//! The steps name [`Piece`]s of four buffers; only the executor knows the size and the position of block i of a buffer.
//! `Input` is the rank's contribution and only read. `Output` is its result. `Work` and `Incoming` are temporary:
//! `Work` holds what a rank has so far and may be the same memory as the output where the table says "output";
//! `Incoming` receives what is to be combined. `Input` may be `Output` (a call in place) where the table says so. An
//! operation does not use a buffer that the table leaves empty.
//!
//! | operation | input | output | work | incoming | in place |
//! | --- | --- | --- | --- | --- | --- |
//! | barriers | | | | | |
//! | broadcast | | segments, everywhere | | | |
//! | broadcast by scatter and all-gather | | n blocks, everywhere | | | |
//! | gather, gather by tree | 1 | n at the root | n (tree; output at the root) | | block of the root |
//! | scatter, scatter by tree | n at the root | 1 | n (tree, not at the root) | | block of the root |
//! | all-gather | 1 | n | | | own block |
//! | all-to-all | n | n | n (Bruck) | n (Bruck) | |
//! | reduce | segments | | segments (output at the root) | segments | at the root |
//! | all-reduce | blocks | | blocks (output) | blocks | yes |
//! | reduce-scatter | n | 1 | n | n | yes |
//! | scan | 1 | | 1 (output) | 1 | yes |
//! | exscan | 1 | 1 | 1 | 1 | yes |
//!
//! All ranks pass the same numbers of blocks. Where a piece has several blocks, both sides name the same blocks, so an
//! executor whose blocks are not contiguous may send one message for each.
//!
//! # Bounds
//!
//! A rank needs room for [`WIDTH`] messages under way; an executor without room reports so and gets the same step again
//! after some progress. With more room, a line sends to and receives from all partners at once.

#![no_std]
#![forbid(unsafe_code)]

pub mod adaptive;
mod barrier;
mod blocks;
mod comm_executor;
mod execution;
mod gather_scatter;
mod lendable_bytes;
pub mod model;
mod operator;
mod rabenseifner;
mod recursive_doubling;
mod reduce;
mod ring_algorithms;
mod scan;
mod segments;
mod shared_memory;
mod slice_assignment;
mod step;
pub mod topology;
mod tree;

pub use barrier::{barrier, barrier_dissemination, barrier_tree};
pub use blocks::{Blocks, Cut, OperationBuffers};
pub use comm_executor::{CommCall, Protocol, UNDER_WAY};
pub use execution::{Execution, Executor};
pub use gather_scatter::{allgather_linear, gather, gather_tree, scatter, scatter_tree};
pub use lendable_bytes::{SharedBytes, SharedMemory};
pub use operator::{Combining, NoOperator, Operator};
pub use rabenseifner::allreduce_rabenseifner;
pub use recursive_doubling::{
    allgather_recursive_doubling, allreduce_recursive_doubling, alltoall_bruck,
};
pub use reduce::{allreduce, reduce, reduce_line, reduce_pair, reduce_scatter};
pub use ring_algorithms::{
    allgather, allgather_spread_out, allreduce_ring, alltoall, reduce_scatter_ring,
};
pub use scan::{exscan, exscan_recursive_doubling, scan, scan_recursive_doubling};
pub use segments::Segments;
pub use shared_memory::{
    SumPlace, allgather_shm, allreduce_pair_shm, allreduce_shm, alltoall_parts, alltoall_shm,
    barrier_shm, broadcast_shm, reduce_scatter_gather_shm, reduce_shm,
};
pub use slice_assignment::Distributor;
pub use step::{Buffer, Piece, Step};
pub use tree::{broadcast, broadcast_in_turn, broadcast_scatter_allgather};

/// Number of messages that a rank must be able to have under way so that every operation makes progress.
pub const WIDTH: usize = 4;
