//! Who is in this job, and one channel to all of them: a Rust program over [`pombo_kernel::Communicator`] starts and
//! spans hosts by it. `no_std` with an allocator and libc.
//!
//! A job is a number of processes, its *ranks*, on one host or several. What started them says so in the environment:
//! `pombo run`, a launcher that speaks PMI-1 (Hydra's `mpiexec`, `srun --mpi=pmi2`), or somebody by hand, with
//! `POMBO_JOB`, `POMBO_RANK` and `POMBO_SIZE`; who was started by nobody is a job of one. Ranks of one host share
//! memory; between hosts go frames by UDP or raw Ethernet, with tags that only ranks can write. Each pair of ranks on
//! different hosts has a TCP connection that carries nothing: it ends when one of them does, and by that the channel
//! learns who is dead ([`pombo_kernel::Event::PeerLost`]).
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
//! Alone it greets itself; `pombo run -n 4 ./greet` makes a ring of four, `mpiexec -hosts one,two -n 4 ./greet` (Hydra's)
//! one over two hosts.
//!
//! # States
//!
//! | state | by | what the other ranks see |
//! | --- | --- | --- |
//! | not joined | | they wait: a rank that ends now is found by the launcher, or after a minute |
//! | refused | [`enter`], and [`join`], of which it is made | the launcher ends the job, after [`JoinError::abort`] |
//! | joined | the same: a channel to all | its frames |
//! | left | [`leave`], or [`WorldChannel::leave`] and then [`Launcher::finish`] | [`pombo_kernel::Event::PeerLost`], and [`WorldChannel::has_finished`] |
//! | dead | the process or its host ends before that | [`pombo_kernel::Event::PeerLost`]; whom it blames: [`WorldChannel::root_cause_of`] |
//!
//! Whoever has joined may fork; the child calls [`let_go`] and leaves the channel alone.
//!
//! # Bounds
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | ranks of a job | `RANKS` of [`join`] | an error at the start |
//! | ranks of a job over several hosts | 256, each pair on different hosts has a connection | [`JobError::TooManyRanks`] |
//! | frames under way between two ranks of different hosts | 64, and 512 KiB of payload | the sender waits |
//! | what a rank tells through the launcher | 255 bytes | cut; its reader says [`JobError::BusinessCard`] |
//! | connections at a rank's door that have not said who they are | 256 | the oldest is closed |
//! | time that ranks of several hosts wait for each other at the start | 60 s | [`JobError::Missing`] |
//! | time that a host may not answer | `POMBO_HOST_TIMEOUT` | its ranks are dead |
//!
//! # Errors
//!
//! [`JobError`] is the one of this package; each says what to do. They come at the start: a channel that was made fails
//! as any other does, and [`WorldChannel::explain`] knows more of it.
//!
//! # Features
//!
//! `hosts`: jobs over several hosts; without it ranks of several hosts are refused. `fault`: `POMBO_FAULT_LOSS` loses frames
//! between hosts, for tests. `pnet`: raw frames go by that package where `POMBO_ETHERNET_IO` says so. The environment
//! variables are in [`settings`].
#![no_std]

extern crate alloc;

mod bootstrap;
mod enter_leave;
pub mod environment;
mod fixed_string;
mod host_map;
mod job_channel;
pub mod log;
pub mod process;
pub mod settings;

#[cfg(feature = "hosts")]
pub use bootstrap::RawUnavailable;
pub use bootstrap::{Excerpt, JobError, JoinError, Launcher, let_go, rank};
pub use enter_leave::{enter, leave};
pub use fixed_string::Text;
pub use host_map::Hosts;
#[cfg(feature = "hosts")]
pub use job_channel::groups;
pub use job_channel::{JobChannel, Joined, Traffic, WorldChannel, join};
