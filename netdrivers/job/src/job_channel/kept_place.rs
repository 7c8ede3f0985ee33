//! A rank of a job on several hosts without a program: it keeps a place for a process that joins while the job runs. To
//! the others it is a rank of which [`WorldChannel::has_started`] says that it has not been there.

use super::{JobChannel, Joined, WorldChannel, join};
use crate::bootstrap::{JobError, KEEPS_PLACE, Launcher};
use crate::environment::wrong;
use crate::settings::check_own;
use pombo_kernel::Peer;
use pombo_netdrivers::deaths::DeathSource;

/// A place that is kept, and the channel to all ranks. If it is dropped without [`KeptPlace::leave`], the rank counts as
/// dead.
pub struct KeptPlace<const RANKS: usize> {
    channel: JobChannel<RANKS>,
    launcher: Launcher,
    fingerprint: u64,
}

impl<const RANKS: usize> KeptPlace<RANKS> {
    /// Takes part in the job in which a launcher of several hosts has started this process, as one of its last ranks.
    /// Waits for the others.
    ///
    /// # Errors
    /// Those of [`join`]; the launcher has been told that the job ends with exit code 1.
    pub fn enter() -> Result<Self, JobError> {
        let joined = join::<RANKS, _>(check_own(), KEEPS_PLACE);
        let Joined {
            channel, launcher, ..
        } = joined.map_err(|refused| refused.abort(1))?;
        let fingerprint = channel.remote().map(|far| far.channel().fingerprint());
        match (launcher, fingerprint) {
            (Some(launcher), Some(fingerprint)) => Ok(KeptPlace {
                channel,
                launcher,
                fingerprint,
            }),
            _ => Err(wrong(
                c"PMI_FD",
                "set by the launcher of a job on several hosts",
            )),
        }
    }

    /// Returns the channel, by which the process that joins is to be reached.
    pub fn channel(&mut self) -> &mut JobChannel<RANKS> {
        &mut self.channel
    }

    /// Returns the fingerprint of the job's composition, which the process that joins must have.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns the source of the deaths of all other ranks.
    pub fn deaths(&self) -> &dyn DeathSource {
        let (local, remote) = self.channel.death_sources();
        remote.unwrap_or(local)
    }

    /// Returns whether that other rank has ended, as far as it is known since [`KeptPlace::is_settled`] or a poll.
    pub fn has_ended(&self, rank: Peer) -> bool {
        let far = self.channel.remote();
        far.is_none_or(|far| far.channel().failure_detector().has_ended(rank))
    }

    /// Tells all others that a process has come.
    pub fn report_taken(&mut self) {
        if let Some(far) = self.channel.remote() {
            far.channel().report_taken();
        }
    }

    /// Returns whether everything that was sent has arrived.
    pub fn is_settled(&mut self) -> bool {
        self.channel.is_settled()
    }

    /// Leaves the job: in good order, or as a process that has died. That is none to the launcher, which would end the job.
    pub fn leave(mut self, in_good_order: bool) {
        if in_good_order {
            self.channel.leave();
        }
        self.launcher.finish();
    }
}
