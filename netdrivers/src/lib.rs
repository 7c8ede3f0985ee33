//! Channels and networks for the Pombo kernel: the drivers of shared memory, threads and network devices.
//!
//! Every driver of a channel implements [`pombo_kernel::channel::Channel`] and passes the same conformance suite, which
//! is in the package `pombo-testing`. The kernel depends on none of them; a program chooses one. `virtio` needs neither a
//! system nor an allocator; the others need Linux or an allocator.
#![no_std]

#[cfg(any(feature = "shm", feature = "udp", feature = "fault", test))]
extern crate alloc;
#[cfg(any(test, feature = "pnet"))]
extern crate std;

#[cfg(all(any(feature = "shm", feature = "udp"), target_os = "linux"))]
pub mod deaths;
#[cfg(all(
    any(feature = "shm", feature = "udp", feature = "ethernet"),
    target_os = "linux"
))]
mod errno;
#[cfg(all(feature = "ethernet", target_os = "linux"))]
pub mod ethernet;
#[cfg(any(all(feature = "ethernet", target_os = "linux"), feature = "virtio"))]
mod ethernet_frame;
#[cfg(feature = "fault")]
pub mod fault;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod futex;
#[cfg(any(feature = "shm", feature = "udp", feature = "fault", test))]
mod heap_storage;
#[cfg(all(feature = "udp", target_os = "linux"))]
mod interfaces;
#[cfg(all(feature = "udp", target_os = "linux"))]
pub mod ip_text;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod lock;
#[cfg(all(feature = "shm", target_os = "linux"))]
pub mod loopback;
#[cfg(all(feature = "shm", target_os = "linux"))]
pub mod mailbox;
#[cfg(all(feature = "shm", target_os = "linux"))]
pub mod shm;
#[cfg(all(any(feature = "shm", feature = "udp"), target_os = "linux"))]
pub mod tuning;
#[cfg(all(feature = "udp", target_os = "linux"))]
pub mod udp;
#[cfg(feature = "virtio")]
pub mod virtio;
#[cfg(all(any(feature = "shm", feature = "udp"), target_os = "linux"))]
pub mod wait;

#[cfg(all(
    any(feature = "shm", feature = "udp", feature = "ethernet"),
    target_os = "linux"
))]
pub use errno::Errno;
#[cfg(all(feature = "ethernet", target_os = "linux"))]
pub use ethernet::Ethernet;
#[cfg(any(feature = "shm", feature = "udp", feature = "fault", test))]
pub use heap_storage::{HeapCells, HeapStorage};
#[cfg(all(feature = "shm", target_os = "linux"))]
pub use loopback::Loopback;
#[cfg(all(feature = "shm", target_os = "linux"))]
pub use shm::Shm;
#[cfg(all(feature = "udp", target_os = "linux"))]
pub use udp::Udp;
#[cfg(feature = "virtio")]
pub use virtio::VirtioNet;
#[cfg(all(any(feature = "shm", feature = "udp"), target_os = "linux"))]
pub use wait::wait_fds;

// The kernel by itself, as the README shows it, compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
