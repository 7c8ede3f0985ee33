//! Waiting: an idle rank polls, then spins, then yields the processor, then sleeps. One policy, `WaitPolicy`, selects
//! the next step; drivers differ in its parameters and in what they sleep on. All parameters are in one table,
//! [`tuning`](crate::tuning).
//!
//! | file | who calls it |
//! | --- | --- |
//! | `policy`, `yield_policy` | `shm`, `loopback`, `device_wait` |
//! | `device_wait` | `udp` and `ethernet` |
//! | `wait_fds`, `clock` | drivers, and callers that wait beside them |
//! | `processors`, `cpu_quota` | code that chooses a policy |
//!
//! The primitives on which a rank of a segment sleeps are in `shm`: they are part of the shared memory.

pub(crate) mod clock;
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
