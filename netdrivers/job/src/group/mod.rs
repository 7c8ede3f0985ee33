//! Named groups of processes, which come and go while the job runs. (docs later)

mod agreement;
mod directory;
mod entry;
mod error;
mod frame;
mod message;
mod processes;
mod service;
mod verdicts;

pub use agreement::{Agreement, Outbox, Verdict};
pub use directory::{Completion, Delivery, Directory, FrozenGroup, Group, Member, Outcome};
pub use entry::{Entry, Name, Operation, Request};
pub use error::GroupError;
pub use frame::{GroupComposition, GroupHeader};
pub use message::{Ballot, MESSAGE_LEN, Message};
pub use processes::Processes;
pub use service::{GroupPort, Groups, Received};
pub use verdicts::Verdicts;

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
/// The time in ns after which a message without an answer is sent again.
pub const RESEND: u64 = 50_000_000;
/// The time in ns for which a leader whose ballot was rejected waits, times its place among the processes.
const BACK_OFF: u64 = 5_000_000;
