//! Named groups of processes, which come and go while the job runs: a group service over the kernel, without MPI. Sources:
//! PVM's group server and ECCLib, section 10.4.
//!
//! A program creates [`Groups`] over the first two ports of an endpoint ([`GroupEndpoint`]); a third one can have another
//! protocol. The service has no queue, matching or rendezvous of its own; these are the kernel's.
//!
//! ```
//! use pombo_job::group::{GroupComposition, GroupEndpoint, GroupHeader, Groups};
//! use std::time::Duration;
//!
//! /// Of up to 64 processes.
//! type Composition = GroupComposition<64, 1024>;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let joined = pombo_job::enter::<GroupHeader, Composition, 64>()?;
//!     let mut comm = GroupEndpoint::<_, Composition>::two(joined.channel)?;
//!     let mut groups = Groups::new(&mut comm)?;
//!     let second = Duration::from_secs(1);
//!
//!     let own = groups.join(&mut comm, "workers", second)?;
//!     assert_eq!(own.number, 0);
//!     groups.broadcast(&mut comm, "workers", b"to the others", second)?;
//!     groups.leave(&mut comm, "workers", second)?;
//!     assert_eq!(groups.exists("workers"), Ok(false));
//!     Ok(pombo_job::leave_groups(comm, joined.launcher)?)
//! }
//! ```
//!
//! # The directory, and who keeps it
//!
//! Every process of the job has a copy of the directory (`directory`), and all copies change by the same entries in the
//! same order (`agreement`): the *view* is the number of entries so far. The lowest living process proposes entries, and
//! an entry is decided when every living process has accepted it; so any number of processes may end, in the middle of
//! a step too, as long as one lives. An operation takes one message to the leader and three from there to all and back
//! (propose, accept, decide), whatever the size of the job; operations that come meanwhile share the next entry.
//!
//! A process that is known to have ended leaves all groups. One that cannot be reached may be alive: the side with
//! more than half of the view's processes, or with half and the lowest, goes on without it, and on the other side every
//! operation is [`GroupError::Minority`]. The dead of that view count as not reached while others cannot be reached;
//! the entry after that has forgotten them.
//!
//! A process that joins the running job (`pombo join`) is admitted by an entry, and gets its copy of the directory from
//! those who have that entry; its operations wait for it. Places that nobody has taken count for nothing, and a place
//! whose process has ended stays empty.
//!
//! A process that computes for long delays the operations of all others until it calls its groups again, as its copy
//! must not be left behind. Messages between members do not wait for it.
//!
//! # Messages
//!
//! A message to a group carries the sender's view. A receiver that has not reached that view keeps the message until it
//! has; one that joined later, or has left, drops it. Nothing comes twice, and messages of one sender come in order. A
//! sender that ends while it sends may have reached some members only.
//!
//! Between hosts a message goes as one multicast frame, a *cast*, whatever the number of its hosts, where that saves frames:
//! to two or more members on other hosts, of up to 1 KiB. All processes that the job begins with (up to 64)
//! are in one multicast group, whose frames tell who is to take them, so a view that changes opens and closes none. Members
//! on the same host, processes that joined later, and all where the network has no multicast get messages of their own,
//! which are handed out after the casts that their sender sent before. `POMBO_GROUP_CASTS=0` switches casts off.
//!
//! A group that is *frozen* is static: its members have a dense copy ([`FrozenGroup`]), on which collective operations
//! run, with the headers and patterns that it gives.
//!
//! # Bounds
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | bytes of a name | [`NAME_LEN`] | [`GroupError::BadName`] |
//! | groups of a job | [`MAX_GROUPS`] | [`GroupError::TooManyGroups`] |
//! | processes of a job with groups, and places for more | [`MAX_PROCESSES`] | [`GroupError::TooManyProcesses`] |
//! | operations of a process | one: calls block | |
//! | requests in an entry | [`BATCH`] | the others are in the next |
//! | entries kept for processes that lack them | [`HISTORY`] | who lacks more counts as out of reach |
//! | messages of the agreement without credit or room | none: dropped | sent again after [`RESEND`] ns |
//! | bytes of the directory in a message to a newcomer | 700 | it asks for the rest |
//! | unread messages of a sender to a member | the kernel's credit | the sender waits, until its time-out; the agreement has a port of its own and goes on |
//! | unread casts of a sender to a process, whatever their groups | 32 | the sender waits 20 ms, then sends to each member by itself |

mod agreement;
#[cfg(feature = "hosts")]
mod cast_channel;
#[cfg(feature = "hosts")]
mod casts;
mod directory;
mod entry;
mod error;
mod frame;
mod message;
#[cfg(not(feature = "hosts"))]
mod no_casts;
mod ports;
mod processes;
mod service;
mod snapshot;
mod verdicts;

pub use agreement::{Agreement, Outbox, Verdict};
pub use directory::{Completion, Delivery, Directory, FrozenGroup, Group, Member, Outcome};
pub use entry::{Entry, Name, Operation, Request};
pub use error::GroupError;
pub use frame::{AgreementComposition, AgreementHeader, GroupComposition, GroupHeader};
pub use message::{Ballot, MESSAGE_LEN, Message};
pub use ports::{AgreementPort, GroupEndpoint, GroupPorts};
pub use processes::Processes;
pub use service::{Groups, Received};
pub use verdicts::Verdicts;

use pombo_kernel::channel::GroupId;

/// The most bytes of a group's name.
pub const NAME_LEN: usize = 32;
/// The most groups of a job at a time.
pub const MAX_GROUPS: usize = 256;
/// The most processes of a job with groups.
pub const MAX_PROCESSES: usize = 256;
/// The most requests of an entry; further ones wait for the next.
pub const BATCH: usize = 16;
/// Entries that a process keeps for others that lack them.
pub const HISTORY: usize = 32;
/// The group of the network that carries casts.
pub(crate) const CASTS: GroupId = GroupId(1);
/// The most bytes of the directory in a message.
const SNAPSHOT_PIECE: usize = 700;
/// The time in ns after which a message without an answer is sent again.
pub const RESEND: u64 = 50_000_000;
/// The time in ns for which a leader whose ballot was rejected waits, times its place among the processes.
const BACK_OFF: u64 = 5_000_000;
