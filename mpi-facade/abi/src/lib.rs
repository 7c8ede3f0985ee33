//! The C interface: every function of the MPI standard ABI, as `MPI_X` and as `PMPI_X`.
//!
//! Nothing here is called from Rust. Implemented functions are in one module per chapter of the standard, the others in
//! [`unsupported`]. The library contains no Rust runtime, except under `cargo test`, where panics unwind, and with the
//! feature `pnet`, which needs the standard library.
#![cfg_attr(all(panic = "abort", not(feature = "pnet")), no_std)]

#[macro_use]
mod export;
mod arguments;
mod buffered;
mod collectives;
mod datatypes;
mod environment;
mod errors;
mod handle_conversion;
mod lifetime;
mod messages;
#[cfg(all(panic = "abort", not(feature = "pnet")))]
mod no_std_support;
mod operations;
mod request_some;
mod request_status;
mod requests;
mod statuses;
mod unsupported;
