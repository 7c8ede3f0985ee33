//! The C interface: every function of the MPI standard ABI, as `MPI_X` and as `PMPI_X`.
//!
//! Nothing here is called from Rust. Implemented functions are in one module per chapter of the standard, the others in
//! [`unsupported`]. The library contains no Rust runtime, except in the profile `dev`, whose panics unwind as those of tests
//! do, and with the feature `pnet`, which needs the standard library.
#![cfg_attr(all(panic = "abort", not(feature = "pnet")), no_std)]

extern crate alloc;

#[macro_use]
mod replaceable;
#[macro_use]
mod export;
mod abi_info;
mod arguments;
mod attributes;
mod buffered;
mod collectives;
mod communicators;
mod datatypes;
mod environment;
mod errors;
mod generalized;
mod groups;
mod handle_conversion;
mod info;
mod lifetime;
mod messages;
mod neighbourhoods;
#[cfg(all(panic = "abort", not(feature = "pnet")))]
mod no_std_support;
mod operations;
mod packing;
mod partitioned;
mod persistent;
mod request_some;
mod request_status;
mod requests;
mod statuses;
mod topologies;
mod type_constructors;
mod unsupported;
