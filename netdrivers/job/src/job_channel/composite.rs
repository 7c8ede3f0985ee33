//! Shared memory beside a network, as one channel. `job_channel` only.

use super::inter_host::InterHost;
use super::traffic::Traffic;
use super::world_channel::WorldChannel;
use core::fmt;
use pombo_kernel::aspect::Cap;
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::deaths::DeathSource;
use pombo_netdrivers::shm::Shm;
use pombo_transport::Composite;

/// To every rank of a job of up to so many: its rank is its peer.
pub type JobChannel<const RANKS: usize> = Composite<Shm, InterHost<RANKS>, Cap<RANKS>, HeapStorage>;

impl<const RANKS: usize> WorldChannel for JobChannel<RANKS> {
    #[inline]
    fn memory(&mut self) -> &mut Shm {
        self.local_mut()
    }

    fn is_settled(&mut self) -> bool {
        self.remote_mut().is_none_or(InterHost::is_settled)
    }

    fn leave(&mut self) {
        self.local_mut().finish();
        if let Some(far) = self.remote_mut() {
            far.finish();
        }
    }

    fn death_sources(&self) -> (&dyn DeathSource, Option<&dyn DeathSource>) {
        let remote = self.remote().map(|far| far.failure_detector() as _);
        (self.local().deaths(), remote)
    }

    fn explain(&self, errno: i32, to: &mut dyn fmt::Write) -> fmt::Result {
        match self.remote() {
            Some(far) => far.link().inner().explain(errno, to),
            None => Ok(()),
        }
    }

    fn traffic(&self) -> Traffic {
        self.remote().map(InterHost::traffic).unwrap_or_default()
    }
}
