//! The ranks of a job, and one channel to all of them: with it a Rust program over [`pombo_kernel::Communicator`] runs
//! as a job on one or several hosts. The package is `no_std` with an allocator and libc.
//!
//! A job is a number of processes, its *ranks*, on one host or several. The environment describes it, as set by `pombo
//! run`, by a launcher that speaks PMI-1 (Hydra's `mpiexec`, `srun --mpi=pmi2`), or by hand with `POMBO_JOB`,
//! `POMBO_RANK` and `POMBO_SIZE`; a process started without any of these is a job of one. Ranks of one host share
//! memory; between hosts frames go by UDP or raw Ethernet, with tags that only ranks can compute. Each pair of ranks on
//! different hosts has a TCP connection that carries no data: it ends when one of them does, by which the channel
//! detects dead ranks ([`pombo_kernel::Event::PeerLost`]).
//!
//! ```
//! use pombo_job::Joined;
//! use pombo_kernel::aspect::Rendezvous;
//! use pombo_kernel::matching::Linear;
//! use pombo_kernel::prelude::*;
//! use pombo_kernel::{Composition, Capacities};
//! use pombo_netdrivers::HeapStorage;
//!
//! header! { struct Topic { number: u8 } }
//!
//! /// Of up to so many ranks.
//! const RANKS: usize = 64;
//! type News = Composition<U32, Rendezvous<1024>, Linear, HeapStorage, Capacities<64, 64, 1024, RANKS>>;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let Joined { channel, launcher, .. } = pombo_job::enter::<Topic, News, RANKS>()?;
//!     let mut comm = Communicator::<Topic, _, Lent<'_>, News>::new(channel)?;
//!
//!     // Every rank greets the next one, in a ring.
//!     let (me, ranks) = (comm.me(), comm.peers() as u16);
//!     comm.send(Peer((me.0 + 1) % ranks), Topic { number: 7 }, b"good morning")?;
//!     let mut text = [0; 16];
//!     let envelope = comm.recv(Topic::number(7), &mut text)?;
//!     assert_eq!(envelope.peer(), Peer((me.0 + ranks - 1) % ranks));
//!     assert_eq!(&text[..envelope.len()], b"good morning");
//!     Ok(pombo_job::leave(comm, launcher)?)
//! }
//! ```
//!
//! A single process sends to itself; `pombo run -n 4 ./greet` creates a ring of four, `mpiexec -hosts one,two -n 4
//! ./greet` (Hydra's) one over two hosts.
//!
//! # States
//!
//! | state | entered by | view of the other ranks |
//! | --- | --- | --- |
//! | not joined | | they wait: the launcher detects a rank that ends now, or they time out after a minute |
//! | refused | [`enter`], and [`join`], which it calls | the launcher ends the job, after [`JoinError::abort`] |
//! | joined | the same calls, which return a channel to all | its frames arrive |
//! | left | [`leave`], or [`WorldChannel::leave`] and then [`Launcher::finish`] | [`pombo_kernel::Event::PeerLost`], and [`WorldChannel::has_finished`] |
//! | dead | the end of the process or its host before that | [`pombo_kernel::Event::PeerLost`]; the rank that it
//! blames: [`WorldChannel::root_cause_of`] |
//!
//! A process that has joined may fork; the child must call [`let_go`] and not use the channel.
//!
//! # Bounds
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | ranks of a job | `RANKS` of [`join`] | an error at the start |
//! | ranks of a job over several hosts | 256, each pair on different hosts has a connection | [`JobError::TooManyRanks`] |
//! | frames in flight between two ranks of different hosts | 64, and 512 KiB of payload | the sender waits |
//! | text that a rank publishes through the launcher | 255 bytes | truncated; its reader returns
//! [`JobError::BusinessCard`] |
//! | connections to a rank's listener with an incomplete hello | 256 | the oldest is closed |
//! | time that ranks of several hosts wait for each other at the start | 60 s | [`JobError::Missing`] |
//! | time for which a host may be silent | `POMBO_HOST_TIMEOUT` | its ranks count as dead |
//!
//! # Errors
//!
//! [`JobError`] is the error type of this package; each error says what to do. These errors occur at the start: a
//! channel that was created fails as any other does, and [`WorldChannel::explain`] gives details.
//!
//! # Features
//!
//! `hosts`: jobs over several hosts; without it such jobs are refused. `fault`: `POMBO_FAULT_LOSS` injects loss of
//! frames between hosts, for tests. `pnet`: `POMBO_ETHERNET_IO` chooses that package for raw frames. The environment
//! variables are in [`settings`].
#![no_std]

extern crate alloc;

mod bootstrap;
pub mod call_site;
#[cfg(feature = "launchers")]
pub mod closed_streams;
mod enter_leave;
pub mod environment;
mod fixed_string;
pub mod group;
mod host_map;
mod job_channel;
pub mod log;
pub mod process;
pub mod settings;

#[cfg(feature = "hosts")]
pub use bootstrap::RawUnavailable;
pub use bootstrap::{
    Excerpt, JobError, JoinError, Launcher, Refusal, let_go, place_on_one_host, rank,
};
pub use enter_leave::{enter, enter_mailboxes, leave, leave_groups, leave_mailboxes};
pub use fixed_string::{Text, text};
pub use host_map::Hosts;
pub use job_channel::{JobChannel, Joined, Traffic, WorldChannel, join};
#[cfg(feature = "hosts")]
pub use job_channel::{KeptPlace, Withdrawal, groups};
