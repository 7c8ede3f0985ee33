//! What tests of channels and networks live on. Nothing else depends on it.
//!
//! | | is | for |
//! | --- | --- | --- |
//! | [`mod@conformance`] | what every driver must do | any [`Channel`](pombo_kernel::Channel) |
//! | [`AdversarialChannel`] | a channel that misbehaves as a channel may: full, slow, late, in crumbs, crashed | any channel |
//! | [`BroadcastFilter`] | a network that carries nothing for all | any [`Broadcast`](pombo_kernel::network::Broadcast) |
//! | [`Sim`] | a network that misbehaves as a network may, in simulated time | protocols over networks |
//!
//! Real networks misbehave by [`FaultyNetwork`](pombo_netdrivers::fault::FaultyNetwork); what may go wrong is said in its
//! words here too. Everything follows from a seed and a plan: the same calls in the same order give the same faults on
//! every machine. Threads bring their own order.

mod adversarial_channel;
mod broadcast_filter;
pub mod conformance;
mod sim;

pub use adversarial_channel::{AdversarialChannel, Fragmented, Profile};
pub use broadcast_filter::BroadcastFilter;
pub use sim::{DeviceLimits, LinkParameters, Sim, SimNetwork};
