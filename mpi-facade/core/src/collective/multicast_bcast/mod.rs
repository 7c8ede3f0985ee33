//! Broadcasts by multicast: one frame for all hosts. This module decides which communicators have a group, and runs one
//! rank's part of an operation. Only the other collective calls and `comm::create` use it.
//!
//! Every communicator whose ranks are on several hosts has a group of the channel's [`GroupTable`], if all its ranks
//! have room for one; else its broadcasts go by messages. The first rank of every host is in the group, and forwards to
//! the other ranks of its host. Messages of one root on one communicator carry no tag: they arrive in the order of the
//! calls.
//!
//! The start of MPI tests whether frames reach all ranks: by multicast, then, where a switch filters that, by IP
//! broadcast; if both fail there are no groups. Without feature `groups-at-start` the first blocking collective call on
//! `MPI_COMM_WORLD` that waits for all ranks does so, or the first communicator that is made of it: a program without such calls
//! contains nothing of this, and a communicator that was made before has no group. Where such frames stop later, each rank
//! gets its own (`Sender::is_unicast_only`).
//!
//! | bound | is | beyond it |
//! | --- | --- | --- |
//! | communicators | 32 in a rank | broadcasts by messages |
//! | hosts | 64 of a communicator | broadcasts by messages |
//! | ranks | 64 of a job | broadcasts by messages |
//! | small messages of a root that some member lacks | 32, of up to 1024 bytes | the root waits |
//!
//! [`GroupTable`]: pombo_transport::multicast::GroupTable

mod begin;
mod operation;
mod root_queues;
mod setup;

pub(super) use operation::MulticastOperation;
pub(super) use root_queues::take_ended;
pub(crate) use root_queues::{close_group, has_room, open_group};
pub(crate) use setup::enter;
