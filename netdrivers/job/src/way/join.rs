//! Makes the channel to all ranks of what `place` has found out. `way` only.

use super::Way;
#[cfg(feature = "hosts")]
use super::opening;
#[cfg(feature = "hosts")]
use crate::environment::variable;
use crate::hosts::Hosts;
#[cfg(feature = "hosts")]
use crate::output::{self, Line};
use crate::place::Launcher;
#[cfg(feature = "hosts")]
use crate::place::Net;
use crate::place::{JobError, Met, Refused, Start};
#[cfg(feature = "hosts")]
use crate::settings::{STATS, VERBOSE};
use alloc::boxed::Box;
#[cfg(feature = "hosts")]
use pombo_kernel::{Channel, Node};
use pombo_netdrivers::shm::Shm;

/// What a process that has joined gets.
pub struct Joined<const RANKS: usize> {
    /// To all ranks.
    pub way: Way<RANKS>,
    /// On which host each rank is.
    pub hosts: Hosts,
    /// The launcher, if it wants to hear of the end.
    pub launcher: Option<Launcher>,
}

/// Joins a job of up to so many ranks: a channel to all of them, whose nodes are the ranks. Waits for the others.
///
/// # Errors
/// There is no way to all ranks that the user allows: [`Refused::error`]. A channel over hosts for more ranks than
/// `RANKS` is [`JobError::Kernel`].
#[cold]
pub fn join<const RANKS: usize>(start: Start) -> Result<Joined<RANKS>, Box<Refused>> {
    let Start {
        near,
        hosts,
        mut launcher,
        met,
    } = start;
    let way = match (met, &mut launcher) {
        (Some(met), Some(launcher)) => over_hosts::<RANKS>(met, &hosts, near, launcher),
        _ => Ok(of_one_host::<RANKS>(near)),
    };
    match way {
        Ok(way) => Ok(Joined {
            way,
            hosts,
            launcher,
        }),
        Err(error) => Err(Box::new(Refused { error, launcher })),
    }
}

fn of_one_host<const RANKS: usize>(near: Shm) -> Way<RANKS> {
    #[cfg(feature = "hosts")]
    return Way::alone(near);
    #[cfg(not(feature = "hosts"))]
    near
}

/// The network between hosts, and the memory of this one.
#[cfg(feature = "hosts")]
#[inline(never)]
fn over_hosts<const RANKS: usize>(
    mut met: Met,
    hosts: &Hosts,
    near: Shm,
    launcher: &mut Launcher,
) -> Result<Way<RANKS>, JobError> {
    if met.net == Net::Shm {
        return Err(JobError::NoNetwork {
            hosts: hosts.count(),
            why: "POMBO_NET is shm: set it to auto, udp or ethernet",
        });
    }
    let links = met.links.take().ok_or(JobError::NoAgreement)?;
    let (far, told) = opening::open(&met, hosts, links, launcher)?;
    let me = met.me;
    if me == Node(0) {
        tell(&Line::of(format_args!(
            "{} ranks on {} hosts, between hosts {told}",
            far.nodes(),
            hosts.count()
        )));
        tell(&Line::from(met.job.auth.told()));
    }
    Ok(Way::new(near, far, hosts.members(hosts.of(me)))?)
}

/// To whoever wants to know by what the ranks talk.
#[cfg(feature = "hosts")]
fn tell(what: &Line) {
    if VERBOSE.is_on() {
        output::error(&Line::of(format_args!("pombo: {what}")));
    }
    if let Some(path) = variable(STATS.name) {
        // That it cannot be written is said at the end.
        let _ = output::append(path, &Line::of(format_args!("# {what}")));
    }
}

#[cfg(not(feature = "hosts"))]
fn over_hosts<const RANKS: usize>(
    met: Met,
    hosts: &Hosts,
    _: Shm,
    _: &mut Launcher,
) -> Result<Way<RANKS>, JobError> {
    let _ = (met.job, met.one_machine, met.net, met.me);
    Err(JobError::NoNetwork {
        hosts: hosts.count(),
        why: "this library was built without the feature 'hosts'",
    })
}
