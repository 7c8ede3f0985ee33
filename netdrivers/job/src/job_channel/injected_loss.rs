//! `POMBO_FAULT_LOSS`: injected loss of frames. Only `job_channel` uses it.
//!
//! Without the feature `fault` nothing is between the protocols and the network.

use crate::bootstrap::JobError;
use crate::settings::FAULT_LOSS;
use crate::settings::loss::parse;
use pombo_kernel::Network;
#[cfg(feature = "fault")]
use pombo_netdrivers::fault::{FaultyNetwork, Rate};
use pombo_transport::ContiguousFrame;

/// A network with injected loss.
#[cfg(feature = "fault")]
pub(super) type Lossy<N> = FaultyNetwork<N>;

/// A network without injected loss.
#[cfg(not(feature = "fault"))]
pub(super) type Lossy<N> = N;

/// The loss to inject.
#[derive(Clone, Copy)]
pub(super) struct Loss {
    /// Number of lost frames in a million that arrive.
    #[cfg_attr(not(feature = "fault"), expect(dead_code, reason = "it is 0"))]
    ppm: u32,
    /// Seed of the random choice of frames.
    #[cfg_attr(not(feature = "fault"), expect(dead_code, reason = "none is chosen"))]
    seed: u64,
}

impl Loss {
    /// Reads the environment variable.
    ///
    /// # Errors
    /// [`JobError::Variable`]: its value is invalid. `NotBuilt`: it requires loss, and this library is built without
    /// it.
    pub(super) fn read() -> Result<Self, JobError> {
        let (ppm, seed) = FAULT_LOSS.read(parse)?;
        #[cfg(not(feature = "fault"))]
        if ppm > 0 {
            return Err(JobError::NotBuilt {
                name: FAULT_LOSS.name(),
                feature: "fault",
            });
        }
        Ok(Loss { ppm, seed })
    }

    /// Wraps a network with this loss.
    #[inline]
    pub(super) fn over<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>>>(
        self,
        network: N,
    ) -> Lossy<N> {
        #[cfg(feature = "fault")]
        return FaultyNetwork::with_loss(network, Rate::ppm(self.ppm), self.seed);
        #[cfg(not(feature = "fault"))]
        network
    }
}

/// Returns the network below.
pub(super) fn below<N: Network>(network: &Lossy<N>) -> &N {
    #[cfg(feature = "fault")]
    return network.inner();
    #[cfg(not(feature = "fault"))]
    network
}

/// Returns the number of frames lost by injection.
pub(super) fn lost<N: Network>(network: &Lossy<N>) -> u64 {
    #[cfg(feature = "fault")]
    return network.counts().lost;
    #[cfg(not(feature = "fault"))]
    {
        let _ = network;
        0
    }
}
