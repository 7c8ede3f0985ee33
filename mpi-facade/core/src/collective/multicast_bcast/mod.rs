//! Broadcasts over the network's own: one frame for all hosts. Which communicators have it, and an operation of one
//! rank. Only the other collective calls, `init` and `comm::create` look here.
//!
//! Every communicator whose ranks are on several hosts has a group of the channel's [`GroupTable`], as long as all its ranks
//! have a place for one; else it does as without. The first rank of every host is in the group, and hands on to the
//! others of its host. Messages of one root on one communicator carry no tag: they come in the order of the calls.
//!
//! Whether frames for all arrive is tried when the job starts: by multicast, then, where somebody filters that, by the
//! broadcast of IP; else there are no groups. Where they stop later, each rank gets its own (`Source::is_singly`).
//!
//! | bound | is | beyond it |
//! | --- | --- | --- |
//! | communicators | 32 in a rank | broadcasts by messages |
//! | hosts | 64 of a communicator | the same |
//! | ranks | 64 of a job | the same |
//! | small messages of a root that not all have | 32, of up to 1024 bytes | the root waits |
//!
//! [`GroupTable`]: pombo_transport::multicast::GroupTable

mod begin;
mod operation;
mod root_queues;
mod setup;

pub(super) use operation::MulticastOperation;
pub(super) use root_queues::take_ended;
pub(crate) use root_queues::{close_group, has_room, open_group};
pub(crate) use setup::open;
