//! The place of this process in its job: what launcher and environment say of it, and the way to the other ranks. Only
//! `init` joins.
//!
//! | who started it | says so by | ranks meet |
//! | --- | --- | --- |
//! | `pombo run` | `POMBO_RANK`, `POMBO_SIZE`, `POMBO_SHM_FD` | in the launcher's memory file; where `POMBO_NET` is udp or `POMBO_HOST` is set they only exchange addresses there |
//! | somebody, by hand | `POMBO_RANK`, `POMBO_SIZE`, `POMBO_JOB` | by the name of the job |
//! | Hydra's `mpiexec`, `srun --mpi=pmi2` | `PMI_FD` or `PMI_PORT` | by the launcher's store of keys and values |
//! | nobody | | alone |

mod assembly;
mod card;
pub(crate) mod descriptor;
mod error;
mod host;
pub(crate) mod launcher;
mod net;
mod pmi;

pub(crate) use card::Job;
pub use error::PlaceError;

use crate::environment::{number, text, wrong};
use crate::header::FINGERPRINT;
use crate::hosts::Hosts;
use crate::way::{self, Way};
#[cfg(feature = "hosts")]
use crate::way::{Addresses, Opening};
use alloc::format;
use assembly::Assembly;
use card::Card;
use core::ffi::c_int;
use launcher::Launcher;
use net::Net;
use pmi::Pmi;
use pombo_kernel::Node;
use pombo_netdrivers::shm::{self, Segment, Shm};

/// What a process that has joined gets.
pub(crate) struct Joined {
    pub(crate) way: Way,
    pub(crate) hosts: Hosts,
    /// The launcher, if it wants to hear of the end.
    pub(crate) launcher: Option<Launcher>,
}

/// Joins the job that the environment names, or makes a world of one.
pub(crate) fn join() -> Result<Joined, PlaceError> {
    let net = Net::read()?;
    let near = match (number(c"POMBO_RANK")?, number(c"POMBO_SIZE")?) {
        (None, None) => match Pmi::connect()? {
            Some(pmi) => return by_launcher(Launcher::Pmi(pmi), net),
            None => Shm::alone()?,
        },
        (Some(rank), Some(size)) if rank < size => {
            let shm = on_this_host(rank, size)?;
            let apart = matches!(net, Net::Udp { .. }) || host::is_told();
            if apart && size > 1 {
                return by_launcher(Launcher::Memory(Assembly::new(shm)), net);
            }
            shm
        }
        _ => {
            let must = "a rank below a size, both set or neither";
            return Err(wrong(c"POMBO_RANK and POMBO_SIZE", must));
        }
    };
    let hosts = Hosts::one(near.segment().ranks());
    Ok(Joined {
        way: way::of_one_host(near),
        hosts,
        launcher: None,
    })
}

/// The rank as the environment tells it, before anybody has joined.
pub(crate) fn rank() -> usize {
    let rank = [c"POMBO_RANK", c"PMI_RANK"].into_iter();
    rank.flat_map(number).flatten().next().unwrap_or(0)
}

fn on_this_host(rank: usize, size: usize) -> Result<Shm, PlaceError> {
    Ok(match (number(c"POMBO_SHM_FD")?, text(c"POMBO_JOB")) {
        (Some(file), _) => Shm::attach(Segment::open(file as c_int)?, rank, FINGERPRINT)?,
        (None, Some(job)) => shm::meet(job, rank, size, FINGERPRINT)?,
        // A rank of a larger world that nobody can reach.
        (None, None) if size > 1 => {
            return Err(wrong(
                c"POMBO_SHM_FD or POMBO_JOB",
                "set where POMBO_SIZE is above 1",
            ));
        }
        (None, None) => Shm::alone()?,
    })
}

/// Every rank tells where it is; those of one host meet in memory, hosts over the network.
fn by_launcher(mut launcher: Launcher, net: Net) -> Result<Joined, PlaceError> {
    let rank = launcher.rank();
    let (hosts, job) = introduce(&mut launcher, net)?;
    let members = hosts.members(hosts.of(Node(rank as u16)));
    let near = meet(job, rank, members)?;
    let way = match hosts.is_one() {
        true => way::of_one_host(near),
        false => over_hosts(&mut launcher, net, job, &hosts, near)?,
    };
    Ok(Joined {
        way,
        hosts,
        launcher: Some(launcher),
    })
}

/// Exchanges cards.
fn introduce(launcher: &mut Launcher, net: Net) -> Result<(Hosts, Job), PlaceError> {
    let rank = launcher.rank();
    let alone = match net {
        // A host of its own.
        Net::Udp { .. } if !host::is_told() => host::hash(host::START, &rank.to_le_bytes()),
        _ => 0,
    };
    let job = Job::new()?;
    let card = Card {
        host: host::identity() ^ alone,
        fingerprint: FINGERPRINT,
        job: (rank == 0).then_some(job),
    };
    let cards = launcher.exchange("pombo", &card.text(), Card::read)?;
    let stranger = cards
        .iter()
        .enumerate()
        .find(|(_, card)| card.fingerprint != FINGERPRINT);
    if let Some((rank, card)) = stranger {
        return Err(PlaceError::Fingerprint {
            rank,
            ours: FINGERPRINT,
            theirs: card.fingerprint,
        });
    }
    let job = cards.first().and_then(|card| card.job).unwrap_or(job);
    Ok((Hosts::by(cards.iter().map(|card| card.host)), job))
}

/// Meets the ranks of this host.
fn meet(job: Job, rank: usize, members: &[Node]) -> Result<Shm, PlaceError> {
    if members.len() <= 1 {
        return Ok(Shm::alone()?);
    }
    let local = members.iter().position(|node| node.index() == rank);
    let first = members.first().map_or(0, |node| node.index());
    // The key itself is nobody's to see.
    let job = host::hash(host::START, &job.key.to_le_bytes());
    let name = format!("{job:016x}-{first}");
    Ok(shm::meet(
        &name,
        local.unwrap_or(0),
        members.len(),
        FINGERPRINT,
    )?)
}

/// The network between hosts, and the memory of this one.
#[cfg(feature = "hosts")]
fn over_hosts(
    launcher: &mut Launcher,
    net: Net,
    job: Job,
    hosts: &Hosts,
    near: Shm,
) -> Result<Way, PlaceError> {
    let by = match net {
        Net::Udp { by } => by,
        Net::Auto => None,
        Net::Shm => {
            return Err(PlaceError::NoNetwork {
                hosts: hosts.count(),
                why: "POMBO_NET is shm: set it to auto or udp",
            });
        }
    };
    let me = Node(launcher.rank() as u16);
    let opening = Opening::new(by, hosts.count())?;
    let all = launcher.exchange("pombo-at", &opening.text(), Addresses::read)?;
    let far = opening.join(me, &all, |node| hosts.are_near(me, node), job)?;
    Ok(Way::new(near, far, hosts.members(hosts.of(me)))?)
}

#[cfg(not(feature = "hosts"))]
fn over_hosts(_: &mut Launcher, _: Net, _: Job, hosts: &Hosts, _: Shm) -> Result<Way, PlaceError> {
    Err(PlaceError::NoNetwork {
        hosts: hosts.count(),
        why: "this library was built without the feature 'hosts'",
    })
}
