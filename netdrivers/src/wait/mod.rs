//! How a rank waits: it looks, then spins, then yields the processor, then sleeps. One policy, `WaitPolicy`, says
//! which of these is next; drivers differ in its numbers and in what they sleep on. All numbers are in one table,
//! [`constants`].
//!
//! | file | who calls it |
//! | --- | --- |
//! | [`constants`] | drivers, and the packages above |
//! | `policy`, `yield_policy` | `shm`, `loopback`, `device_wait` |
//! | `device_wait` | `udp` and `ethernet` |
//! | `wait_fds`, `clock` | drivers, and who waits beside them |
//! | `processors`, `cpu_quota` | who chooses a policy |
//!
//! What a rank of a segment sleeps on, and who wakes it, is in `shm`: it is part of the memory that ranks share.

mod clock;
pub mod constants;
#[cfg(feature = "shm")]
pub(crate) mod cpu_quota;
#[cfg(feature = "udp")]
mod device_wait;
mod policy;
pub(crate) mod processors;
mod wait_fds;
pub(crate) mod yield_policy;

pub use clock::now;
#[cfg(feature = "udp")]
pub(crate) use device_wait::DeviceWait;
pub(crate) use policy::{WaitPolicy, WaitStep};
pub use wait_fds::{sleep, wait_fds};
