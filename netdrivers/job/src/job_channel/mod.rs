//! One channel to all ranks: shared memory among the ranks of a host, UDP or raw Ethernet between hosts. `join` builds
//! it from the result of `bootstrap`; [`WorldChannel`] gives access to the shared memory or the network alone.
//!
//! A job on one host pays one comparison for the absent network. Without the feature `hosts` there is none.

#[cfg(feature = "hosts")]
mod bulk;
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
mod kept_place;
#[cfg(feature = "hosts")]
mod link;
#[cfg(feature = "hosts")]
mod local_address;
#[cfg(feature = "hosts")]
mod peer_addresses;
#[cfg(feature = "hosts")]
mod pending_handshakes;
#[cfg(feature = "hosts")]
mod raw_ethernet;
mod traffic;

pub use channel_queries::WorldChannel;
#[cfg(feature = "hosts")]
pub use composite::JobChannel;
pub use join::{Joined, join};
#[cfg(feature = "hosts")]
pub use kept_place::{KeptPlace, Withdrawal};
pub use traffic::Traffic;

/// The channel to every rank of a job: a rank is its peer.
#[cfg(not(feature = "hosts"))]
pub type JobChannel<const RANKS: usize, B = pombo_transport::multicast::NoBuffers> =
    <B as OneHost>::Channel;

/// Maps every `B` to the same channel: without hosts there are no groups that need access to users' memory.
#[cfg(not(feature = "hosts"))]
#[doc(hidden)]
pub trait OneHost {
    /// The channel to the ranks of this host.
    type Channel;
}

// In a box, as it is passed on at the start by many functions.
#[cfg(not(feature = "hosts"))]
impl<B> OneHost for B {
    type Channel = alloc::boxed::Box<pombo_netdrivers::shm::Shm>;
}
