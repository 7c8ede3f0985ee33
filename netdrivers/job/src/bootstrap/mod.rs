//! The bootstrap of a process in its job: what launcher and environment tell it, and what the ranks tell each other
//! through them. `job_channel` makes a channel of it.
//!
//! | started by | variables | exchange between ranks |
//! | --- | --- | --- |
//! | `pombo run` | `POMBO_RANK`, `POMBO_SIZE`, `POMBO_SHM_FD` | the launcher's memory file; if `POMBO_NET` names a network or `POMBO_FAKE_HOST` is set, only addresses are exchanged there |
//! | the user, by hand | `POMBO_RANK`, `POMBO_SIZE`, `POMBO_JOB` | shared memory found by the name of the job |
//! | Hydra's `mpiexec`, `srun --mpi=pmi2` | `PMI_FD` or `PMI_PORT` | the launcher's key-value store |
//! | no launcher | | none: a world of one |
//!
//! Ranks of a launcher that does not tell them of each other are refused: see `unsupported_launcher`.

mod auth_mode;
mod business_card;
mod byte_order;
mod error;
pub(crate) mod file_descriptor;
mod host;
#[cfg(feature = "hosts")]
mod key_agreement;
#[cfg(feature = "hosts")]
mod key_file;
mod launcher_client;
mod launcher_text;
mod net_mode;
mod pmi;
mod processor;
#[cfg(feature = "hosts")]
mod raw_unavailable;
mod shm_exchange;
mod unsupported_launcher;

pub(crate) use auth_mode::Auth;
pub(crate) use business_card::JobName;
#[cfg(feature = "hosts")]
pub(crate) use business_card::{JobKeys, KeyUse};
pub(crate) use error::excerpt;
pub use error::{Excerpt, JobError};
pub use file_descriptor::let_go;
#[cfg(feature = "hosts")]
pub(crate) use key_agreement::{Block, RingKeys};
pub use launcher_client::Launcher;
pub(crate) use net_mode::Net;
#[cfg(feature = "hosts")]
pub use raw_unavailable::RawUnavailable;

use crate::environment::{number, wrong};
use crate::host_map::Hosts;
use crate::log::{self, LogLine};
use crate::settings::{JOB, NET, RANK, SHM_FD, SIZE, SPARE};
use alloc::boxed::Box;
use alloc::vec::Vec;
use business_card::BusinessCard;
use byte_order::BIG_ENDIAN;
use core::ffi::c_int;
use core::fmt;
pub(crate) use launcher_text::ExchangedText;
use pmi::Pmi;
use pombo_kernel::Peer;
use pombo_netdrivers::shm::{self, Segment, Shm, ShmError};
use shm_exchange::ShmExchange;

/// What a process knows of its job before it has a channel to all ranks.
pub(crate) struct Bootstrapped {
    /// The memory that it shares with the ranks of its host.
    pub(crate) shm: Shm,
    pub(crate) hosts: Hosts,
    /// The launcher, if it expects to be told of the end.
    pub(crate) launcher: Option<Launcher>,
    /// The exchanged information, if the ranks are on several hosts.
    pub(crate) info: Option<JobInfo>,
}

/// Why a process cannot join. The caller reports it and calls [`JoinError::abort`].
pub struct JoinError {
    pub(crate) error: JobError,
    pub(crate) launcher: Option<Launcher>,
}

impl JoinError {
    /// Returns the error.
    pub fn error(&self) -> &JobError {
        &self.error
    }

    /// Returns the rank of this process as far as it is known.
    pub fn rank(&self) -> usize {
        self.launcher.as_ref().map_or_else(rank, Launcher::rank)
    }

    /// Tells the launcher, if it was reached, that the job ends, with the exit code of this process, and returns the
    /// error. Otherwise the launcher would not take the end of a process that has not joined for the end of the job,
    /// and the other ranks would wait for ever.
    pub fn abort(self, code: c_int) -> JobError {
        match self.launcher {
            Some(mut launcher) => {
                launcher.abort(code);
                // When its connection closes the launcher may kill this process before it has read that code.
                core::mem::forget(launcher);
            }
            None => pmi::wait_for_output(),
        }
        self.error
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl core::error::Error for JoinError {}

impl From<JobError> for Box<JoinError> {
    fn from(error: JobError) -> Self {
        let launcher = None;
        Box::new(JoinError { error, launcher })
    }
}

impl From<ShmError> for Box<JoinError> {
    fn from(error: ShmError) -> Self {
        JobError::from(error).into()
    }
}

/// Finds the job, by what [`join`](crate::join) was given. Waits for the other ranks.
#[cold]
#[inline(never)]
pub(crate) fn start(
    checked: Result<(), JobError>,
    fingerprint: u64,
) -> Result<Bootstrapped, Box<JoinError>> {
    let net = checked.and_then(|()| NET.read(Net::parse));
    let shm = match (number(RANK.name)?, number(SIZE.name)?) {
        (None, None) => match Pmi::connect()? {
            Some(pmi) => return start_by_launcher(Launcher::pmi(pmi), net, fingerprint),
            None => {
                net?;
                unsupported_launcher::refuse()?;
                Shm::alone()?
            }
        },
        (Some(rank), Some(size)) if rank < size => {
            let net = net?;
            let shm = on_this_host(rank, size, fingerprint)?;
            let apart = net.is_named() || host::configured().is_some();
            if apart && SPARE.is_on() {
                let must = "not set, or auto or shm, where processes join later: they share memory";
                return Err(wrong(c"POMBO_NET or POMBO_FAKE_HOST", must).into());
            }
            if apart && size > 1 {
                return start_by_launcher(
                    Launcher::memory(ShmExchange::new(shm)),
                    Ok(net),
                    fingerprint,
                );
            }
            processor::spread(rank, size, processor::number_of(shm.segment()));
            shm
        }
        _ => {
            let must = "a rank below a size, both set or neither";
            return Err(wrong(c"POMBO_RANK and POMBO_SIZE", must).into());
        }
    };
    let hosts = Hosts::single(shm.segment().ranks());
    Ok(Bootstrapped {
        shm,
        hosts,
        launcher: None,
        info: None,
    })
}

/// Returns the rank as the environment tells it, before the process has joined.
pub fn rank() -> usize {
    let rank = [RANK.name, c"PMI_RANK", c"PMIX_RANK", c"SLURM_PROCID"];
    let rank = rank.into_iter();
    rank.flat_map(number).flatten().next().unwrap_or(0)
}

fn on_this_host(rank: usize, size: usize, fingerprint: u64) -> Result<Shm, JobError> {
    Ok(match (number(SHM_FD.name)?, JOB.text()) {
        (Some(file), _) => {
            let segment = Segment::open(file as c_int).map_err(|error| match error {
                ShmError::System { errno, .. } if errno == libc::EBADF => wrong(
                    SHM_FD.name,
                    "the launcher's descriptor: whatever starts the program has to leave it open",
                ),
                error => error.into(),
            })?;
            Shm::attach(segment, rank, fingerprint)?
        }
        (None, Some(job)) => {
            let mut waiting = |joined| log::error(&waits_for(job, rank, size, joined));
            shm::bootstrap_observed(job, rank, size, fingerprint, &mut waiting)?
        }
        // A rank of a larger world that cannot reach the others.
        (None, None) if size > 1 => {
            return Err(wrong(
                c"POMBO_SHM_FD or POMBO_JOB",
                "set where POMBO_SIZE is above 1",
            ));
        }
        (None, None) => Shm::alone()?,
    })
}

/// What a rank says of a long wait for those that nobody seems to start.
#[cold]
fn waits_for(job: &str, rank: usize, size: usize, joined: usize) -> LogLine {
    let seconds = shm::BOOTSTRAP_NOTICE.as_secs();
    match rank {
        0 => LogLine::of(format_args!(
            "pombo: rank 0 has waited {seconds} s for {} of the {size} ranks of POMBO_JOB '{job}'; start each with \
             POMBO_SIZE={size} and a POMBO_RANK of its own, 1 to {}",
            size - joined,
            size - 1
        )),
        _ => LogLine::of(format_args!(
            "pombo: rank {rank} has waited {seconds} s for rank 0 of the {size} ranks of POMBO_JOB '{job}'; start it with \
             POMBO_SIZE={size} and POMBO_RANK=0"
        )),
    }
}

/// Exchanges cards through the launcher, and shares memory with the ranks of the same host.
#[inline(never)]
fn start_by_launcher(
    mut launcher: Launcher,
    net: Result<Net, JobError>,
    fingerprint: u64,
) -> Result<Bootstrapped, Box<JoinError>> {
    let description = net.and_then(|net| {
        let (info, hosts) = exchange_cards(&mut launcher, net, fingerprint)?;
        let members = hosts.members(hosts.of(info.me));
        let shm = attach_shm(info.job.id, info.me, members, fingerprint)?;
        Ok((info, hosts, shm))
    });
    let launcher = Some(launcher);
    match description {
        Ok((info, hosts, shm)) => Ok(Bootstrapped {
            shm,
            launcher,
            info: (!hosts.is_single()).then_some(info),
            hosts,
        }),
        Err(error) => Err(Box::new(JoinError { error, launcher })),
    }
}

/// The information that the ranks have exchanged.
pub(crate) struct JobInfo {
    pub(crate) me: Peer,
    /// The network choice of this rank.
    pub(crate) net: Net,
    pub(crate) job: JobName,
    /// The links with the neighbours in the ring; `None` if all ranks are on one host.
    #[cfg(feature = "hosts")]
    pub(crate) ring_keys: Option<RingKeys>,
    /// Whether all ranks are on one machine, whatever `POMBO_FAKE_HOST` says.
    pub(crate) one_machine: bool,
}

#[cfg(all(test, feature = "hosts"))]
impl JobInfo {
    /// Creates the information of a rank of two that are on different hosts by name.
    pub(crate) fn for_tests(net: Net) -> Self {
        JobInfo {
            me: Peer(0),
            net,
            job: JobName::new().expect("random numbers"),
            ring_keys: None,
            one_machine: true,
        }
    }
}

/// Exchanges cards and derives the hosts from them.
#[inline(never)]
fn exchange_cards(
    launcher: &mut Launcher,
    net: Net,
    fingerprint: u64,
) -> Result<(JobInfo, Hosts), JobError> {
    let rank = launcher.rank();
    let (job, machine) = (JobName::new()?, host::machine());
    #[cfg(feature = "hosts")]
    let secret = key_agreement::Secret::new()?;
    let card = BusinessCard {
        host: host::sharing(host::configured().unwrap_or(machine)),
        machine,
        fingerprint,
        big_endian: BIG_ENDIAN,
        #[cfg(feature = "hosts")]
        public: secret.public(),
        job: (rank == 0).then_some(job),
    };
    let words = launcher.exchange("pombo", &card.text())?;
    let cards = read(&words, BusinessCard::read)?;
    let mut ranks = cards.iter().enumerate();
    if let Some((rank, other)) = ranks.find(|(_, card)| card.fingerprint != fingerprint) {
        return Err(match other.big_endian == BIG_ENDIAN {
            true => JobError::Fingerprint {
                rank,
                ours: fingerprint,
                theirs: other.fingerprint,
            },
            false => JobError::ByteOrder { rank },
        });
    }
    let job = cards.first().and_then(|card| card.job).unwrap_or(job);
    let before = cards.get(..rank).unwrap_or_default();
    processor::spread(on(machine, before), on(machine, &cards), job.id);
    let mut hosts: Vec<u64> = cards.iter().map(|card| card.host).collect();
    // A network that was requested is used: on a single host every rank then counts as a host.
    if net.is_named() && hosts.iter().all(|host| Some(host) == hosts.first()) {
        hosts = (0..cards.len() as u64).collect();
    }
    let hosts = Hosts::by_names(&hosts);
    let info = JobInfo {
        me: Peer(rank as u16),
        net,
        #[cfg(feature = "hosts")]
        ring_keys: match hosts.is_single() {
            true => None,
            false => {
                let publics: Vec<_> = cards.iter().map(|card| card.public).collect();
                Some(secret.links(rank, &words, &publics)?)
            }
        },
        job,
        one_machine: cards.iter().all(|card| card.machine == machine),
    };
    Ok((info, hosts))
}

/// Returns the number of ranks on that machine.
#[inline(never)]
fn on(machine: u64, cards: &[BusinessCard]) -> usize {
    cards.iter().filter(|card| card.machine == machine).count()
}

/// Parses the exchanged texts, by rank.
pub(crate) fn read<T>(
    words: &[ExchangedText],
    read: impl Fn(usize, &str) -> Result<T, JobError>,
) -> Result<Vec<T>, JobError> {
    let words = words.iter().enumerate();
    words
        .map(|(rank, word)| read(rank, word.as_str()))
        .collect()
}

/// Shares memory with the ranks of this host.
fn attach_shm(job: u64, me: Peer, members: &[Peer], fingerprint: u64) -> Result<Shm, JobError> {
    let shm = match (members.first(), members.len()) {
        (Some(first), 2..) => {
            let place = members.iter().position(|peer| *peer == me);
            let name = ExchangedText::of(format_args!("{job:016x}-{first}"));
            let (place, ranks) = (place.unwrap_or(0), members.len());
            shm::bootstrap(name.as_str(), place, ranks, fingerprint)?
        }
        _ => Shm::alone()?,
    };
    for (place, member) in members.iter().enumerate() {
        shm.segment().set_job_rank(place, member.0);
    }
    Ok(shm)
}
