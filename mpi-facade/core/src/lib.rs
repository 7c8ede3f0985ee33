//! MPI semantics over the Pombo kernel: what the C library's functions do, without their C names.
//!
//! `no_std` with an allocator and libc, so that a static program carries only what it calls.
#![no_std]

extern crate alloc;

mod asking;
pub mod buffered;
pub mod collective;
mod comm;
pub mod constants;
pub mod datatype;
pub mod error;
pub mod exit;
pub mod errhandler;
mod forsaken;
pub mod glance;
pub mod groups;
pub mod header;
mod hosts;
pub mod init;
mod kernel;
pub mod matched;
pub mod memory;
pub mod op;
mod parts;
mod phase;
pub mod point;
#[cfg(feature = "progress-thread")]
mod progress;
pub mod request;
pub mod settings;
pub mod several;
mod stall;
pub mod status;
#[cfg(feature = "progress-thread")]
mod turn;
mod world;

pub use error::CommError;
pub use kernel::KERNEL_BYTES;
pub use phase::{Phase, phase};
pub use pombo_kernel::Mode;
pub use world::{is_main_thread, threads};
