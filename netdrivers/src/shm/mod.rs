//! Ranks as processes of one Linux machine, over one anonymous memory file. `no_std` with an allocator.
//!
//! A launcher makes a [`Segment`], passes its descriptor to the ranks, and marks those dead whose processes end. A rank
//! opens the segment and attaches: an [`Shm`] is its channel. Ranks that something else started find each other by [`bootstrap()`].
//!
//! A frame is copied into a ring by its sender and read there by its receiver, without locks and, while both are
//! awake, without system calls. There is a ring for each ordered pair of ranks: 64 KiB, of which memory is used as far
//! as frames have filled it; a sender that finds it full is told so. A long message streams through it in frames of up
//! to [`FRAME_LIMIT`] bytes, the receiver copying out while the sender copies in.
//!
//! Or its receiver reads it from the sender's memory at once: the frame only describes it ([`SingleCopy`]).
//!
//! Who finds nothing looks again, then yields, then sleeps until a frame, room or a loss wakes it. How soon depends on
//! whether the processors that the ranks may use, by affinity and by the quota of their control group, are fewer than
//! the ranks, and on whether a yield gets the processor back soon: beside other load it does not. Ranks
//! that bootstrapped themselves look every half second whether the others' processes still live: there is no launcher to do it.
//!
//! Ranks of one job belong to one user and may trust each other not to *attack*, but not to be free of faults: whatever
//! a rank finds in the segment, it stays inside it and does not panic.

mod bootstrap;
mod bootstrap_socket;
mod channel;
mod cma;
pub mod collective;
mod connection;
mod error;
mod event_count;
mod file;
mod futex;
mod layout;
mod membership;
mod pid_monitor;
mod process_token;
mod read_acks;
mod received_frame;
mod ring;
mod ring_memory;
mod segment;
mod single_copy;
mod sync;
#[cfg(test)]
mod tests;
mod wait_policy;
mod wake_socket;

pub use crate::wait::constants::BOOTSTRAP_TIMEOUT;
pub use bootstrap::{bootstrap, bootstrap_within};
pub use channel::Shm;
pub use error::ShmError;
pub use layout::{FRAME_LIMIT, MAX_RANKS};
pub use received_frame::Frame;
pub use segment::{RankState, Segment};
pub use single_copy::SingleCopy;
