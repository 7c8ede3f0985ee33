//! The short way into a job and out of it, for a program over [`Communicator`].

use crate::job_channel::{JobChannel, Joined, WorldChannel, join};
use crate::settings::check_own;
use crate::{JobError, Launcher};
use pombo_kernel::{Communicator, Config, Error, Header, Memory, fingerprint};

/// Joins the job in which this process was started, as one of up to `RANKS` ranks that all speak the protocol of this
/// header in this composition. Waits for the others. A process that nobody started is a job of one. It is [`join`] for
/// programs that have no variables and no exit codes of their own.
///
/// # Errors
/// What keeps it out. The launcher has been told that the job ends with exit code 1, which this process has to end with.
pub fn enter<H: Header, C: Config, const RANKS: usize>() -> Result<Joined<RANKS>, JobError> {
    join(check_own(), fingerprint::<H, C>()).map_err(|refused| refused.abort(1))
}

/// Leaves the job in good order: what this rank has sent has arrived.
///
/// # Errors
/// [`Error::Channel`] when the channel is broken. The rank has not left then, and counts as dead when it ends.
pub fn leave<H: Header, M: Memory, C: Config, const RANKS: usize>(
    mut comm: Communicator<H, JobChannel<RANKS>, M, C>,
    launcher: Option<Launcher>,
) -> Result<(), Error> {
    let mut idle = 0;
    while !(comm.is_flushed() && comm.channel_mut().is_settled()) {
        comm.progress_or_wait(&mut idle)?;
    }
    comm.channel_mut().leave();
    if let Some(mut launcher) = launcher {
        launcher.finish();
    }
    Ok(())
}
