//! `POMBO_FAULT_LOSS`: frames that are lost on purpose. `job_channel` only.
//!
//! Without the feature `fault` there is nothing between the protocols and the network.

use crate::bootstrap::JobError;
use crate::settings::FAULT_LOSS;
use crate::settings::loss::parse;
use pombo_kernel::Network;
#[cfg(feature = "fault")]
use pombo_netdrivers::fault::{FaultyNetwork, Rate};
use pombo_transport::ContiguousFrame;

/// A network of which frames are lost on purpose.
#[cfg(feature = "fault")]
pub(super) type Lossy<N> = FaultyNetwork<N>;

/// A network of which no frames are lost on purpose.
#[cfg(not(feature = "fault"))]
pub(super) type Lossy<N> = N;

/// What is to be lost.
#[derive(Clone, Copy)]
pub(super) struct Loss {
    /// Arriving frames in a million.
    #[cfg_attr(not(feature = "fault"), expect(dead_code, reason = "it is 0"))]
    ppm: u32,
    /// Chooses them.
    #[cfg_attr(not(feature = "fault"), expect(dead_code, reason = "none is chosen"))]
    seed: u64,
}

impl Loss {
    /// As the environment says.
    ///
    /// # Errors
    /// [`JobError::Variable`]: it says something else. `NotBuilt`: frames are to be lost, and this library cannot.
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

    /// That network, with it.
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

/// The network itself.
pub(super) fn below<N: Network>(network: &Lossy<N>) -> &N {
    #[cfg(feature = "fault")]
    return network.inner();
    #[cfg(not(feature = "fault"))]
    network
}

/// Frames lost on purpose so far.
pub(super) fn lost<N: Network>(network: &Lossy<N>) -> u64 {
    #[cfg(feature = "fault")]
    return network.counts().lost;
    #[cfg(not(feature = "fault"))]
    {
        let _ = network;
        0
    }
}
