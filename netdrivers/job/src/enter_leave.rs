//! Joins and leaves a job in one call each, for a program over [`Communicator`].

use crate::job_channel::{JobChannel, Joined, WorldChannel, join};
use crate::settings::check_own;
use crate::{JobError, Launcher};
use pombo_kernel::{Communicator, Config, Error, Header, Memory, fingerprint};

/// Joins the job in which this process was started, as one of up to `RANKS` ranks that all use the same header in the
/// same composition. Waits for the others. A process started without a launcher is a job of one. The function is
/// [`join`] for programs without variables and exit codes of their own.
///
/// # Errors
/// The reason why the process cannot join. The launcher has been told that the job ends with exit code 1, with which
/// this process must end.
pub fn enter<H: Header, C: Config, const RANKS: usize>() -> Result<Joined<RANKS>, JobError> {
    join(check_own(), fingerprint::<H, C>()).map_err(|refused| refused.abort(1))
}

/// Leaves the job in good order, after everything that this rank sent has arrived.
///
/// # Errors
/// [`Error::Channel`] when the channel is broken. Then the rank has not left, and counts as dead when it ends.
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
