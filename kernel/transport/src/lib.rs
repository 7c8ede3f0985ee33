//! Channels made of networks: what stands between the devices of `pombo-netdrivers` and the kernel, which knows only
//! [`Channel`](pombo_kernel::Channel) and [`Network`](pombo_kernel::Network). Drivers and whoever builds a program
//! use it.
//!
//! | module | makes |
//! | --- | --- |
//! | [`reliable`] | a channel of a network that loses frames |
//! | [`multicast`] | reliable broadcast to groups of peers, of such a network; a channel that serves groups beside its own frames |
//! | [`composite`] | one channel of two |
//! | [`serial_line`] | of two functions for bytes, a UART's, a network of two peers |
//! | `authenticated`, a feature | of a network one whose frames only who has the job's key can write |
//!
//! `no_std`, no `unsafe`; an allocator for authentication alone.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "authenticated")]
extern crate alloc;

#[cfg(feature = "authenticated")]
pub mod authenticated;
pub mod composite;
pub mod multicast;
pub mod reliable;
pub mod serial_line;

#[cfg(feature = "authenticated")]
pub use authenticated::Authenticated;
pub use composite::Composite;
pub use multicast::WithMulticast;
pub use pombo_kernel::channel::ContiguousFrame;
pub use reliable::Reliable;
pub use serial_line::SerialLine;
