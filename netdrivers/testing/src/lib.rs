//! Tools for tests of channels and networks. Only tests depend on this package.
//!
//! | tool | purpose | applies to |
//! | --- | --- | --- |
//! | [`mod@conformance`] | checks the contract of drivers | any [`Channel`](pombo_kernel::Channel) |
//! | [`AdversarialChannel`] | delays, fragments and crashes as a channel may | any channel |
//! | [`BroadcastFilter`] | carries no broadcasts | any [`Broadcast`](pombo_kernel::network::Broadcast) |
//! | [`Sim`] | a network that misbehaves as a network may, in simulated time | protocols over networks |
//!
//! [`FaultyNetwork`](pombo_netdrivers::fault::FaultyNetwork) injects faults into real networks; the faults of [`Sim`]
//! are described by the same types. All faults follow from a seed and a plan: the same calls in the same order give the
//! same faults on every machine. The scheduling of threads is not controlled.

mod adversarial_channel;
mod broadcast_filter;
pub mod conformance;
mod sim;

pub use adversarial_channel::{AdversarialChannel, Fragmented, Profile};
pub use broadcast_filter::BroadcastFilter;
pub use sim::{DeviceLimits, LinkParameters, Sim, SimNetwork};
