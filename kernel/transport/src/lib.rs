//! Channels over networks: the protocols between the devices of `pombo-netdrivers` and the kernel, which depends only
//! on [`Channel`](pombo_kernel::Channel) and [`Network`](pombo_kernel::Network). Drivers and programs use them.
//!
//! | module | provides |
//! | --- | --- |
//! | [`reliable`] | a channel over a network that loses frames |
//! | [`multicast`] | reliable broadcast to groups of peers over such a network; a channel that serves groups in
//! addition to its own frames |
//! | [`composite`] | one channel composed of two |
//! | [`serial_line`] | a network of two peers over two functions for bytes, such as those of a UART |
//! | `authenticated`, a feature | a network whose frames only holders of the job's key can produce |
//!
//! The package is `no_std` without `unsafe`; only authentication needs an allocator.
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
pub use composite::{Composite, LocalChannel};
pub use multicast::WithMulticast;
pub use pombo_kernel::channel::ContiguousFrame;
pub use reliable::Reliable;
pub use serial_line::SerialLine;
