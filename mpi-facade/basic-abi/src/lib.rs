//! The smallest MPI as a C library: the functions of the standard ABI that programs of short messages need, as `MPI_X` and
//! as `PMPI_X`, among the ranks of one host. A program that calls anything else is linked with the package
//! `pombo-mpi-abi`; `pombo configure` decides.
//!
//! Nothing here is called from Rust. Every error ends the program with one line, as `MPI_ERRORS_ARE_FATAL` says.
#![cfg_attr(panic = "abort", no_std)]

extern crate alloc;

#[macro_use]
#[path = "../../abi/src/replaceable.rs"]
mod replaceable;
#[macro_use]
mod export;
mod arguments;
mod collectives;
mod environment;
mod errors;
mod messages;
#[cfg(panic = "abort")]
#[path = "../../abi/src/no_std_support.rs"]
mod no_std_support;
mod world;
