//! One channel to all ranks: shared memory among the ranks of a host, UDP or raw Ethernet between hosts. `join` makes it
//! of what `bootstrap` has found out; whoever wants the memory or the network alone asks [`WorldChannel`].
//!
//! A job on one host pays a comparison for the network that is not there. Without the feature `hosts` there is none.

#[cfg(feature = "hosts")]
mod address_card;
mod channel_queries;
#[cfg(feature = "hosts")]
mod composite;
#[cfg(feature = "hosts")]
mod connect;
#[cfg(feature = "hosts")]
mod failure_detector;
#[cfg(feature = "hosts")]
pub mod groups;
#[cfg(feature = "hosts")]
mod injected_loss;
#[cfg(feature = "hosts")]
mod inter_host;
mod join;
#[cfg(feature = "hosts")]
mod link;
#[cfg(feature = "hosts")]
mod local_address;
#[cfg(feature = "hosts")]
mod pending_handshakes;
#[cfg(feature = "hosts")]
mod raw_ethernet;
mod traffic;

pub use channel_queries::WorldChannel;
#[cfg(feature = "hosts")]
pub use composite::JobChannel;
pub use join::{Joined, join};
pub use traffic::Traffic;

/// To every rank of a job: its rank is its peer.
#[cfg(not(feature = "hosts"))]
pub type JobChannel<const RANKS: usize, B = pombo_transport::multicast::NoBuffers> =
    <B as OneHost>::Channel;

/// There are no groups between hosts, whatever would show them memory.
#[cfg(not(feature = "hosts"))]
#[doc(hidden)]
pub trait OneHost {
    /// To the ranks of this host.
    type Channel;
}

#[cfg(not(feature = "hosts"))]
impl<B> OneHost for B {
    type Channel = pombo_netdrivers::shm::Shm;
}
