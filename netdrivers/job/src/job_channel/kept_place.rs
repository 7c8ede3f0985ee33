//! A rank of a job on several hosts without a program: it keeps a place for a process that joins while the job runs. To
//! the others it is a rank of which [`WorldChannel::has_started`] says that it has not been there.

use super::{JobChannel, Joined, WorldChannel, join};
use crate::bootstrap::file_descriptor::Descriptor;
use crate::bootstrap::{JobError, KEEPS_PLACE, Launcher};
use crate::environment::{number, wrong};
use crate::settings::check_own;
use alloc::boxed::Box;
use core::ffi::c_int;
use pombo_kernel::Peer;
use pombo_netdrivers::deaths::DeathSource;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

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
            _ => Err(*no_launcher()),
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

    /// Ends the whole job with this exit code.
    pub fn abort(mut self, code: c_int) {
        self.launcher.abort(code);
        // When its connection closes the launcher may kill this process before it has read that code.
        core::mem::forget(self.launcher);
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

/// A second hold of the connection to the launcher. By it a thread withdraws from the job while another one of this process
/// waits in [`KeptPlace::enter`].
pub struct Withdrawal(Descriptor);

impl Withdrawal {
    /// Prepares it, before the job is entered.
    ///
    /// # Errors
    /// [`JobError`] if no launcher of several hosts has started this process, or the system refuses the call.
    pub fn new() -> Result<Self, JobError> {
        let connection = number(c"PMI_FD")?.ok_or_else(no_launcher)? as c_int;
        let second = pidfd_open(getpid(), PidfdFlags::empty())
            .and_then(|own| pidfd_getfd(own, connection, PidfdGetfdFlags::empty()));
        let second = second.map_err(JobError::failed("hold the launcher's connection"))?;
        Ok(Withdrawal(second.into()))
    }

    /// Tells the launcher that this process leaves in good order. It must end soon: [`KeptPlace::enter`] takes the answer for
    /// an error, with which it ends the job after 200 ms.
    pub fn withdraw(self) {
        // If this fails, there is nobody left to tell.
        let _ = self.0.write_all(b"cmd=finalize\n");
    }
}

fn no_launcher() -> Box<JobError> {
    wrong(c"PMI_FD", "set by the launcher of a job on several hosts")
}
