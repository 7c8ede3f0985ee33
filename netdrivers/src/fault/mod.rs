//! Fault injection from a seed: [`FaultyNetwork`] wraps any [`Network`](pombo_kernel::Network), real ones too. `no_std`
//! with an allocator, so that real jobs can lose frames by the code with which the protocols are tested.
//!
//! All faults follow from a seed and a plan, [`Faults`]: the same calls in the same order give the same faults on every
//! machine. The timing of real devices and threads is not controlled. The package `pombo-testing` has a network in
//! simulated time that applies the same plans.

mod delay_injector;
mod delays;
mod faults;
mod faulty_link;
mod faulty_network;
mod in_flight;
mod injector;
mod rng;

pub use delays::{Delays, NoDelays};
pub use faults::{FaultCounts, Faults, Outage};
pub use faulty_link::LinkFaults;
pub use faulty_network::FaultyNetwork;
pub use in_flight::{FrameInFlight, InFlight};
pub use injector::MAX_LATE_FRAMES;
pub use rng::{Rate, SeededRng};

/// The device error of every call at a peer that has crashed: no system has an error of that number.
pub const CRASHED: i32 = -1;
