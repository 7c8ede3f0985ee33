//! Networks and channels that misbehave, by a seed: what tests of the kernel and of protocols live on.
//!
//! | | misbehaves as | for |
//! | --- | --- | --- |
//! | [`Moody`] | a channel may: full, slow, late, in crumbs, crashed | any [`Channel`](pombo_kernel::Channel) |
//! | [`FaultyNetwork`] | a network may: see [`Faults`] | any [`Network`](pombo_kernel::Network), real ones too |
//! | [`Sim`] | a network may, in simulated time | protocols over networks |
//!
//! Everything follows from a seed and a plan: the same calls in the same order give the same faults on every machine.
//! Real devices and threads bring their own order.

mod device;
mod dice;
mod fate;
mod faults;
mod flight;
mod injector;
#[cfg(feature = "std")]
mod moody;
#[cfg(feature = "std")]
mod sim;

pub use device::FaultyNetwork;
pub use dice::{Dice, Rate};
pub use faults::{Counts, Cut, Faults};
pub use injector::LATE_FRAMES;
#[cfg(feature = "std")]
pub use moody::{Crumbs, Moods, Moody};
#[cfg(feature = "std")]
pub use sim::{Limits, Sim, SimNetwork, Wire};

/// The device error of every call at a node that has crashed: no system has an error of that number.
pub const CRASHED: i32 = -1;
