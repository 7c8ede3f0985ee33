//! `POMBO_FAULT_LOSS` and `POMBO_FAULT_DELAY`: injected loss and delay of frames. Only `job_channel` uses it.
//!
//! Without the feature `fault` nothing is between the protocols and the network.

use crate::bootstrap::JobError;
use crate::settings::loss::parse;
use crate::settings::{FAULT_DELAY, FAULT_LOSS};
use alloc::boxed::Box;
use pombo_kernel::Network;
#[cfg(feature = "fault")]
use pombo_netdrivers::fault::{Delays, FaultyNetwork, Rate};
use pombo_transport::ContiguousFrame;

/// A network with injected loss and delay.
#[cfg(feature = "fault")]
pub(super) type Lossy<N> = FaultyNetwork<N>;

/// A network without either.
#[cfg(not(feature = "fault"))]
pub(super) type Lossy<N> = N;

/// The loss and the delays to inject.
pub(super) struct Loss {
    /// Number of lost frames in a million that arrive.
    #[cfg_attr(not(feature = "fault"), expect(dead_code, reason = "it is 0"))]
    ppm: u32,
    /// Seed of the random choice of frames.
    #[cfg_attr(not(feature = "fault"), expect(dead_code, reason = "none is chosen"))]
    seed: u64,
    #[cfg(feature = "fault")]
    delays: Delays,
}

impl Loss {
    /// Reads the environment variables.
    ///
    /// # Errors
    /// [`JobError::Variable`]: a value is invalid. `NotBuilt`: it requires loss, and this library is built without it.
    pub(super) fn read() -> Result<Self, Box<JobError>> {
        let (ppm, seed) = FAULT_LOSS.read(parse)?;
        #[cfg(not(feature = "fault"))]
        for (variable, wanted) in [
            (FAULT_LOSS, ppm > 0),
            (FAULT_DELAY, FAULT_DELAY.text().is_some()),
        ] {
            if wanted {
                return Err(Box::new(JobError::NotBuilt {
                    name: variable.name(),
                    feature: "fault",
                }));
            }
        }
        Ok(Loss {
            ppm,
            seed,
            #[cfg(feature = "fault")]
            delays: FAULT_DELAY.read(|text| text.parse().ok())?,
        })
    }

    /// Wraps a network with this loss and these delays.
    #[inline]
    pub(super) fn over<N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>>>(
        self,
        network: N,
    ) -> Lossy<N> {
        #[cfg(feature = "fault")]
        return FaultyNetwork::with_delays(network, self.delays, Rate::ppm(self.ppm), self.seed);
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
