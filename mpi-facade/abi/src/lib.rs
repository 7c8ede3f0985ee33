//! The C interface: every function of the MPI standard ABI, as `MPI_X` and as `PMPI_X`.
//!
//! Nothing here is called from Rust. Built functions stand in one module per chapter of the standard, the rest
//! in [`unsupported`]. The library carries no Rust runtime, except under `cargo test`, where panics unwind, and with
//! the feature `pnet`, which brings the standard library along.
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
