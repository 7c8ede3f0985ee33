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
#[cfg(feature = "hosts")]
pub(crate) use error::excerpt;
pub use error::{Excerpt, PlaceError};

use crate::environment::{number, text, wrong};
use crate::header::FINGERPRINT;
use crate::hosts::Hosts;
use crate::way::{self, Way};
#[cfg(feature = "hosts")]
use crate::way::{Addresses, Opening};
use alloc::vec::Vec;
use assembly::Assembly;
use card::Card;
use core::ffi::c_int;
use launcher::{Launcher, Word};
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
#[cold]
#[inline(never)]
pub(crate) fn join() -> Result<Joined, PlaceError> {
    let net = Net::read()?;
    let near = match (number(c"POMBO_RANK")?, number(c"POMBO_SIZE")?) {
        (None, None) => match Pmi::connect()? {
            Some(pmi) => return by_launcher(Launcher::Pmi(pmi), net),
            None => Shm::alone()?,
        },
        (Some(rank), Some(size)) if rank < size => {
            let shm = on_this_host(rank, size)?;
            let apart = matches!(net, Net::Udp { .. }) || host::told().is_some();
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
#[inline(never)]
fn by_launcher(mut launcher: Launcher, net: Net) -> Result<Joined, PlaceError> {
    let me = Node(launcher.rank() as u16);
    let met = introduce(&mut launcher, net)?;
    let near = meet(met.job, me, met.hosts.members(met.hosts.of(me)))?;
    let way = match met.hosts.is_one() {
        true => way::of_one_host(near),
        false => over_hosts(&mut launcher, net, &met, near)?,
    };
    Ok(Joined {
        way,
        hosts: met.hosts,
        launcher: Some(launcher),
    })
}

/// What the ranks have told each other.
struct Met {
    hosts: Hosts,
    job: Job,
    /// All of them are on one machine, whatever hosts they pretend to be.
    one_machine: bool,
}

/// Exchanges cards.
#[inline(never)]
fn introduce(launcher: &mut Launcher, net: Net) -> Result<Met, PlaceError> {
    let rank = launcher.rank();
    let (job, machine) = (Job::new()?, host::machine());
    let host = match (host::told(), net) {
        (Some(told), _) => told,
        // Every rank is a host.
        (None, Net::Udp { .. }) => host::hash(machine, &rank.to_le_bytes()),
        (None, Net::Auto | Net::Shm) => machine,
    };
    let card = Card {
        host,
        machine,
        fingerprint: FINGERPRINT,
        job: (rank == 0).then_some(job),
    };
    let cards = read(&launcher.exchange("pombo", &card.text())?, Card::read)?;
    let mut ranks = cards.iter().enumerate();
    if let Some((rank, other)) = ranks.find(|(_, card)| card.fingerprint != FINGERPRINT) {
        return Err(PlaceError::Fingerprint {
            rank,
            ours: FINGERPRINT,
            theirs: other.fingerprint,
        });
    }
    Ok(Met {
        hosts: Hosts::by(&cards.iter().map(|card| card.host).collect::<Vec<_>>()),
        job: cards.first().and_then(|card| card.job).unwrap_or(job),
        one_machine: cards.iter().all(|card| card.machine == machine),
    })
}

/// What the words mean, by rank.
fn read<T>(
    words: &[Word],
    read: impl Fn(usize, &str) -> Result<T, PlaceError>,
) -> Result<Vec<T>, PlaceError> {
    let words = words.iter().enumerate();
    words
        .map(|(rank, word)| read(rank, word.as_str()))
        .collect()
}

/// Meets the ranks of this host.
fn meet(job: Job, me: Node, members: &[Node]) -> Result<Shm, PlaceError> {
    let (Some(first), 2..) = (members.first(), members.len()) else {
        return Ok(Shm::alone()?);
    };
    let place = members.iter().position(|node| *node == me);
    // The key itself is nobody's to see.
    let job = host::hash(host::START, &job.key.to_le_bytes());
    let (name, ranks) = (Word::of(format_args!("{job:016x}-{first}")), members.len());
    Ok(shm::meet(
        name.as_str(),
        place.unwrap_or(0),
        ranks,
        FINGERPRINT,
    )?)
}

/// The network between hosts, and the memory of this one.
#[cfg(feature = "hosts")]
#[inline(never)]
fn over_hosts(launcher: &mut Launcher, net: Net, met: &Met, near: Shm) -> Result<Way, PlaceError> {
    let (hosts, me) = (&met.hosts, Node(launcher.rank() as u16));
    let by = match net {
        Net::Udp { by: Some(by) } => Some(by),
        Net::Shm => {
            return Err(PlaceError::NoNetwork {
                hosts: hosts.count(),
                why: "POMBO_NET is shm: set it to auto or udp",
            });
        }
        // No interface is needed, and no wall stands in the way.
        _ if met.one_machine => Some("127.0.0.1"),
        _ => None,
    };
    let opening = Opening::new(by, hosts.count())?;
    let all = launcher.exchange("pombo-at", &opening.text())?;
    let all = read(&all, Addresses::read)?;
    let far = opening.join(me, &all, |node| hosts.are_near(me, node), met.job)?;
    Ok(Way::new(near, far, hosts.members(hosts.of(me)))?)
}

#[cfg(not(feature = "hosts"))]
fn over_hosts(_: &mut Launcher, _: Net, met: &Met, _: Shm) -> Result<Way, PlaceError> {
    let _ = (met.job, met.one_machine);
    Err(PlaceError::NoNetwork {
        hosts: met.hosts.count(),
        why: "this library was built without the feature 'hosts'",
    })
}
