//! What a channel knows of the peers that it has lost.

use super::Verdict;
#[cfg(feature = "hosts")]
use crate::job_channel::{JobChannel, WorldChannel};
use pombo_kernel::{Channel, Peer};
use pombo_netdrivers::Loopback;
use pombo_netdrivers::shm::Shm;
#[cfg(feature = "hosts")]
use pombo_transport::multicast::BufferProvider;

/// A channel that tells ended processes from those that do not answer. A wrong "dead" can split the groups in two.
pub trait Verdicts: Channel {
    /// Returns what is known of a peer that the channel has reported lost.
    fn verdict(&self, peer: Peer) -> Verdict;

    /// Returns whether that peer's process has joined the job, or has ended.
    fn has_started(&self, peer: Peer) -> bool;
}

/// Ranks that are threads: one is lost when its channel is dropped.
impl Verdicts for Loopback {
    fn verdict(&self, _: Peer) -> Verdict {
        Verdict::Dead
    }

    fn has_started(&self, _: Peer) -> bool {
        true
    }
}

/// The system of a host knows which of its processes have ended.
impl Verdicts for Shm {
    fn verdict(&self, _: Peer) -> Verdict {
        Verdict::Dead
    }

    fn has_started(&self, peer: Peer) -> bool {
        self.deaths().has_started(peer)
    }
}

#[cfg(feature = "hosts")]
impl<const RANKS: usize, B: BufferProvider + 'static> Verdicts for JobChannel<RANKS, B> {
    fn verdict(&self, peer: Peer) -> Verdict {
        match self.death_sources().1 {
            Some(remote) if remote.is_unreachable(peer) => Verdict::Unreachable,
            _ => Verdict::Dead,
        }
    }

    fn has_started(&self, peer: Peer) -> bool {
        // Places for processes that join later are on the launcher's host, where ranks are places.
        match self.death_sources() {
            (local, None) => local.has_started(peer),
            (_, Some(_)) => true,
        }
    }
}
