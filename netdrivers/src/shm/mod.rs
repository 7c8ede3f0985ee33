//! Ranks as processes of one Linux machine, over one anonymous memory file. `no_std` with an allocator.
//!
//! A launcher creates a [`Segment`], passes its descriptor to the ranks, and marks the ranks dead whose processes end.
//! A rank opens the segment and attaches: an [`Shm`] is its channel. Ranks started by other means find each other by
//! [`bootstrap()`].
//!
//! The sender copies a frame into a ring and the receiver reads it there, without locks and, while both are awake,
//! without system calls. There is a ring for each ordered pair of ranks: 64 KiB, which occupy memory as far as frames
//! have filled it; a send into a full ring fails. While the receiver is close behind, the sender uses only the
//! beginning of the ring ([`Shm::disable_ring_restart`]). A long message streams through in frames of up to [`FRAME_LIMIT`]
//! bytes: the receiver copies out while the sender copies in. If all ranks have processors of their own, frames of 5 KiB
//! or more lie beside the rings, and so do those of 1 KiB or more that follow each other without an answer. They are in cells
//! of 16 KiB, several in one as far as they fit, which their sender has for all receivers: three times as much as a
//! processor's second cache holds, but at most 4 MiB of a rank and 32 MiB in all, and at least 8 cells of each. The cells,
//! too, occupy memory as far as they were used. Half of them may hold unread frames to one rank of several, then a send to
//! it fails; a frame that finds none free goes through the ring.
//!
//! A frame of up to 1 KiB to a rank that answers each goes through a mail line instead, a block of 18 cache lines for each
//! pair, if the ranks have processors of their own: see [`Shm::set_mail`].
//!
//! A rank that has caught up with a burst of larger frames lets the peer write on for a moment before it looks for the next
//! one: see [`Shm::set_burst_pause`].
//!
//! Alternatively the receiver of a long message reads it directly from the sender's memory: the frame only describes it
//! ([`SingleCopy`]).
//!
//! A rank that finds nothing polls again, then yields, then sleeps until a frame, room or a loss wakes it. The times
//! depend on whether the processors that the ranks may use, by affinity and by the quota of their control group, are
//! fewer than the ranks, and on whether a yield returns soon: beside other load it does not. Ranks that bootstrapped
//! themselves check every half second whether the others' processes still live, as no launcher does.
//!
//! [`Rings`] is the same for programs that are to carry as little code as possible: rings alone, all ranks of a job alike.
//!
//! Ranks of one job belong to one user and may trust each other not to *attack*, but not to be free of faults: whatever
//! a rank finds in the segment, it accesses nothing outside and does not panic.

mod answer_wait;
mod bootstrap;
mod bootstrap_socket;
mod burst;
mod cache;
mod channel;
mod cma;
pub mod collective;
mod connection;
mod error;
mod event_count;
mod file;
mod futex;
mod layout;
mod long_frames;
mod mail;
mod membership;
mod passed_cells;
mod pid_monitor;
mod process_token;
mod questions;
mod read_acks;
mod received_frame;
mod returned_cells;
mod ring;
mod ring_memory;
mod rings;
mod segment;
mod single_copy;
mod store_choice;
#[cfg(target_arch = "x86_64")]
mod streaming_copy;
mod sync;
#[cfg(test)]
mod tests;
mod wait_for_any;
mod wait_policy;
mod wake_socket;

pub use crate::tuning::{BOOTSTRAP_NOTICE, BOOTSTRAP_TIMEOUT};
pub use bootstrap::{bootstrap, bootstrap_observed, bootstrap_within};
pub use channel::{FRAMES_PER_PEER, FRAMES_PER_POLL, Shm};
pub use error::ShmError;
pub use layout::{FRAME_LIMIT, MAX_RANKS};
pub use questions::{MAX_ANSWER, Question};
pub use received_frame::Frame;
pub use rings::Rings;
pub use segment::{RankState, Segment};
pub use single_copy::SingleCopy;
