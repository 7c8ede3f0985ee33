//! Collective operations as topology x direction x functions. Source: the EPOS thesis, section 4.4.
//!
//! An operation is an iterator of [`Step`]s, one rank's part, made from a [`topology`]. It knows neither a protocol nor
//! memory: a [`Functions`] object carries the steps out, over a communicator ([`Call`]), over MPI or over anything else
//! that sends and receives. [`Running`] drives it without ever blocking: poll it to the end, or keep it and poll it now
//! and then. Nothing is allocated and nothing is stored but the place in the iterator. What an operation costs is for
//! [`model`] to say. Only [`Call`] and the memory that it lends ([`Cells`]) know the kernel.
//!
//! ```
//! use pombo_collective::{Blocks, Call, Cells, Combining, Parts, Protocol, Shared, allreduce};
//! use pombo_collective::topology::{Ring, Topology};
//! use pombo_kernel::{Communicator, Error, Header, Node, Pattern};
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
//!     fn matches(&self, from: Node, arrived: &Number) -> bool {
//!         self.0 == arrived.0 && self.source() == Some(from)
//!     }
//!     fn source(&self) -> Option<Node> {
//!         Some(Node(self.1.into()))
//!     }
//! }
//!
//! impl Protocol<Number> for Number {
//!     fn header(&self) -> Number {
//!         *self
//!     }
//!     fn pattern(&self, from: Node) -> Number {
//!         Number(self.0, from.0 as u8)
//!     }
//! }
//!
//! # fn main() -> Result<(), Error> {
//! let ring = Ring::new(3);
//! let mut data = [[1_u32, 0, 0], [2, 0, 0], [3, 0, 0]];
//! let mut ranks = Vec::new();
//! for (rank, (channel, data)) in Loopback::world(3).into_iter().zip(&mut data).enumerate() {
//!     let [input, work, incoming] = data.each_mut().map(|value| Blocks::one(Cells::of(core::slice::from_mut(value))));
//!     let parts = Parts { input, work, incoming, ..Parts::NONE };
//!     let steps = allreduce(ring.tree(rank, 0), 1);
//!     let sum = Combining::by(|left: u32, right: u32| left + right);
//!     let comm = Communicator::<Number, _, Shared<'_>>::new(channel)?;
//!     ranks.push((comm, Call::new(steps, Number(1, 0), parts, sum)));
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
//! | broadcast | [`broadcast`]: tree straight, in segments | [`broadcast_scattered`] |
//! | gather | [`gather`]: line reverse | [`gather_tree`] |
//! | scatter | [`scatter`]: line straight | [`scatter_tree`] |
//! | all-gather | [`allgather`]: circle, both directions | [`allgather_doubling`], [`allgather_turns`], [`allgather_fan`] |
//! | all-to-all | [`alltoall`]: turns of the circle, both directions | [`alltoall_bruck`] |
//! | reduce | [`reduce`]: tree reverse | [`reduce_line`]: in order on every topology |
//! | all-reduce | [`allreduce`]: reduce, then broadcast | [`allreduce_doubling`], [`allreduce_halving`], [`allreduce_circle`] |
//! | reduce-scatter | [`reduce_scatter`]: reduce, then scatter | [`reduce_scatter_circle`] |
//! | scan | [`scan`], [`exscan`]: from rank to rank | [`scan_doubling`], [`exscan_doubling`] |
//!
//! Where ranks share memory they need not hand anything on: [`barrier_boards`], [`broadcast_boards`], [`reduce_boards`],
//! [`reduce_shares`], [`allreduce_boards`], [`allgather_boards`] and [`alltoall_boards`] are for functions over boards, on
//! which each publishes for all; what their steps mean there, and which buffers they use, they say themselves.
//!
//! # Buffers
//!
//! The steps name [`Piece`]s of four buffers; how large block i of a buffer is, and where it lies, only the functions
//! know. `Input` is the rank's contribution and only read. `Output` is its result. `Work` and `Incoming` are
//! temporary: `Work` holds what a rank has so far and may be the same memory as the output where the table says
//! "output"; `Incoming` takes what is to be combined. `Input` may be `Output` (a call in place) where the table says
//! so. A buffer that the table does not mention is not used.
//!
//! | operation | input | output | work | incoming | in place |
//! | --- | --- | --- | --- | --- | --- |
//! | barriers | | | | | |
//! | broadcast | | segments, everywhere | | | |
//! | broadcast scattered | | n blocks, everywhere | | | |
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
//! All ranks pass the same numbers of blocks. Where a piece has several blocks both sides name the same ones, so
//! functions whose blocks do not lie together may send one message for each.
//!
//! # Bounds
//!
//! A rank needs room for [`WIDTH`] messages under way; functions that have no room say so and are asked again after
//! some progress. With more room a line sends and receives to all partners at once.

#![no_std]
#![forbid(unsafe_code)]

mod barrier;
mod blocks;
mod boards;
mod cells;
mod distributor;
mod doubling;
mod fan;
mod halving;
pub mod model;
mod operator;
mod over;
mod reduce;
mod running;
mod scan;
mod segments;
mod step;
pub mod topology;
mod tree;
mod turns;

pub use barrier::{barrier, barrier_dissemination, barrier_tree};
pub use blocks::{Blocks, Cut, Parts};
pub use boards::{
    allgather_boards, allreduce_boards, alltoall_boards, barrier_boards, broadcast_boards,
    reduce_boards, reduce_shares,
};
pub use cells::{Cells, Shared};
pub use distributor::Distributor;
pub use doubling::{allgather_doubling, allreduce_doubling, alltoall_bruck};
pub use fan::{allgather_fan, gather, gather_tree, scatter, scatter_tree};
pub use halving::allreduce_halving;
pub use operator::{Combining, NoOperator, Operator};
pub use over::{Call, Protocol, UNDER_WAY};
pub use reduce::{allreduce, reduce, reduce_line, reduce_scatter};
pub use running::{Functions, Running};
pub use scan::{exscan, exscan_doubling, scan, scan_doubling};
pub use segments::Segments;
pub use step::{Buffer, Piece, Step};
pub use tree::{broadcast, broadcast_scattered};
pub use turns::{allgather, allgather_turns, allreduce_circle, alltoall, reduce_scatter_circle};

/// Messages that a rank must be able to have under way for every operation to get on.
pub const WIDTH: usize = 4;
