//! Networks that misbehave, by a seed: [`FaultyNetwork`] over any [`Network`](pombo_kernel::Network), real ones too.
//! `no_std` with an allocator, so that real jobs lose frames by what the protocols are tested with.
//!
//! Everything follows from a seed and a plan, [`Faults`]: the same calls in the same order give the same faults on every
//! machine. Real devices and threads bring their own order. The package `pombo-testing` has a network in simulated time
//! that follows the same plans.

mod device;
mod dice;
mod faults;
mod in_flight;
mod injector;
mod link_faults;

pub use device::FaultyNetwork;
pub use dice::{Dice, Rate};
pub use faults::{Counts, Cut, Faults};
pub use in_flight::{Flight, InFlight};
pub use injector::LATE_FRAMES;
pub use link_faults::LinkFaults;

/// The device error of every call at a node that has crashed: no system has an error of that number.
pub const CRASHED: i32 = -1;
