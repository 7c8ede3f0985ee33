//! What the bootstrap of a process ends with, and what every way to start needs.

use super::error::JobError;
#[cfg(not(feature = "launchers"))]
use super::no_launcher::{JobInfo, Launcher};
#[cfg(feature = "hosts")]
use super::{Net, key_agreement::RingKeys};
#[cfg(feature = "launchers")]
use super::{business_card::JobName, launcher_client::Launcher, pmi};
use crate::environment::whole;
#[cfg(feature = "launchers")]
use crate::environment::wrong;
use crate::host_map::Hosts;
use crate::settings::RANK;
#[cfg(feature = "launchers")]
use crate::settings::SHM_FD;
use alloc::boxed::Box;
use core::ffi::c_int;
use core::fmt;
#[cfg(feature = "launchers")]
use pombo_kernel::Peer;
#[cfg(feature = "launchers")]
use pombo_netdrivers::shm::Segment;
use pombo_netdrivers::shm::{Shm, ShmError};

/// What a process knows of its job before it has a channel to all ranks.
pub(crate) struct Bootstrapped {
    /// The memory that it shares with the ranks of its host.
    pub(crate) shm: Box<Shm>,
    pub(crate) hosts: Hosts,
    /// The launcher, if it expects to be told of the end.
    pub(crate) launcher: Option<Launcher>,
    /// The exchanged information, if the ranks are on several hosts.
    pub(crate) info: Option<JobInfo>,
}

/// Why a process cannot join. The caller reports it and calls [`JoinError::abort`].
pub struct JoinError {
    pub(crate) error: Box<JobError>,
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
            #[cfg(not(feature = "launchers"))]
            Some(launcher) => match launcher {},
            #[cfg(feature = "launchers")]
            Some(mut launcher) => {
                launcher.abort(code);
                // When its connection closes the launcher may kill this process before it has read that code.
                core::mem::forget(launcher);
            }
            #[cfg(feature = "launchers")]
            None => pmi::wait_for_output(),
            // Nobody waits for this process but who started it.
            #[cfg(not(feature = "launchers"))]
            None => {
                let _ = code;
            }
        }
        *self.error
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

impl From<Box<JobError>> for Box<JoinError> {
    #[cold]
    #[inline(never)]
    fn from(error: Box<JobError>) -> Self {
        let launcher = None;
        Box::new(JoinError { error, launcher })
    }
}

impl From<ShmError> for Box<JoinError> {
    fn from(error: ShmError) -> Self {
        Box::<JobError>::from(error).into()
    }
}

/// Returns the rank as the environment tells it, before the process has joined.
pub fn rank() -> usize {
    let rank = [RANK.name, c"PMI_RANK", c"PMIX_RANK", c"SLURM_PROCID"];
    let rank = rank.into_iter();
    rank.flat_map(whole).flatten().next().unwrap_or(0)
}

/// Opens the memory file that the launcher has made for the ranks.
#[cfg(feature = "launchers")]
pub(super) fn segment(file: usize) -> Result<Segment, Box<JobError>> {
    Segment::open(file as c_int).map_err(|error| match error {
        ShmError::System { errno, .. } if errno == libc::EBADF => wrong(
            SHM_FD.name,
            "the launcher's descriptor: whatever starts the program has to leave it open",
        ),
        error => error.into(),
    })
}

/// The information that the ranks have exchanged.
#[cfg(feature = "launchers")]
pub(crate) struct JobInfo {
    pub(crate) me: Peer,
    /// The network choice of this rank.
    #[cfg(feature = "hosts")]
    pub(crate) net: Net,
    pub(crate) job: JobName,
    /// The fingerprint of the job's composition.
    #[cfg(feature = "hosts")]
    pub(crate) fingerprint: u64,
    /// The links with the neighbours in the ring; `None` if all ranks are on one host.
    #[cfg(feature = "hosts")]
    pub(crate) ring_keys: Option<RingKeys>,
    /// Whether all ranks are on one machine, whatever `POMBO_FAKE_HOST` says.
    #[cfg(feature = "hosts")]
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
            fingerprint: 1,
            ring_keys: None,
            one_machine: true,
        }
    }
}
