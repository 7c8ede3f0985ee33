//! MPI semantics over the Pombo kernel: what the C library's functions do, without their C names.
//!
//! The crate is `no_std` with an allocator and libc, so that a static program contains only what it calls.
#![no_std]

extern crate alloc;

mod any_source_failure;
pub mod buffered;
pub mod c_arguments;
pub mod collective;
pub mod comm;
pub mod constants;
pub mod datatype;
pub mod errhandler;
pub mod error;
pub mod exit;
mod extensions;
mod hosts;
pub mod init;
mod kernel;
pub mod matched;
pub mod message_header;
pub mod op;
pub mod p2p;
pub mod request;
pub mod request_some;
pub mod request_status;
mod runtime;
pub mod settings;
mod stall_recovery;
pub mod status;
mod test_backoff;
pub mod user_buffer;
mod world_allgather;

pub use error::CommError;
pub use kernel::KERNEL_BYTES;
pub use pombo_kernel::Mode;
pub use runtime::lock_free_queries::{is_main_thread, threads};
pub use runtime::phase::{Phase, phase};
