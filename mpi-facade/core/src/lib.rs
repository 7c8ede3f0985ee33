//! MPI semantics over the Pombo kernel: what the C library's functions do, without their C names.
//!
//! The crate is `no_std` with an allocator and libc, so that a static program contains only what it calls.
//!
//! The gate counts the lines of code of each chapter of the standard, without tests, comments and blank lines:
//!
//! | chapter | modules | lines, at most |
//! | --- | --- | --- |
//! | 3, 4: point-to-point | buffered compound exchange matched p2p packed_message partitioned persistent request request_some request_status status test_backoff | 3152 |
//! | 5: datatypes | datatype user_buffer | 2676 |
//! | 6: collectives | collective op world_barrier | 7240 |
//! | 7: groups, communicators | attribute comm group hosts | 1646 |
//! | 8: topologies | topology | 575 |
//! | 9, 11: errors, start and end | any_source_failure errhandler error error_codes exit init settings stall_recovery | 1520 |
//! | 10, 13, 20: info, generalized requests, binary interface | abi_info generalized info | 460 |
//! | of no chapter | c_arguments constants explanation extensions handle_table kernel lib message_header no_explanation objects runtime | 2070 |
#![no_std]

extern crate alloc;

pub mod abi_info;
mod any_source_failure;
pub mod attribute;
pub mod buffered;
pub mod c_arguments;
pub mod collective;
pub mod comm;
mod compound;
pub mod constants;
pub mod datatype;
pub mod errhandler;
pub mod error;
pub mod error_codes;
pub mod exchange;
pub mod exit;
#[cfg_attr(not(feature = "diagnostics"), path = "no_explanation.rs")]
mod explanation;
mod extensions;
pub mod generalized;
pub mod group;
mod handle_table;
mod hosts;
pub mod info;
pub mod init;
mod kernel;
pub mod matched;
pub mod message_header;
mod objects;
pub mod op;
pub mod p2p;
mod packed_message;
pub mod partitioned;
pub mod persistent;
pub mod request;
pub mod request_some;
pub mod request_status;
mod runtime;
pub mod settings;
mod stall_recovery;
pub mod status;
mod test_backoff;
pub mod topology;
pub mod user_buffer;
mod world_barrier;

pub use error::CommError;
pub use kernel::{KERNEL_BYTES, SLOT_BYTES};
pub use pombo_kernel::Mode;
pub use runtime::lock_free_queries::{is_main_thread, threads};
pub use runtime::phase::{Phase, phase};
