//! What a channel knows of the peers that it has lost.

use super::Verdict;
#[cfg(feature = "hosts")]
use super::cast_channel::CastChannel;
#[cfg(feature = "hosts")]
use crate::job_channel::{JobChannel, WorldChannel};
use pombo_kernel::{Channel, Peer};
use pombo_netdrivers::Loopback;
use pombo_netdrivers::deaths::DeathSource;
use pombo_netdrivers::shm::Shm;
#[cfg(feature = "hosts")]
use pombo_transport::multicast::BufferProvider;

/// A channel that tells ended processes from those that do not answer. A wrong "dead" can split the groups in two.
pub trait Verdicts: Channel {
    /// Returns what is known of a peer that the channel has reported lost.
    fn verdict(&self, peer: Peer) -> Verdict;

    /// Returns whether that peer's process has joined the job, or has ended.
    fn has_started(&self, peer: Peer) -> bool;

    /// Returns whether a peer can be out of reach and live.
    fn can_be_partitioned(&self) -> bool {
        false
    }

    /// Returns the part of the channel on which one frame reaches several hosts, if there are several.
    #[cfg(feature = "hosts")]
    #[doc(hidden)]
    fn cast_channel(&mut self) -> Option<&mut dyn CastChannel> {
        None
    }
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

fn of_source(source: &dyn DeathSource, peer: Peer) -> Verdict {
    match (source.is_unreachable(peer), source.has_finished(peer)) {
        (true, _) => Verdict::Unreachable,
        (_, true) => Verdict::Left,
        _ => Verdict::Dead,
    }
}

/// The system of a host knows which of its processes have ended.
impl Verdicts for Shm {
    fn verdict(&self, peer: Peer) -> Verdict {
        of_source(self.deaths(), peer)
    }

    fn has_started(&self, peer: Peer) -> bool {
        self.deaths().has_started(peer)
    }
}

#[cfg(not(feature = "hosts"))]
impl Verdicts for alloc::boxed::Box<Shm> {
    fn verdict(&self, peer: Peer) -> Verdict {
        (**self).verdict(peer)
    }

    fn has_started(&self, peer: Peer) -> bool {
        (**self).deaths().has_started(peer)
    }
}

#[cfg(feature = "hosts")]
impl<const RANKS: usize, B: BufferProvider + 'static> Verdicts for JobChannel<RANKS, B> {
    fn verdict(&self, peer: Peer) -> Verdict {
        let (local, remote) = self.death_sources();
        of_source(remote.unwrap_or(local), peer)
    }

    fn has_started(&self, peer: Peer) -> bool {
        // Ranks of this host are there since the start if there are others.
        let (local, remote) = self.death_sources();
        remote.unwrap_or(local).has_started(peer)
    }

    fn can_be_partitioned(&self) -> bool {
        self.remote().is_some()
    }

    fn cast_channel(&mut self) -> Option<&mut dyn CastChannel> {
        self.remote().is_some().then_some(self as _)
    }
}
