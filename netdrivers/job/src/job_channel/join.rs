//! Joins a job, for MPI and for programs without it: `bootstrap` determines its ranks, and the channel to all ranks is
//! built from that.

use super::JobChannel;
#[cfg(feature = "hosts")]
use super::{connect, raw_ethernet::is_by_pnet};
use crate::bootstrap::Launcher;
#[cfg(feature = "hosts")]
use crate::bootstrap::Net;
use crate::bootstrap::{Bootstrapped, JobError, JobInfo, JoinError, start};
#[cfg(feature = "hosts")]
use crate::environment::variable;
#[cfg(feature = "hosts")]
use crate::fixed_string::text;
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

/// The result of joining a job.
pub struct Joined<const RANKS: usize, B: BufferProvider + Default + 'static = NoBuffers> {
    /// The channel to all ranks.
    pub channel: JobChannel<RANKS, B>,
    /// The host of each rank.
    pub hosts: Hosts,
    /// The launcher, if it expects a report of the end.
    pub launcher: Option<Launcher>,
}

/// Joins the job that the environment names, or a job of one: opens a channel to all of its up to `RANKS` ranks, which
/// are its peers. Waits for the others. Programs call [`enter`](crate::enter), which calls it, or this function, if
/// they have settings of their own. `B` gives the groups that may be opened on the channel access to users' memory.
///
/// `checked` is the result of checking the variables, such as that of [`check_own`](crate::settings::check_own);
/// `fingerprint` is that of the composition, which must be equal in all ranks, as computed by
/// [`fingerprint`](pombo_kernel::fingerprint()).
///
/// # Errors
/// [`JoinError::error`]: the environment is invalid, the launcher or another rank violates the protocol, this process
/// has another composition than another rank, or no permitted network reaches all ranks. A channel over hosts for more
/// ranks than `RANKS` is [`JobError::Kernel`].
#[cold]
pub fn join<const RANKS: usize, B: BufferProvider + Default + 'static>(
    checked: Result<(), Box<JobError>>,
    fingerprint: u64,
) -> Result<Joined<RANKS, B>, Box<JoinError>> {
    let Bootstrapped {
        shm,
        hosts,
        mut launcher,
        info,
    } = start(checked, fingerprint)?;
    let channel = match (info, &mut launcher) {
        (Some(info), Some(launcher)) => {
            inter_host_channel::<RANKS, B>(info, &hosts, *shm, launcher)
        }
        _ => {
            #[cfg(feature = "hosts")]
            tell_unused_pnet(shm.me());
            Ok(single_host_channel::<RANKS, B>(shm))
        }
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
    shm: Box<Shm>,
) -> JobChannel<RANKS, B> {
    #[cfg(feature = "hosts")]
    return JobChannel::local_only(*shm);
    #[cfg(not(feature = "hosts"))]
    shm
}

/// Says that the library cannot do what `POMBO_ETHERNET_IO` asks, although ranks of one host do without.
#[cfg(feature = "hosts")]
fn tell_unused_pnet(me: Peer) {
    if me == Peer(0)
        && let Err(error) = is_by_pnet()
    {
        log::error(&text!(
            "pombo: {}; this job has no raw frames and goes on",
            error
        ));
    }
}

/// Builds the channel from the network between hosts and the shared memory of this one.
#[cfg(feature = "hosts")]
#[inline(never)]
fn inter_host_channel<const RANKS: usize, B: BufferProvider + Default + 'static>(
    mut info: JobInfo,
    hosts: &Hosts,
    shm: Shm,
    launcher: &mut Launcher,
) -> Result<JobChannel<RANKS, B>, Box<JobError>> {
    if info.net == Net::Shm {
        return Err(Box::new(JobError::NoNetwork {
            hosts: hosts.count(),
            why: "POMBO_NET is shm: set it to auto, udp or ethernet",
        }));
    }
    let ring_keys = info
        .ring_keys
        .take()
        .ok_or_else(|| Box::new(JobError::NoAgreement))?;
    let (far, description) = connect::open(&info, hosts, ring_keys, launcher)?;
    let me = info.me;
    if me == Peer(0) {
        let (ranks, hosts) = (far.peers(), hosts.count());
        tell(&match info.one_machine {
            true => text!(
                "{} ranks on one machine, as if on {} hosts, between these {}",
                ranks,
                hosts,
                description
            ),
            false => text!(
                "{} ranks on {} hosts, between hosts {}",
                ranks,
                hosts,
                description
            ),
        });
        tell(&LogLine::from(info.job.auth.description()));
    }
    let far = WithMulticast::new(far, B::default());
    Ok(JobChannel::new(shm, far, hosts.members(hosts.of(me)))?)
}

/// Logs by which network the ranks communicate, for users who ask for it.
#[cfg(feature = "hosts")]
fn tell(what: &LogLine) {
    if VERBOSE.is_on() {
        log::error(&text!("pombo: {}", what));
    }
    if let Some(path) = variable(STATS_FILE.name) {
        // A failed write is reported at the end of the job.
        let _ = log::append(path, &text!("# {}", what));
    }
}

#[cfg(not(feature = "hosts"))]
fn inter_host_channel<const RANKS: usize, B: BufferProvider + Default + 'static>(
    _: JobInfo,
    hosts: &Hosts,
    _: Shm,
    _: &mut Launcher,
) -> Result<JobChannel<RANKS, B>, Box<JobError>> {
    Err(Box::new(JobError::NoNetwork {
        hosts: hosts.count(),
        why: "this library was built without the feature 'hosts'",
    }))
}
