//! Joins and leaves a job in one call each, for a program over [`Communicator`].

use crate::group::{CASTS, GroupEndpoint};
use crate::job_channel::{JobChannel, Joined, WorldChannel, join};
use crate::settings::{check_own, spare_places};
use crate::{JobError, Launcher};
use pombo_kernel::{Communicator, Config, Error, Header, Memory, fingerprint};
use pombo_netdrivers::mailbox::{self, Mailboxes, SizeClasses};
use pombo_transport::multicast::NoBuffers;

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
    finish(comm.channel_mut(), launcher);
    Ok(())
}

/// Leaves the job as [`leave`] does, with an endpoint for groups.
///
/// # Errors
/// As [`leave`].
pub fn leave_groups<M: Memory, C: Config, const RANKS: usize>(
    mut comm: GroupEndpoint<JobChannel<RANKS>, C, M>,
    launcher: Option<Launcher>,
) -> Result<(), Error> {
    let mut idle = 0;
    while !(comm.port::<0>().is_flushed()
        && comm.port::<1>().is_flushed()
        && comm.channel_mut().is_settled()
        && comm.channel().has_settled_group(CASTS))
    {
        comm.port::<0>().progress_or_wait(&mut idle)?;
    }
    finish(comm.channel_mut(), launcher);
    Ok(())
}

fn finish(channel: &mut impl WorldChannel, launcher: Option<Launcher>) {
    channel.leave();
    if let Some(mut launcher) = launcher {
        launcher.finish();
    }
}

/// Joins the job as [`enter`] does, with mailboxes in place of a communicator. All ranks choose the same size classes.
///
/// # Errors
/// As [`enter`], and [`JobError::Kernel`] if the job has more ranks than mailboxes serve.
pub fn enter_mailboxes<const RANKS: usize>(
    classes: SizeClasses,
) -> Result<(Mailboxes<JobChannel<RANKS>>, Option<Launcher>), JobError> {
    let joined = join::<RANKS, NoBuffers>(check_own(), mailbox::fingerprint(classes));
    let Joined {
        channel, launcher, ..
    } = joined.map_err(|refused| refused.abort(1))?;
    let mailboxes = Mailboxes::new(channel, classes).map_err(|error| match error {
        mailbox::Error::Kernel(error) => JobError::Kernel(error),
        _ => JobError::Kernel(Error::Full),
    })?;
    // A place that nobody has taken keeps no names.
    mailboxes.set_keepers(mailboxes.peers().saturating_sub(spare_places()));
    Ok((mailboxes, launcher))
}

/// Leaves the job in good order, after everything that this rank posted has arrived. The other ranks must not need it any
/// more, also not as the keeper of the name of a mailbox.
///
/// # Errors
/// [`mailbox::Error::Kernel`] when the channel is broken. Then the rank has not left, and counts as dead when it ends.
pub fn leave_mailboxes<const RANKS: usize>(
    mailboxes: &Mailboxes<JobChannel<RANKS>>,
    launcher: Option<Launcher>,
) -> Result<(), mailbox::Error> {
    mailboxes.settle(WorldChannel::is_settled)?;
    mailboxes.with_channel(WorldChannel::leave);
    if let Some(mut launcher) = launcher {
        launcher.finish();
    }
    Ok(())
}
