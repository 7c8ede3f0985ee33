//! The way into a job, one for all: `bootstrap` finds out who is in it, and a channel to all ranks
//! is made of that.

use super::JobChannel;
#[cfg(feature = "hosts")]
use super::connect;
use crate::bootstrap::Launcher;
#[cfg(feature = "hosts")]
use crate::bootstrap::Net;
use crate::bootstrap::{Bootstrapped, JobError, JobInfo, JoinError, start};
#[cfg(feature = "hosts")]
use crate::environment::variable;
use crate::host_map::Hosts;
#[cfg(feature = "hosts")]
use crate::log::{self, LogLine};
#[cfg(feature = "hosts")]
use crate::settings::{STATS_FILE, VERBOSE};
use alloc::boxed::Box;
#[cfg(feature = "hosts")]
use pombo_kernel::{Channel, Peer};
use pombo_netdrivers::shm::Shm;
#[cfg(feature = "hosts")]
use pombo_transport::WithMulticast;
use pombo_transport::multicast::{BufferProvider, NoBuffers};

/// What a process that has joined gets.
pub struct Joined<const RANKS: usize, B: BufferProvider + Default + 'static = NoBuffers> {
    /// To all ranks.
    pub channel: JobChannel<RANKS, B>,
    /// On which host each rank is.
    pub hosts: Hosts,
    /// The launcher, if it wants to hear of the end.
    pub launcher: Option<Launcher>,
}

/// Joins the job that the environment names, or a job of one: a channel to all of its up to `RANKS` ranks, which are
/// its peers. Waits for the others. [`enter`](crate::enter) calls it, and so does whatever stands on this package. `B`
/// shows users' memory to the [groups](crate::groups) that may be opened on the channel.
///
/// `checked`: whether the variables say what they may, as [`check_own`](crate::settings::check_own) tells;
/// `fingerprint`: what all ranks must be composed as, as [`fingerprint`](pombo_kernel::fingerprint()) tells.
///
/// # Errors
/// [`JoinError::error`]: the environment says what cannot be, the launcher or another rank does not answer as it must,
/// this process was composed otherwise than another rank, or there is no way to all ranks that the user allows. A
/// channel over hosts for more ranks than `RANKS` is [`JobError::Kernel`].
#[cold]
pub fn join<const RANKS: usize, B: BufferProvider + Default + 'static>(
    checked: Result<(), JobError>,
    fingerprint: u64,
) -> Result<Joined<RANKS, B>, Box<JoinError>> {
    let Bootstrapped {
        shm,
        hosts,
        mut launcher,
        info,
    } = start(checked, fingerprint)?;
    let channel = match (info, &mut launcher) {
        (Some(info), Some(launcher)) => inter_host_channel::<RANKS, B>(info, &hosts, shm, launcher),
        _ => Ok(single_host_channel::<RANKS, B>(shm)),
    };
    match channel {
        Ok(channel) => Ok(Joined {
            channel,
            hosts,
            launcher,
        }),
        Err(error) => Err(Box::new(JoinError { error, launcher })),
    }
}

fn single_host_channel<const RANKS: usize, B: BufferProvider + 'static>(
    shm: Shm,
) -> JobChannel<RANKS, B> {
    #[cfg(feature = "hosts")]
    return JobChannel::local_only(shm);
    #[cfg(not(feature = "hosts"))]
    shm
}

/// The network between hosts, and the memory of this one.
#[cfg(feature = "hosts")]
#[inline(never)]
fn inter_host_channel<const RANKS: usize, B: BufferProvider + Default + 'static>(
    mut info: JobInfo,
    hosts: &Hosts,
    shm: Shm,
    launcher: &mut Launcher,
) -> Result<JobChannel<RANKS, B>, JobError> {
    if info.net == Net::Shm {
        return Err(JobError::NoNetwork {
            hosts: hosts.count(),
            why: "POMBO_NET is shm: set it to auto, udp or ethernet",
        });
    }
    let ring_keys = info.ring_keys.take().ok_or(JobError::NoAgreement)?;
    let (far, description) = connect::open(&info, hosts, ring_keys, launcher)?;
    let me = info.me;
    if me == Peer(0) {
        tell(&LogLine::of(format_args!(
            "{} ranks on {} hosts, between hosts {description}",
            far.peers(),
            hosts.count()
        )));
        tell(&LogLine::from(info.job.auth.description()));
    }
    let far = WithMulticast::new(far, B::default());
    Ok(JobChannel::new(shm, far, hosts.members(hosts.of(me)))?)
}

/// To whoever wants to know by what the ranks talk.
#[cfg(feature = "hosts")]
fn tell(what: &LogLine) {
    if VERBOSE.is_on() {
        log::error(&LogLine::of(format_args!("pombo: {what}")));
    }
    if let Some(path) = variable(STATS_FILE.name) {
        // That it cannot be written is said at the end.
        let _ = log::append(path, &LogLine::of(format_args!("# {what}")));
    }
}

#[cfg(not(feature = "hosts"))]
fn inter_host_channel<const RANKS: usize, B: BufferProvider + Default + 'static>(
    info: JobInfo,
    hosts: &Hosts,
    _: Shm,
    _: &mut Launcher,
) -> Result<JobChannel<RANKS, B>, JobError> {
    let _ = (info.job, info.one_machine, info.net, info.me);
    Err(JobError::NoNetwork {
        hosts: hosts.count(),
        why: "this library was built without the feature 'hosts'",
    })
}
