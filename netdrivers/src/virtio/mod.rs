//! Ranks on machines without an operating system: a network over a virtio device, as hypervisors have it. `no_std`
//! without an allocator. An image uses it, and brings the [`Hal`] (the memory of the queues), the transport (where the
//! device is), a [`Processor`] (its clock and its sleep) and the [`Buffers`].
//!
//! The frames are those of `ethernet`, so images and Linux processes are peers of one job. An image that knows the
//! table of all addresses [joins](VirtioNet::join) by it; addresses are those that an Ethernet interface has.
//!
//! The device reads and writes [`Buffers`] alone, which live for ever: nothing that a caller lends is within its reach.
//! A frame is copied once from its parts into a transmit buffer, and once from a receive buffer to where it is wanted.
//!
//! | bound | |
//! | --- | --- |
//! | frames that wait to leave | `SLOTS`; then [`ChannelError::Full`](pombo_kernel::ChannelError::Full) |
//! | frames that wait for a poll | `SLOTS`; then the device drops them |
//! | frames taken at once | `SLOTS` |
//! | bytes of a frame | [`MTU`] |
//! | peers | `PEERS`; then [`VirtioError::TooManyPeers`] |
//!
//! A device that fails, or breaks the rules of virtio, ends in
//! [`ChannelError::Device`](pombo_kernel::ChannelError::Device) with [`DEVICE_FAILED`].

mod buffers;
mod device;
mod error;
mod processor;

pub use crate::ethernet_frame::{ETHER_TYPE, FrameAddress, Traffic};
pub use buffers::{BUFFER_BYTES, Buffers};
pub use device::{DEVICE_FAILED, MTU, VirtioCounts, VirtioNet};
pub use error::VirtioError;
pub use processor::Processor;
pub use virtio_drivers::transport::Transport;
pub use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr, transport};
