//! What the image and the Linux program share: the protocol, its composition, and the programs over it and over MPI. Neither
//! a system nor an allocator is needed; the two differ in the network that they bring.
#![no_std]
#![forbid(unsafe_code)]

mod composition;
mod job;
mod lossy;
pub mod programs;
mod report;

pub use composition::{Comm, FRAME, Message, PEERS, Small, Windows};
pub use job::{Addresses, Job};
pub use lossy::{Lossy, Reported};
pub use programs::start;
pub use report::{Failure, Report};
