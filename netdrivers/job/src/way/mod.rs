//! One channel to all ranks: shared memory among the ranks of a host, UDP or raw Ethernet between hosts. `join` makes it
//! of what `place` has found out; whoever wants the memory or the network alone asks [`WorldChannel`].
//!
//! A job on one host pays a comparison for the network that is not there. Without the feature `hosts` there is none.

#[cfg(feature = "hosts")]
mod address;
#[cfg(feature = "hosts")]
mod addresses;
mod channel;
#[cfg(feature = "hosts")]
mod far;
#[cfg(feature = "hosts")]
pub mod groups;
#[cfg(feature = "hosts")]
mod guests;
mod join;
#[cfg(feature = "hosts")]
mod link;
#[cfg(feature = "hosts")]
mod loss;
#[cfg(feature = "hosts")]
mod near_and_far;
#[cfg(feature = "hosts")]
mod opening;
#[cfg(feature = "hosts")]
mod segment;
mod traffic;
#[cfg(feature = "hosts")]
mod vigil;

pub use channel::WorldChannel;
#[cfg(feature = "hosts")]
pub use far::InterHost;
pub use join::{Joined, join};
#[cfg(feature = "hosts")]
pub use near_and_far::JobChannel;
pub use traffic::Traffic;

/// To every rank of a job: its rank is its node.
#[cfg(not(feature = "hosts"))]
pub type JobChannel<const RANKS: usize> = pombo_netdrivers::shm::Shm;
