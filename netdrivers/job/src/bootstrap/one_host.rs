//! The start of a program that was linked for one host: alone, or by the launcher of this project, whose memory file the
//! ranks share. Everything else that asks for ranks is refused by name, so the program is never a world of one by
//! mistake. Without launchers `bootstrap` has it in place of the exchange between ranks; programs that are to be as small as
//! possible call it themselves.

use super::error::ONE_HOST;
use super::unsupported_launcher;
#[cfg(not(feature = "launchers"))]
use super::{Bootstrapped, JobError, JoinError, processor};
use crate::environment::{NotANumber, variable, whole};
#[cfg(not(feature = "launchers"))]
use crate::host_map::Hosts;
use crate::settings::{FAKE_HOST, JOB, NET, RANK, SHM_FD, SIZE, SPARE};
#[cfg(not(feature = "launchers"))]
use alloc::boxed::Box;
use core::ffi::{CStr, c_int};
#[cfg(not(feature = "launchers"))]
use pombo_kernel::Channel;
#[cfg(not(feature = "launchers"))]
use pombo_netdrivers::shm::Shm;
use pombo_netdrivers::shm::{Segment, ShmError};
#[cfg(not(feature = "launchers"))]
use pombo_netdrivers::tuning::FAST_PATHS;

/// Why a program that was linked for one host does not start.
#[derive(Clone, Copy, Debug)]
pub struct Refusal(&'static str);

impl Refusal {
    /// Returns the three parts of the message.
    pub const fn text(self) -> [&'static str; 3] {
        [ONE_HOST[0], self.0, ONE_HOST[1]]
    }
}

impl From<NotANumber> for Refusal {
    fn from(_: NotANumber) -> Self {
        Refusal("POMBO_RANK, POMBO_SIZE or POMBO_SHM_FD is no number")
    }
}

impl From<ShmError> for Refusal {
    #[cold]
    fn from(error: ShmError) -> Self {
        Refusal(match error {
            ShmError::System { errno, .. } if errno == libc::EBADF => {
                "the launcher's descriptor is closed: whatever starts the program has to leave it open"
            }
            ShmError::System { .. } => "the system refuses its memory",
            _ => {
                "the launcher's memory is that of another job, version or composition of the library"
            }
        })
    }
}

/// Finds the job, by what [`join`](crate::join) was given.
#[cfg(not(feature = "launchers"))]
#[cold]
#[inline(never)]
pub(crate) fn start(
    checked: Result<(), Box<JobError>>,
    fingerprint: u64,
) -> Result<Bootstrapped, Box<JoinError>> {
    checked?;
    let refused = |Refusal(because)| Box::new(JobError::OneHost { because });
    let (segment, rank) = place_on_one_host().map_err(refused)?;
    let shm = Shm::attach_boxed(segment, rank, fingerprint);
    let shm = shm.map_err(|error| refused(error.into()))?;
    let ranks = shm.peers();
    if FAST_PATHS && ranks > 1 {
        processor::spread(rank, ranks, processor::number_of(shm.segment()));
    }
    Ok(Bootstrapped {
        shm,
        hosts: Hosts::single(ranks),
        launcher: None,
        info: None,
    })
}

/// Returns the memory of the job in which the launcher of this project has started this process, and its rank there; that
/// of a job of one if nobody has. The caller attaches to it.
///
/// # Errors
/// The environment asks for ranks in another way, or the descriptor is not that of such memory.
pub fn place_on_one_host() -> Result<(Segment, usize), Refusal> {
    refuse_hosts()?;
    match (whole(RANK.name)?, whole(SIZE.name)?, whole(SHM_FD.name)?) {
        (None, None, _) => match unsupported_launcher::find() {
            Some(_) => Err(Refusal("a launcher of other software started it")),
            None => Ok((Segment::create(1, 0)?, 0)),
        },
        (Some(rank), Some(size), Some(file)) if rank < size => {
            Ok((Segment::open(file as c_int)?, rank))
        }
        (Some(0), Some(1), None) => Ok((Segment::create(1, 0)?, 0)),
        (Some(rank), Some(size), None) if rank < size => {
            Err(Refusal("POMBO_SIZE is above 1 without POMBO_SHM_FD"))
        }
        _ => Err(Refusal(
            "POMBO_RANK and POMBO_SIZE are no rank below a size, both set or neither",
        )),
    }
}

/// Refuses a start in which ranks are to find each other by other means than the launcher's memory.
fn refuse_hosts() -> Result<(), Refusal> {
    let by_pmi = [c"PMI_FD", c"PMI_PORT"]
        .into_iter()
        .any(|name| variable(name).is_some());
    Err(Refusal(match variable(NET.name).map(CStr::to_bytes) {
        // The launcher of this project sets both, and its own variables count.
        _ if by_pmi && variable(RANK.name).is_none() && whole(c"PMI_SIZE")? != Some(1) => {
            "its launcher speaks PMI-1"
        }
        Some(net) if ![&b"auto"[..], b"shm"].contains(&net) => "POMBO_NET names a network",
        _ if variable(FAKE_HOST.name).is_some() => "POMBO_FAKE_HOST names a host",
        _ if whole(SPARE.name)?.is_some_and(|places| places > 0) => {
            "POMBO_SPARE keeps places for others"
        }
        _ if variable(JOB.name).is_some() && variable(SHM_FD.name).is_none() => {
            "POMBO_JOB names ranks that no launcher started"
        }
        _ => return Ok(()),
    }))
}
