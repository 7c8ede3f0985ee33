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
#[cfg(feature = "launchers")]
mod business_card;
mod byte_order;
mod error;
#[cfg(feature = "launchers")]
mod exchange;
#[cfg(feature = "launchers")]
pub(crate) mod file_descriptor;
#[cfg(feature = "launchers")]
mod host;
#[cfg(feature = "hosts")]
mod key_agreement;
#[cfg(feature = "hosts")]
mod key_file;
#[cfg(feature = "launchers")]
mod launcher_client;
#[cfg(feature = "launchers")]
mod launcher_text;
mod net_mode;
#[cfg(not(feature = "launchers"))]
mod no_launcher;
mod one_host;
mod outcome;
#[cfg(feature = "launchers")]
mod pmi;
mod processor;
#[cfg(feature = "hosts")]
mod raw_unavailable;
#[cfg(feature = "launchers")]
mod shm_exchange;
mod unsupported_launcher;

pub(crate) use auth_mode::Auth;
#[cfg(all(test, feature = "hosts"))]
pub(crate) use business_card::JobName;
#[cfg(feature = "hosts")]
pub(crate) use business_card::{JobKeys, KeyUse};
pub(crate) use error::excerpt;
pub use error::{Excerpt, JobError};
#[cfg(feature = "hosts")]
pub(crate) use exchange::{KEEPS_PLACE, read};
#[cfg(feature = "launchers")]
pub use file_descriptor::let_go;
#[cfg(feature = "hosts")]
pub(crate) use key_agreement::{Block, RingKeys};
#[cfg(feature = "launchers")]
pub use launcher_client::Launcher;
#[cfg(feature = "launchers")]
pub(crate) use launcher_text::ExchangedText;
#[cfg(feature = "launchers")]
pub(crate) use net_mode::Net;
pub(crate) use net_mode::{NETWORKS, split};
#[cfg(not(feature = "launchers"))]
pub(crate) use no_launcher::JobInfo;
#[cfg(not(feature = "launchers"))]
pub use no_launcher::{Launcher, let_go};
#[cfg(not(feature = "launchers"))]
pub(crate) use one_host::start;
pub use one_host::{Refusal, place_on_one_host};
pub(crate) use outcome::Bootstrapped;
#[cfg(feature = "launchers")]
pub(crate) use outcome::JobInfo;
#[cfg(feature = "launchers")]
use outcome::segment;
pub use outcome::{JoinError, rank};
#[cfg(feature = "hosts")]
pub use raw_unavailable::RawUnavailable;

#[cfg(feature = "launchers")]
use crate::environment::{number, wrong};
#[cfg(feature = "launchers")]
use crate::fixed_string::text;
#[cfg(feature = "launchers")]
use crate::host_map::Hosts;
#[cfg(feature = "launchers")]
use crate::log::{self, LogLine};
#[cfg(feature = "launchers")]
use crate::settings::{JOB, NET, RANK, SHM_FD, SIZE, spare_places};
#[cfg(feature = "launchers")]
use alloc::boxed::Box;
#[cfg(feature = "launchers")]
use exchange::start_by_launcher;
#[cfg(feature = "launchers")]
use pmi::Pmi;
#[cfg(feature = "launchers")]
use pombo_netdrivers::shm;
#[cfg(feature = "launchers")]
use pombo_netdrivers::shm::Shm;
#[cfg(feature = "launchers")]
use shm_exchange::ShmExchange;

/// Finds the job, by what [`join`](crate::join) was given. Waits for the other ranks.
#[cfg(feature = "launchers")]
#[cold]
#[inline(never)]
pub(crate) fn start(
    checked: Result<(), Box<JobError>>,
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
            if apart && spare_places() > 0 {
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

#[cfg(feature = "launchers")]
fn on_this_host(rank: usize, size: usize, fingerprint: u64) -> Result<Box<Shm>, Box<JobError>> {
    Ok(match (number(SHM_FD.name)?, JOB.text()) {
        (Some(file), _) => Shm::attach_boxed(segment(file)?, rank, fingerprint)?,
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
#[cfg(feature = "launchers")]
#[cold]
fn waits_for(job: &str, rank: usize, size: usize, joined: usize) -> LogLine {
    let seconds = shm::BOOTSTRAP_NOTICE.as_secs();
    match rank {
        0 => text!(
            "pombo: rank 0 has waited {} s for {} of the {} ranks of POMBO_JOB '{}'; start each with \
             POMBO_SIZE={} and a POMBO_RANK of its own, 1 to {}",
            seconds,
            size - joined,
            size,
            job,
            size,
            size - 1
        ),
        _ => text!(
            "pombo: rank {} has waited {} s for rank 0 of the {} ranks of POMBO_JOB '{}'; start it with \
             POMBO_SIZE={} and POMBO_RANK=0",
            rank,
            seconds,
            size,
            job,
            size
        ),
    }
}
